//! Keeper and yard: the small processes that own agents and outlive the daemon.
//!
//! ```text
//! yard ──┬── daemon
//!        ├── keeper ──── agent ──── whatever it starts
//!        └── keeper ──── agent ──── …
//! ```
//! The **yard** is the parent of the daemon and of every keeper, and a subreaper: it ends any other
//! process that is reparented to it. A **keeper** owns one launch: pen, streams, journal, outcome.
//! Both are blocking programs with one thread. A keeper is a fork of the yard without an exec, so
//! it loads no program, and shares the memory that it does not touch.

pub mod attach;
mod client;
pub mod fault;
pub mod journal;
mod keeper;
pub mod lock_note;
pub mod protocol;
pub mod yard;

pub use client::{
    KEEPER_SOCKET, KeeperClient, KeeperClientError, SocketClient, YARD_SOCKET, YardClient,
};
pub use keeper::POINTS as KEEPER_POINTS;

/// Maps a missing file to none.
fn if_exists<T>(result: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
