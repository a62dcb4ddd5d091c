//! The output of a session on disk: bounded, with offsets and times, for one writer and any number of readers.
//!
//! ```text
//! journal/00000007   oldest kept    ┌──────────────┬────────┬────────┬─────┬────────┐
//! journal/00000008                  │ segment head │ record │ record │  …  │ record │ leftovers
//! journal/00000009   being written  └──────────────┴────────┴────────┴─────┴────────┘
//!
//! segment head   "KENNELJ1"   sequence   first offset   first time   nonce   sum         6 × 8 bytes
//! record         sum   offset   time   length:4 kind:1 tag:1 0:2   data …                32 bytes + length
//! ```
//! Numbers are little-endian. An **offset** is a position in all output of all streams, one after the other,
//! lost bytes included. The tag is the stream of data, and the reason of a gap, whose data is the number of
//! bytes lost (all ones: unknown).
//!
//! **Nothing is committed but by its sum.** A record is written by one call, and no second one says that it is
//! there. Its sum covers everything in it and is keyed by the segment's nonce and sequence, and its offset must
//! follow from the record before. So a reader takes a record for what it is only if it is whole and in its
//! place: not while it is being written, not if its writer was killed halfway, not when the segment is being
//! used anew under the reader's hands. What was whole when the writer died is found like anything else. And an
//! agent that prints bytes which look like a record can't know the nonce.
//!
//! **Bounded.** When there would be too many, the oldest segment is renamed to the next sequence and written
//! over, not truncated: a flood allocates no blocks once the bound is reached. A segment is begun only after its
//! predecessor was. A reader whose segment is taken away finds sums that do not match, and a start further on
//! than it was: that is a gap, and it is told.
//!
//! **Never in the way.** If a write fails, the oldest segment is given up for it. If that does not help, what
//! could not be written is counted, and a gap is put into the journal as soon as writing works again. If it never does,
//! the loss is noted in the room set aside for the launch's outcome, and told at the journal's end.
//!
//! Nothing is synced: output survives the death of any process, not that of the machine.

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
