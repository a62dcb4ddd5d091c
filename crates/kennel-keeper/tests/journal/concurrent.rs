//! A writer of a flood, and concurrent readers.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kennel_keeper::journal::{JournalItem, JournalReader, JournalWriter, LossReason};

use super::{append, byte_at};

/// What a reader received.
#[derive(Debug, Default)]
struct Sum {
    read: u64,
    lost: u64,
    gaps: u64,
}

/// Reads until the writer is done and everything is read. Checks every byte and every offset.
fn follow(folder: &Path, done: &AtomicBool, slow: bool) -> Sum {
    let mut reader = JournalReader::open(folder).unwrap();
    let (mut sum, mut next) = (Sum::default(), 0);
    loop {
        let was_done = done.load(Ordering::Acquire);
        match reader.next().unwrap() {
            JournalItem::Data { offset, data, .. } => {
                assert_eq!(offset, next, "output is repeated or missing");
                let wrong = data.iter().zip(offset..).find(|(byte, at)| **byte != byte_at(*at));
                assert_eq!(wrong, None, "in the record at {offset}");
                next += data.len() as u64;
                sum.read += data.len() as u64;
            }
            JournalItem::Gap { offset, lost, why } => {
                assert_eq!((offset, why), (next, LossReason::Dropped));
                let lost = lost.unwrap();
                assert!(lost > 0);
                next += lost;
                sum.lost += lost;
                sum.gaps += 1;
            }
            JournalItem::End if was_done => return sum,
            JournalItem::End => thread::yield_now(),
        }
        if slow && next % 3 == 0 {
            thread::yield_now();
        }
    }
}

fn flood(limit: u64, total: u64, longest: u64) {
    let folder = tempfile::tempdir().unwrap();
    let folder = &folder.path().join("journal");
    let done = &AtomicBool::new(false);
    let (end, sums) = thread::scope(|scope| {
        let readers: Vec<_> =
            (0..3).map(|index| scope.spawn(move || follow(folder, done, index == 2))).collect();
        let mut writer = JournalWriter::create(folder, limit).unwrap();
        let mut seed = 1_u64;
        while writer.end() < total {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            append(&mut writer, 1, 1, ((seed >> 33) % longest + 1) as usize);
        }
        done.store(true, Ordering::Release);
        let sums: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        (writer.end(), sums)
    });
    for sum in sums {
        assert_eq!(sum.read + sum.lost, end, "{sum:?}");
        assert_eq!(sum.gaps == 0, sum.lost == 0);
    }
}

#[test]
fn two_small_segments_that_are_always_reused() {
    flood(128 * 1024, 12 << 20, 3000);
}

#[test]
fn records_of_maximum_size() {
    flood(256 * 1024, 16 << 20, 150_000);
}

#[test]
fn tiny_records() {
    flood(128 * 1024, 2 << 20, 40);
}
