//! The lost-output note: how many bytes are missing at the end of a journal.
//!
//! The note goes into the space that was reserved in the launch's outcome file, so a full disk does
//! not matter. That file is beside the journal. A journal without one has no note.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::if_exists;
use crate::protocol::{LOST_OUTPUT_ROOM, OUTCOME_FILE, OUTCOME_ROOM, seal, unseal};

const MAGIC: u32 = 0x4b4c_4f31;
const POSITION: u64 = (OUTCOME_ROOM - LOST_OUTPUT_ROOM) as u64;

fn file_of(journal: &Path) -> PathBuf {
    journal.with_file_name(OUTCOME_FILE)
}

/// Writes that this many bytes are missing at the end of the journal.
pub(super) fn write(journal: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(file_of(journal))?;
    file.write_all_at(&seal(MAGIC, &bytes.to_le_bytes()), POSITION)
}

/// Reads the note, if there is one.
pub(super) fn read(journal: &Path) -> io::Result<Option<u64>> {
    let Some(file) = if_exists(File::open(file_of(journal)))? else { return Ok(None) };
    let mut note = [0; LOST_OUTPUT_ROOM];
    match file.read_exact_at(&mut note, POSITION) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    Ok(unseal(MAGIC, &note).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::OutcomeFile;

    #[test]
    fn a_note_is_read_as_written_and_leaves_the_outcome_alone() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        assert_eq!(read(&journal).unwrap(), None);
        assert!(write(&journal, 1).is_err(), "there is no outcome file");
        let path = folder.path().join(OUTCOME_FILE);
        let file = OutcomeFile::reserve(&path).unwrap();
        assert_eq!(read(&journal).unwrap(), None);
        write(&journal, 7).unwrap();
        let cause = crate::protocol::Cause::Failed { code: 203, why: "x".repeat(2000) };
        file.write(&crate::keeper::never_ran(cause)).unwrap();
        assert_eq!(read(&journal).unwrap(), Some(7));
        assert!(OutcomeFile::read(&path).unwrap().is_some());
    }

    #[test]
    fn a_torn_note_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let path = folder.path().join(OUTCOME_FILE);
        let _file = OutcomeFile::reserve(&path).unwrap();
        write(&journal, 7).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 4], POSITION + 16).unwrap();
        assert_eq!(read(&journal).unwrap(), None);
        file.set_len(POSITION + 3).unwrap();
        assert_eq!(read(&journal).unwrap(), None);
    }
}
