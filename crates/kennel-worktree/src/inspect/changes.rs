//! Finds uncommitted changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::findings::UncommittedChanges;
use crate::git::{Git, GitError};
use crate::record::WorktreeRecord;

/// The maximum number of paths that are listed; the rest is only counted.
const MAX_PATHS: usize = 20;
/// Enough for the file list of a large repository.
const MAX_LIST_BYTES: usize = 256 * 1024 * 1024;
/// Changes beyond this limit are not counted: they are enough to keep the worktree.
const MAX_STATUS_BYTES: usize = 8 * 1024 * 1024;

pub(super) fn find(git: &Git, record: &WorktreeRecord) -> Result<UncommittedChanges, GitError> {
    let status = super::read(git, record, "status").with_work_tree(&record.path);
    let status = status.args(["--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]);
    let status = status.args(["--ignored=no", "--ignore-submodules=none"]);
    let output = status.max_output(MAX_STATUS_BYTES).succeed()?;
    let mut changes =
        UncommittedChanges { more: output.truncated, ..UncommittedChanges::default() };
    for line in lines(&output.stdout) {
        count(&mut changes, line).ok_or_else(|| GitError::InvalidOutput {
            what: "status".to_owned(),
            answer: String::from_utf8_lossy(line).into_owned(),
        })?;
    }
    add_hidden(git, record, &mut changes)?;
    Ok(changes)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    // A truncated line has no end mark.
    let end = text.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1);
    text[..end].split(|byte| *byte == 0).filter(|line| !line.is_empty())
}

/// Counts one line of `git status --porcelain=v2`.
fn count(changes: &mut UncommittedChanges, line: &[u8]) -> Option<()> {
    let fields = match line.first()? {
        b'1' => 9,
        b'u' => 11,
        b'?' => 2,
        _ => return None,
    };
    let fields: Vec<&[u8]> = line.splitn(fields, |byte| *byte == b' ').collect();
    let path = fields.last()?;
    match fields[0] {
        b"?" => changes.untracked += 1,
        b"u" => changes.conflicted += 1,
        _ => {
            let (state, submodule) = (fields.get(1)?, fields.get(2)?);
            changes.staged += u64::from(*state.first()? != b'.');
            let is_modified = *state.get(1)? != b'.';
            match submodule.first()? {
                b'S' => changes.submodules += u64::from(is_modified),
                _ => changes.modified += u64::from(is_modified),
            }
        }
    }
    name(changes, path);
    Some(())
}

fn name(changes: &mut UncommittedChanges, path: &[u8]) {
    if changes.some.len() < MAX_PATHS {
        changes.some.push(PathBuf::from(OsStr::from_bytes(path)));
    }
}

/// Counts files whose changes git ignores. `status` doesn't show their changes, so every existing
/// one counts.
fn add_hidden(
    git: &Git,
    record: &WorktreeRecord,
    changes: &mut UncommittedChanges,
) -> Result<(), GitError> {
    let list = super::read(git, record, "ls-files").with_work_tree(&record.path).args(["-v", "-z"]);
    let list = list.max_output(MAX_LIST_BYTES).bytes()?;
    for line in lines(&list) {
        let Some((tag, path)) = line.split_first_chunk::<2>() else { continue };
        let is_hidden = tag[0].is_ascii_lowercase() || tag[0] == b'S';
        let path = PathBuf::from(OsStr::from_bytes(path));
        if is_hidden && record.path.join(&path).symlink_metadata().is_ok() {
            changes.hidden += 1;
            name(changes, path.as_os_str().as_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_changes_by_kind() {
        let mut changes = UncommittedChanges::default();
        for line in [
            "1 M. N... 100644 100644 100644 aaa bbb staged file",
            "1 .M N... 100644 100644 100644 aaa bbb modified",
            "1 MM N... 100644 100644 100644 aaa bbb both",
            "1 .M S.M. 160000 160000 160000 aaa bbb submodule",
            "u UU N... 100644 100644 100644 100644 a b c conflict with blanks",
            "? new\nline",
        ] {
            count(&mut changes, line.as_bytes()).expect(line);
        }
        let counts = (changes.staged, changes.modified, changes.submodules);
        assert_eq!(counts, (2, 2, 1));
        assert_eq!((changes.conflicted, changes.untracked), (1, 1));
        assert_eq!(changes.some[0], PathBuf::from("staged file"));
        assert_eq!(changes.some[4], PathBuf::from("conflict with blanks"));
        assert!(count(&mut changes, b"x what").is_none(), "an unknown line is an error");
    }

    #[test]
    fn ignores_a_truncated_line() {
        let found: Vec<&[u8]> = lines(b"? one\0? two\0? thr").collect();
        assert_eq!(found, [b"? one", b"? two"]);
    }
}
