//! What is not committed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::findings::Changes;
use crate::git::{Git, GitError};
use crate::record::Record;

/// So many paths are named; the rest is counted.
const NAMED: usize = 20;
/// The list of all files of a large repository.
const MOST_FILES: usize = 256 * 1024 * 1024;
/// What is beyond this is not counted: it is enough to keep the worktree.
const MOST_CHANGES: usize = 8 * 1024 * 1024;

/// Looks for changes.
pub(super) fn find(git: &Git, record: &Record) -> Result<Changes, GitError> {
    let status = super::look(git, record, "status").with_files(&record.path);
    let status = status.args(["--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]);
    let status = status.args(["--ignored=no", "--ignore-submodules=none"]);
    let said = status.most_output(MOST_CHANGES).succeed()?;
    let mut changes = Changes { more: said.cut, ..Changes::default() };
    for line in lines(&said.out) {
        count(&mut changes, line).ok_or_else(|| GitError::Garbled {
            what: "status".to_owned(),
            answer: String::from_utf8_lossy(line).into_owned(),
        })?;
    }
    add_hidden(git, record, &mut changes)?;
    Ok(changes)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    // One that was cut off has no end.
    let end = text.iter().rposition(|byte| *byte == 0).map_or(0, |end| end + 1);
    text[..end].split(|byte| *byte == 0).filter(|line| !line.is_empty())
}

/// Counts one line of `git status --porcelain=v2`.
fn count(changes: &mut Changes, line: &[u8]) -> Option<()> {
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

fn name(changes: &mut Changes, path: &[u8]) {
    if changes.some.len() < NAMED {
        changes.some.push(PathBuf::from(OsStr::from_bytes(path)));
    }
}

/// Files that git was told not to look at. What they hold can't be told from `status`, so one that is there counts.
fn add_hidden(git: &Git, record: &Record, changes: &mut Changes) -> Result<(), GitError> {
    let list = super::look(git, record, "ls-files").with_files(&record.path).args(["-v", "-z"]);
    let list = list.most_output(MOST_FILES).bytes()?;
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
    fn lines_of_status_are_counted_by_kind() {
        let mut changes = Changes::default();
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
        assert!(count(&mut changes, b"x what").is_none(), "what isn't known is no good news");
    }

    #[test]
    fn a_line_cut_off_is_not_read() {
        let found: Vec<&[u8]> = lines(b"? one\0? two\0? thr").collect();
        assert_eq!(found, [b"? one", b"? two"]);
    }
}
