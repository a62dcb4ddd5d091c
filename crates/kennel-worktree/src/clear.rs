//! Clearing a worktree away, so that a crash in the middle is seen.
//!
//! ```text
//! folder renamed to `….removing` ──► emptied ──► git's entry removed ──► (branch) ──► that folder removed
//! ```
//!
//! The renamed folder says that the decision was made. What is half removed must not be judged: what is missing would
//! look like work. So whoever comes after a crash goes on from there.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use crate::folder::{self, FolderError};
use crate::record::Record;
use crate::standing::Kind;

const MOST_TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Removes the folder and git's entry; what says so stays until [`finish`].
pub(crate) fn clear(record: &Record) -> Result<(), FolderError> {
    condemn(record)?;
    folder::empty(&record.condemned())?;
    remove_entry(record)
}

/// Removes what says that a worktree is being removed.
///
/// Looks at git's entry once more before: a gc that was at work when it went may have made it anew, for a reflog. If it
/// does so even later, the entry is empty, and git's next gc removes it.
pub(crate) fn finish(record: &Record) -> Result<(), FolderError> {
    remove_entry(record)?;
    folder::remove(&record.condemned())
}

/// Writes down that the worktree is to go, by giving its folder another name.
fn condemn(record: &Record) -> Result<(), FolderError> {
    let condemned = record.condemned();
    folder::must_hold_no_mount(&condemned)?;
    if Kind::of(&condemned)? != Kind::None {
        return Ok(());
    }
    folder::must_hold_no_mount(&record.path)?;
    let changed = match Kind::of(&record.path)? {
        // With neither folder nor entry there is nothing that could be half removed.
        Kind::None if Kind::of(&record.entry())? == Kind::None => return Ok(()),
        Kind::None => fs::create_dir_all(&condemned),
        _ => fs::rename(&record.path, &condemned),
    };
    changed.map_err(|source| FolderError::Remove { path: record.path.clone(), source })
}

/// Removes git's entry for the worktree, and no other: `git worktree prune` would also remove those of worktrees on
/// disks that are not mounted now.
fn remove_entry(record: &Record) -> Result<(), FolderError> {
    let entry = record.entry();
    // A gc at work may put a file into a folder that we have just emptied, or make the folder anew.
    let mut tries = 0;
    loop {
        let removed = folder::remove(&entry);
        tries += 1;
        let is_left = removed.is_err() || Kind::of(&entry)? != Kind::None;
        if !is_left {
            break;
        }
        if tries == MOST_TRIES {
            removed?;
            let source = io::ErrorKind::DirectoryNotEmpty.into();
            return Err(FolderError::Remove { path: entry, source });
        }
        thread::sleep(PAUSE);
    }
    // As git does; fails as long as there are others.
    if let Some(entries) = entry.parent() {
        let _others: io::Result<()> = fs::remove_dir(entries);
    }
    Ok(())
}
