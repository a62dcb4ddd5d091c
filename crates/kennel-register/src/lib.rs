//! The register: the durable record of sessions, members, plans and their events. All SQL is here.
//!
//! ```text
//! save, log, remove ──queue──> writer ── one transaction ── WAL ── flush, if durable ── replies
//!                                │   everything that was queued during the last commit
//!                                └─ idle? ── checkpoint into the database
//! events ──> read connections, which never block the writer
//! ```
//!
//! A failed write never ends a session: the caller gets the error, and the next write tries again.
//! A register that is damaged, of another version or of another program is refused and left
//! unchanged.
//!
//! The file is private to its owner (0600). It contains the launch tokens, because the next daemon
//! needs them to authenticate reports; events and logs never contain them.
//!
//! [`Register`] and the types of `record` are the whole interface: nothing of SQLite appears in it.

mod batch;
mod database;
mod error;
mod network_fs;
mod open;
mod reader;
mod record;
mod register;
mod rows;
mod schema;
mod wal;
mod writer;

pub use error::{OpenRegisterError, ReadError, WriteError};
pub use network_fs::refuse_network;
pub use record::{
    CommitReport, Durability, EventPage, EventQuery, NewEvent, PlanRecord, Retained, Retention,
    SessionRecord, SessionTimes,
};
pub use register::{OpenedRegister, PendingWrite, Register};

/// SQLite's default page size, explicit because reserved space in the WAL is counted in pages.
const PAGE_BYTES: u64 = 4096;
