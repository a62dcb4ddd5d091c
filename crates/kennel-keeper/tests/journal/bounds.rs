//! A flood of output: the size on disk is limited, and old segments are reused.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kennel_keeper::journal::{
    Appended, JournalReader, JournalWriter, LossReason, MIN_LIMIT, bytes_on_disk,
};

use super::{Seen, append, bytes_at, drain, length_on_disk};

fn inodes(folder: &Path) -> BTreeSet<u64> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().ino()).collect()
}

#[test]
fn a_flood_stays_within_the_limit_and_creates_no_new_files() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 2 << 20;
    let mut writer = JournalWriter::create(folder.path(), limit).unwrap();
    let block = vec![b'x'; 64 * 1024];
    let mut first = BTreeSet::new();
    for round in 0..1200 {
        assert!(matches!(writer.append(1, round, &block), Appended::Kept));
        if round == 100 {
            first = inodes(folder.path());
        }
        if round % 16 == 0 {
            assert!(length_on_disk(folder.path()) <= limit);
        }
    }
    assert_eq!(inodes(folder.path()), first);
    // A file system may use an additional block for each file.
    assert!(bytes_on_disk(folder.path()).unwrap() <= limit + 8 * 4096);
    assert_eq!(writer.end(), 1200 * 64 * 1024);
    assert!(writer.end() - writer.start() > limit * 3 / 4, "most of the space is used");
}

#[test]
fn every_limit_is_respected() {
    for limit in [0, 1, MIN_LIMIT, 200_001, 1_000_000, 5_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(folder.path(), limit).unwrap();
        for length in (0..200_usize).map(|round| 1 + round * 7919 % 90_000) {
            append(&mut writer, 1, 1, length);
            assert!(length_on_disk(folder.path()) <= limit.max(MIN_LIMIT));
        }
        let mut reader = JournalReader::open(folder.path()).unwrap();
        let start = writer.start();
        reader.seek(start).unwrap();
        let mut next = start;
        for seen in drain(&mut reader) {
            let Seen::Data { offset, data, .. } = seen else { panic!("{seen:?}") };
            assert!(offset == next && data == bytes_at(offset, data.len()));
            next += data.len() as u64;
        }
        assert_eq!(next, writer.end());
    }
}

#[test]
fn a_reader_that_is_overtaken_gets_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 256 << 10).unwrap();
    append(&mut writer, 1, 1, 1000);
    let mut reader = JournalReader::open(folder.path()).unwrap();
    reader.seek(400).unwrap();
    for _ in 0..100 {
        append(&mut writer, 1, 1, 20_000);
    }
    // The window may contain earlier reads. Here there were none.
    let seen = drain(&mut reader);
    let lost = Some(writer.start() - 400);
    assert_eq!(seen[0], Seen::Gap { offset: 400, lost, why: LossReason::Dropped });
    assert_eq!(reader.position(), writer.end());
    for seen in &seen[1..] {
        let Seen::Data { offset, data, .. } = seen else { panic!("{seen:?}") };
        assert!(*data == bytes_at(*offset, data.len()));
    }
}
