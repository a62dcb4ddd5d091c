//! Estimates the size of a checkout.

use std::path::Path;
use std::time::Duration;

use crate::git::Git;

/// The size of a block: a file uses whole blocks.
const BLOCK: u64 = 4096;
/// Enough for the file list of a large repository.
const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// The estimate is not worth more time.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Returns the bytes that a commit uses on the disk; `None` if git can't list it in time. Filters
/// may add to it.
pub(crate) fn of_checkout(git: &Git, repo: &Path, commit: &str) -> Option<u64> {
    let list = git.read("ls-tree").args(["-r", "-l", "-z", "--full-tree", commit]).on(repo);
    let list = list.limit(TIME_LIMIT).max_output(MAX_LIST_BYTES).bytes().ok()?;
    Some(list.split(|byte| *byte == 0).filter_map(blocks).sum())
}

/// Parses a line: mode, type, id, size, a tab, the path. A submodule has no size.
fn blocks(line: &[u8]) -> Option<u64> {
    let size = line.split(|byte| *byte == b'\t').next()?.rsplit(|byte| *byte == b' ').next()?;
    let size: u64 = std::str::from_utf8(size).ok()?.parse().ok()?;
    Some(size.div_ceil(BLOCK) * BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_sizes_up_to_blocks() {
        assert_eq!(blocks(b"100644 blob 0123    5000\tsome file"), Some(8192));
        assert_eq!(blocks(b"160000 commit 0123       -\tmodule"), None);
        assert_eq!(blocks(b""), None);
    }
}
