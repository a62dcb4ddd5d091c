//! What a client asks for: everything about a session that may be written down.
//!
//! The environment is not here: it has secrets in it, and goes from the client to the agent by memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// A command, and how to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// A name for people.
    pub name: Option<String>,
    /// The command and its arguments; bytes that are no UTF-8 are replaced here, for people to read.
    pub argv: Vec<String>,
    /// The folder it starts in.
    pub cwd: String,
    /// Set if it gets a terminal of its own.
    pub terminal: Option<Terminal>,
    /// Whether its standard input can be written to (always so with a terminal).
    pub stdin: bool,
    /// Which pen.
    pub pen: PenKind,
    /// How long a stop waits between TERM and KILL.
    pub grace: Duration,
    /// How long what it leaves behind may go on after its exit.
    pub linger: Duration,
    /// How long it goes on without a daemon; none: for ever.
    pub lease: Option<Duration>,
    /// Whether it ends when the client that started it goes without a word.
    pub tethered: bool,
    /// The session that started this one.
    pub parent: Option<SessionId>,
    /// Whether it goes on when its parent has ended.
    pub outlives_parent: bool,
    /// The most bytes of output kept on disk.
    pub output_limit: u64,
    /// Who asked: a user, a program; for the event log.
    pub asked_by: String,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

/// Which pen is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PenKind {
    /// A cgroup where there is one, else only the subtree.
    #[default]
    Auto,
    /// A cgroup, or an error.
    Cgroup,
    /// Only the subtree below the keeper.
    Subtree,
    /// A pid namespace.
    Pidns,
}
