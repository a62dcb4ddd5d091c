//! Everything that is written is read again.

use kennel_keeper::journal::{
    JournalItem, JournalReader, JournalWriter, LossReason, MAX_DATA, Recorded, bytes_on_disk,
};

use super::{Seen, append, bytes_at, drain, read_all};

#[test]
fn a_missing_folder_is_an_empty_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut reader = JournalReader::open(&journal).unwrap();
    assert_eq!(reader.next().unwrap(), JournalItem::End);
    assert_eq!((reader.start().unwrap(), reader.end().unwrap()), (0, 0));
    assert_eq!(bytes_on_disk(&journal).unwrap(), 0);
    let empty = Recorded { start: 0, end: 0, bytes_on_disk: 0 };
    assert_eq!(Recorded::look(&journal).unwrap(), empty);
    reader.seek_tail(5).unwrap();
    reader.seek_since(5).unwrap();
    assert_eq!(reader.next().unwrap(), JournalItem::End);
}

#[test]
fn a_file_in_its_place_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    std::fs::write(&journal, "").unwrap();
    assert!(JournalReader::open(&journal).is_err());
    assert!(JournalWriter::create(&journal, 1 << 20).is_err());
    let mut lost =
        JournalWriter::create(&folder.path().join("no").join("parent"), 1 << 20).unwrap();
    let appended = lost.append(1, 1, b"x");
    assert!(matches!(appended, kennel_keeper::journal::Appended::Lost { bytes: 1, .. }));
}

#[test]
fn there_is_no_file_before_there_is_output() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut writer = JournalWriter::create(&journal, 1 << 20).unwrap();
    assert!(matches!(writer.append(1, 1, b""), kennel_keeper::journal::Appended::Kept));
    assert!(!journal.exists(), "there is no folder either");
    append(&mut writer, 1, 1, 1);
    assert_eq!(std::fs::read_dir(&journal).unwrap().count(), 1);
    assert!(bytes_on_disk(&journal).unwrap() <= 16 * 1024);
}

#[test]
fn a_reader_that_was_opened_first_sees_new_output() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut reader = JournalReader::open(&journal).unwrap();
    assert_eq!(reader.next().unwrap(), JournalItem::End);
    let mut writer = JournalWriter::create(&journal, 1 << 20).unwrap();
    assert_eq!(reader.next().unwrap(), JournalItem::End);
    for (stream, time_ms, data) in [(1, 10, "out"), (2, 11, "err"), (0, 12, "terminal")] {
        assert!(matches!(
            writer.append(stream, time_ms, data.as_bytes()),
            kennel_keeper::journal::Appended::Kept
        ));
        let offset = writer.end() - data.len() as u64;
        let data = data.as_bytes();
        assert_eq!(reader.next().unwrap(), JournalItem::Data { offset, time_ms, stream, data });
        assert_eq!(reader.next().unwrap(), JournalItem::End);
        assert_eq!(reader.next().unwrap(), JournalItem::End);
    }
    assert_eq!((reader.position(), reader.end().unwrap(), reader.start().unwrap()), (14, 14, 0));
}

#[test]
fn large_output_is_split_into_records() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 64 << 20).unwrap();
    append(&mut writer, 1, 7, 3 * MAX_DATA + 5);
    let mut next = 0;
    for seen in read_all(folder.path()) {
        let Seen::Data { offset, data, .. } = seen else { panic!("{seen:?}") };
        assert!(offset == next && data.len() <= MAX_DATA && data == bytes_at(offset, data.len()));
        next += data.len() as u64;
    }
    assert_eq!(next, writer.end());
}

#[test]
fn another_writer_continues_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    let mut end = 0;
    for round in 0..40 {
        // Another limit each time, so that there are segments of other sizes.
        let limit = [1 << 20, 128 << 10, 3 << 20][round % 3];
        let mut writer = JournalWriter::create(folder.path(), limit).unwrap();
        assert_eq!(writer.end(), end);
        for length in [1, 70_000, 30, 5000] {
            append(&mut writer, 1, round as u64, length);
        }
        end = writer.end();
        assert_eq!(writer.start(), reader.start().unwrap());
        for seen in drain(&mut reader) {
            let Seen::Data { offset, data, .. } = seen else { panic!("{seen:?}") };
            assert!(data == bytes_at(offset, data.len()));
        }
        assert_eq!(reader.position(), end);
    }
}

#[test]
fn a_smaller_limit_is_soon_respected() {
    let folder = tempfile::tempdir().unwrap();
    append(&mut JournalWriter::create(folder.path(), 32 << 20).unwrap(), 1, 1, 9 << 20);
    let mut writer = JournalWriter::create(folder.path(), 256 << 10).unwrap();
    append(&mut writer, 1, 1, 512 << 10);
    assert!(super::length_on_disk(folder.path()) <= 256 << 10);
    let seen = read_all(folder.path());
    let lost = Some(writer.start());
    assert_eq!(seen[0], Seen::Gap { offset: 0, lost, why: LossReason::Dropped });
}
