//! The last resort of a journal: that its end is missing, where not even that could be written into it.
//!
//! It goes into the room that was set aside for the launch's outcome, which a full disk can't take. The file lies beside
//! the journal; a journal without one has no such note.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::protocol::{OUTCOME_FILE, OUTCOME_ROOM, UNTOLD_ROOM, checksum};

const MAGIC: [u8; 8] = *b"KUNTOLD1";
const LENGTH: usize = 24;
const PLACE: u64 = (OUTCOME_ROOM - UNTOLD_ROOM) as u64;

fn file_of(journal: &Path) -> PathBuf {
    journal.with_file_name(OUTCOME_FILE)
}

/// Notes that so many bytes are missing at the end of this journal.
///
/// # Errors
/// There is no such room, or it can't be written to.
pub(super) fn note(journal: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(file_of(journal))?;
    let mut note = [0; LENGTH];
    note[..8].copy_from_slice(&MAGIC);
    note[8..16].copy_from_slice(&bytes.to_le_bytes());
    let sum = checksum(&note[..16]);
    note[16..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&note, PLACE)
}

/// What was noted, if anything.
///
/// # Errors
/// It can't be read, which says nothing.
pub(super) fn look(journal: &Path) -> io::Result<Option<u64>> {
    let file = match File::open(file_of(journal)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut note = [0; LENGTH];
    match file.read_exact_at(&mut note, PLACE) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let (told, sum) = note.split_at(16);
    let whole = told.starts_with(&MAGIC) && sum == checksum(told).to_le_bytes();
    let bytes = told[8..].try_into().map(u64::from_le_bytes).map_err(io::Error::other)?;
    Ok(whole.then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::OutcomeFile;

    #[test]
    fn a_note_is_read_as_it_was_written_and_leaves_the_outcome_alone() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        assert_eq!(look(&journal).unwrap(), None);
        assert!(note(&journal, 1).is_err(), "there is no room");
        let path = folder.path().join(OUTCOME_FILE);
        let file = OutcomeFile::reserve(&path).unwrap();
        assert_eq!(look(&journal).unwrap(), None);
        note(&journal, 7).unwrap();
        let cause = crate::protocol::Cause::Failed { code: 203, why: "x".repeat(2000) };
        file.write(&crate::keeper::never_ran(cause)).unwrap();
        assert_eq!(look(&journal).unwrap(), Some(7));
        assert!(OutcomeFile::read(&path).unwrap().is_some());
    }

    #[test]
    fn half_a_note_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let path = folder.path().join(OUTCOME_FILE);
        let _file = OutcomeFile::reserve(&path).unwrap();
        note(&journal, 7).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 4], PLACE + 20).unwrap();
        assert_eq!(look(&journal).unwrap(), None);
        file.set_len(PLACE + 3).unwrap();
        assert_eq!(look(&journal).unwrap(), None);
    }
}
