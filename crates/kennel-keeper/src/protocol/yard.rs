//! The messages between the yard and its daemon, and requests of any client to the yard.

use kennel_pen::wire::WireMessage;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum YardRequest {
    /// From the daemon: start a keeper. Sent with the order in a memfd, the launch's lock, the
    /// keeper's end of a socket to the daemon, and possibly a standard input.
    Fork {
        /// The daemon's number for the keeper.
        key: u64,
    },
    /// From the daemon: exit once the daemon has exited and no child is left.
    Leave,
    /// From the daemon: it exits now. Become this program, and start a new daemon at once.
    Replace {
        /// The path of the program; empty for the same program.
        program: String,
    },
    /// From the daemon: store the attached descriptor for the next daemon.
    Keep {
        /// The name to store it under. It replaces what was stored under that name.
        name: String,
    },
    /// From the daemon: drop a stored descriptor.
    Forget { name: String },
    /// From the daemon: return stored descriptors, in the order of their names. One answer has a
    /// limited number of them; an answer without any is the last.
    Kept {
        /// Return those whose names follow this one.
        after: String,
    },
    /// From any client: start a daemon if none runs.
    Start,
    /// From any client: return the state.
    Status,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum YardReport {
    /// A keeper was started.
    Forked {
        /// The daemon's number for the keeper.
        key: u64,
        pid: i32,
    },
    /// No keeper was started.
    NotForked { key: u64, why: String },
    /// A keeper has exited. Its orphans have ended too, unless listed.
    KeeperEnded {
        pid: i32,
        /// A description of its exit status.
        how: String,
        /// Descriptions of the processes that could not be ended.
        left: Vec<String>,
    },
    /// A stored descriptor, sent with this report.
    Kept { name: String },
    /// The end of an answer to [`YardRequest::Kept`].
    KeptAll,
    /// The state of the yard.
    Status {
        pid: i32,
        daemon: Option<i32>,
        /// The pids of keepers that are its children.
        keepers: Vec<i32>,
        version: u32,
    },
}

impl WireMessage for YardRequest {}

impl WireMessage for YardReport {}
