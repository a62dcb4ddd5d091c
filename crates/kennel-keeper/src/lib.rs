//! Keeper and yard: the small processes that hold agents and outlive the daemon.
//!
//! ```text
//! yard ──┬── daemon
//!        ├── keeper ──── agent ──── whatever it starts
//!        └── keeper ──── agent ──── …
//! ```
//! The **yard** is the parent of the daemon and of every keeper, and a subreaper: what falls to it and is
//! neither is an orphan, and is ended. A **keeper** holds one launch: pen, streams, journal and outcome. Both
//! are blocking programs of one thread. A keeper is forked from the yard without an exec, so that it costs
//! neither time for loading a program nor memory of its own for what it does not touch.

pub mod attach;
mod client;
pub mod fault;
pub mod journal;
mod keeper;
pub mod protocol;
pub mod yard;

pub use client::{KEEPER_SOCKET, KeeperClient, KeeperClientError, YARD_SOCKET, YardClient};
pub use keeper::POINTS as KEEPER_POINTS;
