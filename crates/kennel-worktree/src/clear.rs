//! Removes the files of a worktree, so that an interrupted removal is recognized.
//!
//! ```text
//! renamed to `….removing` ──► emptied ──► git's entry removed ──► (branch) ──► folder removed
//! ```
//!
//! The renamed folder records the decision. A partly removed worktree must not be inspected,
//! because its missing files would look like changes. So the next call after a crash continues the
//! removal.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use crate::disk_state::{PathKind, exists};
use crate::folder::{self, FolderError};
use crate::record::WorktreeRecord;

const MAX_ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Removes the contents of the folder, and git's entry. The renamed folder stays until [`finish`].
pub(crate) fn clear(record: &WorktreeRecord) -> Result<(), FolderError> {
    mark_for_removal(record)?;
    folder::empty(&record.removal_folder())?;
    remove_entry(record)
}

/// Removes the renamed folder.
///
/// Removes git's entry once more before: a concurrent gc may have created it again, for a reflog.
/// If gc does so even later, the entry is empty, and the next gc removes it.
pub(crate) fn finish(record: &WorktreeRecord) -> Result<(), FolderError> {
    remove_entry(record)?;
    folder::remove(&record.removal_folder())
}

/// Records the decision to remove the worktree, by renaming its folder.
fn mark_for_removal(record: &WorktreeRecord) -> Result<(), FolderError> {
    let removal_folder = record.removal_folder();
    folder::refuse_mounts(&removal_folder)?;
    if exists(&removal_folder)? {
        return Ok(());
    }
    folder::refuse_mounts(&record.path)?;
    let changed = match PathKind::of(&record.path)? {
        // Without a folder and an entry, nothing can be partly removed.
        PathKind::None if !exists(&record.entry())? => return Ok(()),
        PathKind::None => fs::create_dir_all(&removal_folder),
        _ => fs::rename(&record.path, &removal_folder),
    };
    changed.map_err(|source| FolderError::Remove { path: record.path.clone(), source })
}

/// Removes git's entry for this worktree only: `git worktree prune` would also remove those of
/// worktrees on disks that are not mounted.
fn remove_entry(record: &WorktreeRecord) -> Result<(), FolderError> {
    let entry = record.entry();
    // A concurrent gc may add a file to the folder, or create the folder again.
    let mut attempts = 0;
    loop {
        let removed = folder::remove(&entry);
        attempts += 1;
        let is_left = removed.is_err() || exists(&entry)?;
        if !is_left {
            break;
        }
        if attempts == MAX_ATTEMPTS {
            removed?;
            let source = io::ErrorKind::DirectoryNotEmpty.into();
            return Err(FolderError::Remove { path: entry, source });
        }
        thread::sleep(RETRY_DELAY);
    }
    // Git does so too. It fails while there are other entries.
    if let Some(entries) = entry.parent() {
        let _others: io::Result<()> = fs::remove_dir(entries);
    }
    Ok(())
}
