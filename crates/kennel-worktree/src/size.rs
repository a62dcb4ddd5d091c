//! How large a checkout will be.

use std::path::Path;
use std::time::Duration;

use crate::git::Git;

/// A file takes at least this much.
const BLOCK: u64 = 4096;
/// The list of all files of a large repository.
const MOST_FILES: usize = 256 * 1024 * 1024;
/// It is worth no more time than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// The bytes that a commit takes on disk; none if it can't be told, or not soon. Filters may make it larger.
pub(crate) fn of_checkout(git: &Git, repo: &Path, commit: &str) -> Option<u64> {
    let list = git.look("ls-tree").args(["-r", "-l", "-z", "--full-tree", commit]).on(repo);
    let list = list.limit(PATIENCE).most_output(MOST_FILES).bytes().ok()?;
    Some(list.split(|byte| *byte == 0).filter_map(blocks).sum())
}

/// Each line is mode, kind, id, size, a tab, the path; a submodule has no size.
fn blocks(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b'\t').next()?.rsplit(|byte| *byte == b' ').next()?;
    let size: u64 = std::str::from_utf8(size).ok()?.parse().ok()?;
    Some(size.div_ceil(BLOCK) * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_blocks() {
        assert_eq!(blocks(b"100644 blob 0123    5000\tsome file"), Some(8192));
        assert_eq!(blocks(b"160000 commit 0123       -\tmodule"), None);
        assert_eq!(blocks(b""), None);
    }
}
