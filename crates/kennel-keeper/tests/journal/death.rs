//! The keeper is killed: readers find complete records only, and the gap is reported.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kennel_keeper::journal::{JournalItem, JournalReader, JournalWriter, LossReason};

use super::{Seen, append, bytes_at, drain, read_all};

const LENGTHS: [usize; 4] = [100, 1, 60, 33];

/// Returns the bytes of a journal of one segment with a few records, and where each record ends.
fn template() -> (Vec<u8>, Vec<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 1 << 20).unwrap();
    let mut ends = Vec::new();
    for length in LENGTHS {
        append(&mut writer, 1, 5, length);
        ends.push(fs::metadata(folder.path().join("00000001")).unwrap().len() as usize);
    }
    (fs::read(folder.path().join("00000001")).unwrap(), ends)
}

/// Returns the offset after this many records.
fn end_after(records: usize) -> u64 {
    LENGTHS[..records].iter().sum::<usize>() as u64
}

/// Exactly the first records are found. Then the gap is marked, and another writer continues.
fn check(folder: &Path, records: usize, note: &str) {
    let mut follower = JournalReader::open(folder).unwrap();
    let seen = drain(&mut follower);
    assert_eq!(seen.len(), records, "{note}");
    for (index, seen) in seen.iter().enumerate() {
        let offset = end_after(index);
        let data = bytes_at(offset, LENGTHS[index]);
        assert_eq!(*seen, Seen::Data { offset, time_ms: 5, stream: 1, data }, "{note}");
    }
    let end = end_after(records);
    JournalWriter::mark_gap_in(folder, 9, None, LossReason::KeeperDied).unwrap();
    let gap = Seen::Gap { offset: end, lost: None, why: LossReason::KeeperDied };
    // Both the earlier reader and a new one.
    assert_eq!(drain(&mut follower), std::slice::from_ref(&gap), "{note}");
    let mut writer = JournalWriter::create(folder, 1 << 20).unwrap();
    assert_eq!(writer.end(), end, "{note}");
    append(&mut writer, 2, 11, 50);
    let data = bytes_at(end, 50);
    let more = Seen::Data { offset: end, time_ms: 11, stream: 2, data };
    assert_eq!(drain(&mut follower), std::slice::from_ref(&more), "{note}");
    assert_eq!(read_all(folder)[records..], [gap, more], "{note}");
}

#[test]
fn cut_at_every_byte() {
    let (bytes, ends) = template();
    for cut in 0..=bytes.len() {
        let records = ends.iter().filter(|end| **end <= cut).count();
        for stale in [None, Some(0xFF)] {
            let folder = tempfile::tempdir().unwrap();
            let mut left = bytes[..cut].to_vec();
            // In a reused segment other bytes follow.
            left.extend(stale.iter().cycle().take(500));
            fs::write(folder.path().join("00000001"), left).unwrap();
            check(folder.path(), records, &format!("cut at {cut}, then {stale:?}"));
        }
    }
}

#[test]
fn one_wrong_byte_anywhere() {
    let (bytes, ends) = template();
    for wrong in 0..bytes.len() {
        let folder = tempfile::tempdir().unwrap();
        let mut left = bytes.clone();
        left[wrong] ^= 0x10;
        fs::write(folder.path().join("00000001"), left).unwrap();
        // A segment without a header is not read.
        let records = if wrong < 48 { 0 } else { ends.iter().filter(|end| **end <= wrong).count() };
        check(folder.path(), records, &format!("wrong at {wrong}"));
    }
}

#[test]
fn killed_just_before_a_segment_was_reused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 128 << 10).unwrap();
    append(&mut writer, 1, 1, 120_000);
    let (start, end) = (writer.start(), writer.end());
    assert_eq!(start, 0);
    drop(writer);
    let mut follower = JournalReader::open(folder.path()).unwrap();
    drain(&mut follower);
    // It was only renamed so far.
    fs::rename(folder.path().join("00000001"), folder.path().join("00000003")).unwrap();
    let mut late = JournalReader::open(folder.path()).unwrap();
    let dropped = late.start().unwrap();
    assert!(dropped > 0 && late.end().unwrap() == end);
    let gap = JournalItem::Gap { offset: 0, lost: Some(dropped), why: LossReason::Dropped };
    assert_eq!(late.next().unwrap(), gap);
    drain(&mut late);
    assert_eq!(late.position(), end);
    JournalWriter::mark_gap_in(folder.path(), 2, None, LossReason::KeeperDied).unwrap();
    let mut writer = JournalWriter::create(folder.path(), 128 << 10).unwrap();
    append(&mut writer, 1, 3, 100_000);
    for reader in [&mut follower, &mut late] {
        let seen = drain(reader);
        assert_eq!(seen[0], Seen::Gap { offset: end, lost: None, why: LossReason::KeeperDied });
        assert_eq!(reader.position(), writer.end());
    }
}

#[test]
fn a_gap_in_a_journal_that_was_never_begun() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    JournalWriter::mark_gap_in(&journal, 2, None, LossReason::KeeperDied).unwrap();
    assert_eq!(
        read_all(&journal),
        [Seen::Gap { offset: 0, lost: None, why: LossReason::KeeperDied }]
    );
    assert!(
        JournalWriter::mark_gap_in(&folder.path().join("no/where"), 2, None, LossReason::Damaged)
            .is_err()
    );
}

#[test]
fn a_gap_of_known_size_moves_the_offsets() {
    let folder = tempfile::tempdir().unwrap();
    append(&mut JournalWriter::create(folder.path(), 1 << 20).unwrap(), 1, 1, 10);
    JournalWriter::mark_gap_in(folder.path(), 2, Some(7), LossReason::KeeperDied).unwrap();
    assert_eq!(JournalWriter::create(folder.path(), 1 << 20).unwrap().end(), 17);
}

/// After a power cut the file exists without its content, but a later file is complete.
#[test]
fn a_loss_by_a_power_cut_is_reported() {
    for whole_segment in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = JournalWriter::create(folder.path(), 512 << 10).unwrap();
        for _ in 0..300 {
            append(&mut writer, 1, 1, 1000);
        }
        let second = folder.path().join("00000002");
        let mut bytes = fs::read(&second).unwrap();
        let from = if whole_segment { 0 } else { bytes.len() / 2 };
        bytes[from..].fill(0);
        fs::write(&second, bytes).unwrap();
        let mut reader = JournalReader::open(folder.path()).unwrap();
        let (mut next, mut gaps) = (0, 0);
        for seen in drain(&mut reader) {
            match seen {
                Seen::Data { offset, data, .. } => {
                    assert!(offset == next && data == bytes_at(offset, data.len()));
                    next += data.len() as u64;
                }
                Seen::Gap { offset, lost, why } => {
                    assert_eq!((offset, why), (next, LossReason::Damaged));
                    next += lost.unwrap();
                    gaps += 1;
                }
            }
        }
        assert_eq!((next, gaps), (writer.end(), 1));
    }
}

const FLOODED: &str = "JOURNAL_TEST_FLOODED";

/// A process that writes a journal until it is killed.
struct Flood(Child);

impl Flood {
    fn start(folder: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "death::floods_until_killed", "--ignored"])
            .env(FLOODED, folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The process that other tests start.
#[test]
#[ignore = "started by another test"]
fn floods_until_killed() {
    let Some(folder) = std::env::var_os(FLOODED) else { return };
    let mut writer = JournalWriter::create(Path::new(&folder), 256 << 10).unwrap();
    // Limited, in case the test dies.
    let enough = writer.end() + (1 << 30);
    let mut round = 0;
    while writer.end() < enough {
        append(&mut writer, 1, 1, 1 + round * 7919 % 70_000);
        round += 1;
    }
}

#[test]
fn killed_in_a_flood() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    let mut next = 0;
    for round in 1..=6_u64 {
        let mut flood = Some(Flood::start(folder.path()));
        // Until it has written some output after the end of the last one.
        let far = next + round * 500_000;
        loop {
            match reader.next().unwrap() {
                JournalItem::Data { offset, data, .. } => {
                    assert!(offset == next && data == bytes_at(offset, data.len()), "at {offset}");
                    next += data.len() as u64;
                }
                JournalItem::Gap { offset, lost, why } => {
                    assert_eq!((offset, why), (next, LossReason::Dropped));
                    next += lost.unwrap();
                }
                JournalItem::End if flood.is_none() => break,
                JournalItem::End => std::thread::yield_now(),
            }
            if next > far {
                flood = None;
            }
        }
        JournalWriter::mark_gap_in(folder.path(), 1, None, LossReason::KeeperDied).unwrap();
        let gap = JournalItem::Gap { offset: next, lost: None, why: LossReason::KeeperDied };
        assert_eq!(reader.next().unwrap(), gap, "a follower and another writer see the same end");
        assert_eq!(reader.next().unwrap(), JournalItem::End);
    }
}
