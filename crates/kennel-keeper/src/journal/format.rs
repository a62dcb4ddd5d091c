//! The headers of segments and records as bytes.

use super::seal::Seal;

/// The maximum length of the data of one record. More is split.
pub const MAX_DATA: usize = 64 * 1024;
pub(super) const SEGMENT_HEAD: usize = 48;
pub(super) const RECORD_HEAD: usize = 32;
pub(super) const GAP_RECORD: usize = RECORD_HEAD + 8;
pub(super) const LONGEST_RECORD: usize = RECORD_HEAD + MAX_DATA;

const MAGIC: [u8; 8] = *b"KENNELJ1";
const UNKNOWN: u64 = u64::MAX;

/// Why output is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// The journal reached its limit, and its oldest output was dropped.
    Dropped,
    /// The output could not be written: the disk was full, or failed.
    DiskFull,
    /// The keeper was killed before it wrote the output. It is unknown how much is missing.
    KeeperDied,
    /// The output was written but is missing now, for instance after a power cut.
    Damaged,
}

impl std::fmt::Display for LossReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Dropped => "older than the limit allows",
            Self::DiskFull => "the disk was full, or failed",
            Self::KeeperDied => "the keeper was killed",
            Self::Damaged => "the journal is damaged",
        })
    }
}

impl LossReason {
    /// Returns the name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::DiskFull => "disk_full",
            Self::KeeperDied => "keeper_died",
            Self::Damaged => "damaged",
        }
    }

    /// Returns the reason with this number in the journal.
    fn from_code(code: u8) -> Option<Self> {
        const ALL: [LossReason; 4] = [
            LossReason::Dropped,
            LossReason::DiskFull,
            LossReason::KeeperDied,
            LossReason::Damaged,
        ];
        ALL.into_iter().find(|why| *why as u8 == code)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentHead {
    /// The number of the segment, from 1 on. It is also the name of the file.
    pub(super) sequence: u64,
    /// The offset of the first record.
    pub(super) start: u64,
    /// The time of the first record.
    pub(super) time_ms: u64,
    /// Random, and the same in all segments of a journal.
    pub(super) nonce: u64,
}

impl SegmentHead {
    pub(super) fn encode(&self) -> [u8; SEGMENT_HEAD] {
        let mut bytes = [0; SEGMENT_HEAD];
        bytes[..8].copy_from_slice(&MAGIC);
        for (index, value) in
            [self.sequence, self.start, self.time_ms, self.nonce].into_iter().enumerate()
        {
            put(&mut bytes, 8 + 8 * index, value);
        }
        let sum = Seal::new(0, 0).sum(&bytes[..40], &[]);
        put(&mut bytes, 40, sum);
        bytes
    }

    /// Returns `None` if this is not a complete header.
    pub(super) fn decode(bytes: &[u8; SEGMENT_HEAD]) -> Option<Self> {
        let whole = bytes[..8] == MAGIC && get(bytes, 40) == Seal::new(0, 0).sum(&bytes[..40], &[]);
        whole.then(|| Self {
            sequence: get(bytes, 8),
            start: get(bytes, 16),
            time_ms: get(bytes, 24),
            nonce: get(bytes, 32),
        })
    }

    pub(super) fn seal(&self) -> Seal {
        Seal::new(self.nonce, self.sequence)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordContent {
    Data {
        stream: u8,
    },
    Gap {
        /// The number of missing bytes, if it is known.
        lost: Option<u64>,
        why: LossReason,
    },
}

/// One record, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHead {
    pub(super) offset: u64,
    pub(super) time_ms: u64,
    pub(super) content: RecordContent,
    /// The length of the data in the file.
    pub(super) length: usize,
}

impl RecordHead {
    /// Returns the header of a data record.
    pub(super) fn data(
        seal: &Seal,
        offset: u64,
        time_ms: u64,
        stream: u8,
        data: &[u8],
    ) -> [u8; RECORD_HEAD] {
        record_head(seal, offset, time_ms, [0, stream], data)
    }

    /// A complete gap record.
    pub(super) fn gap(
        seal: &Seal,
        offset: u64,
        time_ms: u64,
        lost: Option<u64>,
        why: LossReason,
    ) -> [u8; GAP_RECORD] {
        let data = lost.unwrap_or(UNKNOWN).to_le_bytes();
        let mut bytes = [0; GAP_RECORD];
        let head = record_head(seal, offset, time_ms, [1, why as u8], &data);
        bytes[..RECORD_HEAD].copy_from_slice(&head);
        bytes[RECORD_HEAD..].copy_from_slice(&data);
        bytes
    }

    /// Returns the record at the start of `bytes`, if it is complete and has this offset.
    #[inline]
    pub(super) fn decode(seal: &Seal, offset: u64, bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<RECORD_HEAD>()?;
        // Cheap checks first: any bytes may follow the last record.
        let length = u32::from_le_bytes([head[24], head[25], head[26], head[27]]) as usize;
        if get(head, 8) != offset || length > MAX_DATA {
            return None;
        }
        let data = rest.get(..length)?;
        if get(head, 0) != seal.sum(&head[8..], data) {
            return None;
        }
        let content = match (head[28], length) {
            (0, _) => RecordContent::Data { stream: head[29] },
            (1, 8) => {
                let lost = get(data, 0);
                RecordContent::Gap {
                    lost: (lost != UNKNOWN).then_some(lost),
                    why: LossReason::from_code(head[29])?,
                }
            }
            _ => return None,
        };
        Some(Self { offset, time_ms: get(head, 16), content, length })
    }

    /// Returns the offset of the next record.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(match self.content {
            RecordContent::Data { .. } => self.length as u64,
            RecordContent::Gap { lost, .. } => lost.unwrap_or(0),
        })
    }
}

#[inline]
fn record_head(
    seal: &Seal,
    offset: u64,
    time_ms: u64,
    [kind, tag]: [u8; 2],
    data: &[u8],
) -> [u8; RECORD_HEAD] {
    let mut head = [0; RECORD_HEAD];
    put(&mut head, 8, offset);
    put(&mut head, 16, time_ms);
    // Never more than `MAX_DATA`.
    head[24..28].copy_from_slice(&(data.len() as u32).to_le_bytes());
    head[28] = kind;
    head[29] = tag;
    let sum = seal.sum(&head[8..], data);
    put(&mut head, 0, sum);
    head
}

#[inline]
fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

#[inline]
fn get(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_headers_survive_the_round_trip() {
        let head = SegmentHead { sequence: 9, start: 1 << 40, time_ms: 17, nonce: 99 };
        let mut bytes = head.encode();
        assert_eq!(SegmentHead::decode(&bytes), Some(head));
        bytes[20] ^= 1;
        assert_eq!(SegmentHead::decode(&bytes), None);
    }

    #[test]
    fn a_record_is_read_only_at_its_own_offset() {
        let seal = Seal::new(3, 4);
        let mut bytes = RecordHead::data(&seal, 500, 7, 2, b"hello").to_vec();
        bytes.extend(b"hello and leftovers");
        let record = RecordHead::decode(&seal, 500, &bytes).unwrap();
        assert_eq!((record.offset, record.end(), record.time_ms), (500, 505, 7));
        assert_eq!(record.content, RecordContent::Data { stream: 2 });
        assert_eq!(RecordHead::decode(&seal, 501, &bytes), None);
        assert_eq!(RecordHead::decode(&Seal::new(3, 5), 500, &bytes), None);
        for cut in 0..RECORD_HEAD + 5 {
            assert_eq!(RecordHead::decode(&seal, 500, &bytes[..cut]), None);
        }
    }

    #[test]
    fn gaps_survive_the_round_trip() {
        let seal = Seal::new(3, 4);
        for (lost, why) in [
            (Some(70), LossReason::DiskFull),
            (None, LossReason::KeeperDied),
            (Some(0), LossReason::Dropped),
            (None, LossReason::Damaged),
        ] {
            let record =
                RecordHead::decode(&seal, 5, &RecordHead::gap(&seal, 5, 6, lost, why)).unwrap();
            assert_eq!(record.content, RecordContent::Gap { lost, why });
            assert_eq!(record.end(), 5 + lost.unwrap_or(0));
        }
    }
}
