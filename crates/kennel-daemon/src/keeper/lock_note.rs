//! Reads the note that a keeper writes into the file of its launch's lock.

use std::io;
use std::path::Path;

pub(crate) use kennel_keeper::lock_note::{KeeperNote, NotedPen};

use crate::keeper::lock::LOCK;

/// Reads the note in a session's folder, if there is one.
pub(crate) fn read(folder: &Path) -> io::Result<Option<KeeperNote>> {
    match std::fs::read_to_string(folder.join(LOCK)) {
        Ok(text) => Ok(KeeperNote::parse(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
