//! Tests of the journal through its writer and its reader.

mod bounds;
mod concurrent;
mod death;
mod full_disk;
mod model;
mod round_trip;
mod seeking;

use std::path::Path;

use kennel_keeper::journal::{Appended, JournalItem, JournalReader, JournalWriter, LossReason};

/// Returns the byte that must be at this offset.
fn byte_at(offset: u64) -> u8 {
    let mixed = offset.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8 ^ (mixed >> 32) as u8
}

/// Returns the bytes that must follow this offset.
fn bytes_at(offset: u64, length: usize) -> Vec<u8> {
    (offset..offset + length as u64).map(byte_at).collect()
}

/// Appends the right bytes for the journal's end. Nothing may be lost.
fn append(writer: &mut JournalWriter, stream: u8, time_ms: u64, length: usize) {
    let data = bytes_at(writer.end(), length);
    assert!(matches!(writer.append(stream, time_ms, &data), Appended::Kept));
}

/// An item that owns its data.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Data { offset: u64, time_ms: u64, stream: u8, data: Vec<u8> },
    Gap { offset: u64, lost: Option<u64>, why: LossReason },
}

/// Returns all items up to the end.
fn drain(reader: &mut JournalReader) -> Vec<Seen> {
    let mut seen = Vec::new();
    loop {
        match reader.next().unwrap() {
            JournalItem::Data { offset, time_ms, stream, data } => {
                seen.push(Seen::Data { offset, time_ms, stream, data: data.to_vec() });
            }
            JournalItem::Gap { offset, lost, why } => seen.push(Seen::Gap { offset, lost, why }),
            JournalItem::End => return seen,
        }
    }
}

/// Returns all items of a journal.
fn read_all(folder: &Path) -> Vec<Seen> {
    drain(&mut JournalReader::open(folder).unwrap())
}

/// Returns the text from the reader's position on, without gaps.
fn text(reader: &mut JournalReader) -> String {
    let data = drain(reader).into_iter().filter_map(|seen| match seen {
        Seen::Data { data, .. } => Some(data),
        Seen::Gap { .. } => None,
    });
    String::from_utf8(data.flatten().collect()).unwrap()
}

/// Returns the total length of all files of a journal.
fn length_on_disk(folder: &Path) -> u64 {
    let lengths = std::fs::read_dir(folder).unwrap().map(|entry| {
        // A file may be renamed meanwhile.
        entry.unwrap().metadata().map_or(0, |metadata| metadata.len())
    });
    lengths.sum()
}
