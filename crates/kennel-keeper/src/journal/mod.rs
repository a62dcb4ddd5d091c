//! The output of a session on disk: limited in size, with offsets and times, for one writer and any
//! number of readers.
//!
//! ```text
//! journal/00000007   oldest         ┌──────────────┬────────┬────────┬─────┬────────┐
//! journal/00000008                  │ segment head │ record │ record │  …  │ record │ leftovers
//! journal/00000009   being written  └──────────────┴────────┴────────┴─────┴────────┘
//!
//! segment head   "KENNELJ1"   sequence   first offset   first time   nonce   sum         6 × 8 bytes
//! record         sum   offset   time   length:4 kind:1 tag:1 0:2   data …                32 bytes + length
//! ```
//! Numbers are little-endian. An **offset** is a position in the output of all streams together,
//! including lost bytes. The tag of a data record is the stream. That of a gap is the reason, and
//! its data is the number of lost bytes (all ones: unknown).
//!
//! **A checksum commits a record.** One call writes a record, and no second one confirms it. The
//! checksum covers the whole record and is keyed by the nonce and the sequence of the segment, and
//! the offset must follow from the record before. So a reader accepts a record only if it is
//! complete and at its place: not while it is being written, not if its writer was killed
//! meanwhile, not if the segment is being reused. Records that were complete when the writer died
//! are found as usual. An agent that prints bytes that look like a record does not know the nonce.
//!
//! **The size is limited.** At the limit the oldest segment is renamed to the next sequence and
//! overwritten, not truncated, so a flood of output allocates no more blocks. A reader whose
//! segment is reused finds checksums that don't match and a later start: it reports a gap.
//!
//! **The journal never blocks the agent.** If a write fails, the oldest segment is reused for it.
//! If that does not help, the lost bytes are counted, and a gap is written as soon as writing works
//! again. If it never does, the loss is noted in the reserved space of the launch's outcome file,
//! and reported at the end of the journal.
//!
//! Nothing is synced: output survives the death of any process, but not a crash of the machine.

mod disk;
mod format;
mod lost_output;
mod reader;
mod seal;
mod segment;
mod writer;

pub use format::{LossReason, MAX_DATA};
pub use reader::{JournalItem, JournalReader};
pub use segment::{Recorded, bytes_on_disk};
pub use writer::{Appended, JournalWriter, MIN_LIMIT};

/// Output of the agent's terminal.
pub const TERMINAL: u8 = 0;
/// The agent's standard output.
pub const STDOUT: u8 = 1;
/// The agent's standard error.
pub const STDERR: u8 = 2;
