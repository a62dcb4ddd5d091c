//! Random appends and random readers, compared with a model of the journal.

use kennel_keeper::journal::{JournalItem, JournalReader, JournalWriter, LossReason};
use proptest::prelude::*;

use super::{append, bytes_at, length_on_disk};

#[derive(Debug, Clone)]
enum Action {
    Append {
        stream: u8,
        length: usize,
        later: u64,
    },
    /// Another writer continues.
    Reopen,
    /// A reader reads this many items.
    Read {
        reader: usize,
        items: usize,
    },
    /// A reader moves to an offset, in thousandths of the journal's end.
    Seek {
        reader: usize,
        place: u64,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let length = prop_oneof![4 => 1..200_usize, 2 => 1..5000_usize, 1 => 30_000..200_000_usize];
    prop_oneof![
        8 => (0..3_u8, length, 0..50_u64)
            .prop_map(|(stream, length, later)| Action::Append { stream, length, later }),
        1 => Just(Action::Reopen),
        6 => (0..3_usize, 1..30_usize).prop_map(|(reader, items)| Action::Read { reader, items }),
        1 => (0..3_usize, 0..1100_u64).prop_map(|(reader, place)| Action::Seek { reader, place }),
    ]
}

/// What was appended: end, stream, time.
type Appends = Vec<(u64, u8, u64)>;

/// Checks one item. Returns false at the end.
fn check(
    reader: &mut JournalReader,
    next: &mut u64,
    appends: &Appends,
    start: u64,
    end: u64,
) -> bool {
    let before = *next;
    match reader.next().unwrap() {
        JournalItem::Data { offset, time_ms, stream, data } => {
            assert_eq!(offset, before);
            assert!(data == bytes_at(offset, data.len()), "wrong bytes at {offset}");
            *next += data.len() as u64;
            let index = appends.partition_point(|(end, ..)| *end <= offset);
            let (append_end, true_stream, true_time) = appends[index];
            assert!(*next <= append_end, "a record contains two appends");
            assert_eq!((stream, time_ms), (true_stream, true_time));
        }
        JournalItem::Gap { offset, lost, why } => {
            assert_eq!((offset, why), (before, LossReason::Dropped));
            *next += lost.unwrap();
            assert_eq!(*next, start, "a gap ends where the journal begins");
        }
        JournalItem::End => {
            assert!(before >= end, "an end at {before}, but there is output up to {end}");
            return false;
        }
    }
    assert_eq!(reader.position(), *next);
    true
}

fn run(limit: u64, actions: Vec<Action>) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), limit).unwrap();
    let mut readers: Vec<_> =
        (0..3).map(|_| (JournalReader::open(folder.path()).unwrap(), 0_u64)).collect();
    let (mut appends, mut time) = (Appends::new(), 1000);
    for action in actions {
        let (start, end) = (writer.start(), writer.end());
        match action {
            Action::Append { stream, length, later } => {
                time += later;
                append(&mut writer, stream, time, length);
                appends.push((writer.end(), stream, time));
                assert!(length_on_disk(folder.path()) <= limit);
            }
            Action::Reopen => {
                writer = JournalWriter::create(folder.path(), limit).unwrap();
                assert_eq!((writer.start(), writer.end()), (start, end));
            }
            Action::Read { reader, items } => {
                let (reader, next) = &mut readers[reader];
                for _ in 0..items {
                    if !check(reader, next, &appends, start, end) {
                        break;
                    }
                }
            }
            Action::Seek { reader, place } => {
                let (reader, next) = &mut readers[reader];
                *next = end * place / 1000;
                reader.seek(*next).unwrap();
                assert_eq!((reader.start().unwrap(), reader.end().unwrap()), (start, end));
            }
        }
    }
    let (start, end) = (writer.start(), writer.end());
    for (reader, next) in &mut readers {
        while check(reader, next, &appends, start, end) {}
        assert!(*next >= end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn readers_see_what_was_appended(
        limit in prop_oneof![Just(128 * 1024_u64), 128 * 1024..700 * 1024_u64],
        actions in prop::collection::vec(action(), 1..150),
    ) {
        run(limit, actions);
    }
}
