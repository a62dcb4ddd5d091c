//! The register: the durable record of what is wanted, and the history. All SQL is here.
//!
//! ```text
//! save, log, remove ──queue──> writer ── one transaction ── log (-wal) ── flush, if any was durable ── answers
//!                                │   everything that was queued while the last commit ran
//!                                └─ quiet? ── checkpoint into the database
//! events ──> readers: connections of their own, never in the writer's way
//! ```
//!
//! A register that can't be written is no reason to let go of anything: each write says so to whoever asked
//! for it, and the next one is tried again. A register that is damaged, newer or another's is not opened,
//! and not touched either.
//!
//! Its file is the owner's alone (0600). It has the tokens of launches in it, because a daemon that comes
//! back must know whom to believe; events and logs never have them.

mod batch;
mod database;
mod entry;
mod error;
mod handle;
mod network;
mod open;
mod queue;
mod reader;
mod rows;
mod schema;
mod wal;
mod writer;

pub use entry::{
    CommitReport, Durability, EventPage, EventQuery, NewEvent, PlanRecord, Retained, Retention,
    Stored, Times,
};
pub use error::{OpenRegisterError, ReadError, WriteError};
pub use handle::{Answer, Opened, Register};
pub use network::refuse_network;

/// SQLite's own choice, spelt out because the room in the log is counted in it.
const PAGE_BYTES: u64 = 4096;
