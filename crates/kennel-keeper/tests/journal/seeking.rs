//! Moving to an offset, to the last lines, to a time.

use kennel_keeper::journal::{Appended, JournalItem, JournalReader, JournalWriter, LossReason};

use super::{Seen, append, bytes_at, drain, text};

fn print(writer: &mut JournalWriter, stream: u8, time_ms: u64, text: &str) {
    assert!(matches!(writer.append(stream, time_ms, text.as_bytes()), Appended::Kept));
}

#[test]
fn an_offset_within_a_record_returns_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 1 << 20).unwrap();
    for length in [10, 1, 300, 20] {
        append(&mut writer, 1, 1, length);
    }
    let mut reader = JournalReader::open(folder.path()).unwrap();
    for offset in 0..=331 {
        reader.seek(offset).unwrap();
        let mut next = offset;
        for seen in drain(&mut reader) {
            let Seen::Data { offset, data, .. } = seen else { panic!("{seen:?}") };
            assert!(offset == next && data == bytes_at(offset, data.len()));
            next += data.len() as u64;
        }
        assert_eq!(next, 331);
    }
    // An offset beyond the end.
    reader.seek(340).unwrap();
    assert_eq!(reader.next().unwrap(), JournalItem::End);
    append(&mut writer, 1, 1, 5);
    assert_eq!(reader.next().unwrap(), JournalItem::End);
    append(&mut writer, 1, 1, 10);
    let data = &bytes_at(340, 6)[..];
    assert_eq!(
        reader.next().unwrap(),
        JournalItem::Data { offset: 340, time_ms: 1, stream: 1, data }
    );
}

#[test]
fn the_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 1 << 20).unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    for (stream, piece) in [(1, "one\ntw"), (2, "o\n"), (1, "\n"), (1, "four\nfi"), (2, "ve\nsix")]
    {
        print(&mut writer, stream, 1, piece);
    }
    for (lines, expected) in [
        (0, ""),
        (1, "six"),
        (2, "five\nsix"),
        (3, "four\nfive\nsix"),
        (4, "\nfour\nfive\nsix"),
        (5, "two\n\nfour\nfive\nsix"),
        (6, "one\ntwo\n\nfour\nfive\nsix"),
        (99, "one\ntwo\n\nfour\nfive\nsix"),
    ] {
        reader.seek_tail(lines).unwrap();
        assert_eq!(text(&mut reader), expected, "{lines} lines");
    }
    // A newline at the end ends a line and does not begin another.
    print(&mut writer, 1, 1, "\n");
    reader.seek_tail(2).unwrap();
    assert_eq!(text(&mut reader), "five\nsix\n");
    // Later output follows.
    print(&mut writer, 1, 1, "seven\n");
    assert_eq!(text(&mut reader), "seven\n");
}

#[test]
fn the_last_lines_over_many_segments() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 512 << 10).unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    for number in 0..60_000 {
        print(&mut writer, 1, 1, &format!("line number {number}\n"));
    }
    assert!(writer.start() > 0);
    for lines in [1, 7, 500, 2000, 5000] {
        reader.seek_tail(lines).unwrap();
        let expected: String =
            (60_000 - lines..60_000).map(|number| format!("line number {number}\n")).collect();
        assert!(text(&mut reader) == expected, "{lines} lines");
    }
    // More lines than there are: the whole journal, without a gap.
    reader.seek_tail(100_000).unwrap();
    let JournalItem::Data { offset, .. } = reader.next().unwrap() else { panic!() };
    assert_eq!(offset, writer.start());
}

#[test]
fn one_line_without_a_newline() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 256 << 10).unwrap();
    for _ in 0..1000 {
        print(&mut writer, 1, 1, &"x".repeat(1000));
    }
    let mut reader = JournalReader::open(folder.path()).unwrap();
    reader.seek_tail(1).unwrap();
    assert_eq!(text(&mut reader).len() as u64, writer.end() - writer.start());
}

#[test]
fn since_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 1 << 20).unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    for (time_ms, piece) in [(10, "a"), (10, "b"), (20, "c"), (30, "d")] {
        print(&mut writer, 1, time_ms, piece);
    }
    for (time_ms, expected) in
        [(0, "abcd"), (10, "abcd"), (11, "cd"), (20, "cd"), (21, "d"), (30, "d"), (31, "")]
    {
        reader.seek_since(time_ms).unwrap();
        assert_eq!(text(&mut reader), expected, "since {time_ms}");
    }
    print(&mut writer, 1, 40, "e");
    assert_eq!(text(&mut reader), "e");
}

#[test]
fn since_a_time_over_many_segments() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = JournalWriter::create(folder.path(), 256 << 10).unwrap();
    let mut reader = JournalReader::open(folder.path()).unwrap();
    for number in 0..20_000_u64 {
        print(&mut writer, 1, 1000 + number, &format!("{number:06}\n"));
    }
    for number in [19_999_u64, 19_000, 17_500] {
        reader.seek_since(1000 + number).unwrap();
        let expected: String = (number..20_000).map(|number| format!("{number:06}\n")).collect();
        assert!(text(&mut reader) == expected, "since {number}");
    }
    reader.seek_since(5).unwrap();
    let gap = JournalItem::Gap { offset: writer.start(), lost: None, why: LossReason::Dropped };
    assert_eq!(reader.next().unwrap(), gap);
    let JournalItem::Data { offset, .. } = reader.next().unwrap() else { panic!() };
    assert_eq!(offset, writer.start());
}
