//! What is known of a session: its phase, how and why it ended, what is left of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::millis;

/// Who started a session's process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// Kennel: it has a keeper and a pen.
    #[default]
    Kennel,
    /// A user, in their own terminal: it is followed, and nothing but a stop that names it ends it. There is neither
    /// keeper nor pen, and what it starts is not held.
    #[serde(rename = "terminal")]
    User,
}

/// What was seen. The drawing is in the module of `Session::step`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// On record, and in line: others must end first. No keeper exists, nor was any asked for.
    Queued,
    /// On record; what it needs is being made. No keeper exists, nor was any asked for.
    Making,
    /// On record, or about to be; no process of the agent's exists. If a user started it: it is not followed yet.
    Reserved,
    /// The keeper makes pen and process; the gate is shut.
    Launching,
    /// Granted: the process becomes the program now.
    Starting,
    /// The program runs.
    Running,
    /// The end is under way.
    Stopping,
    /// Uncertain, and still owned: looked for until it is seen to be gone.
    Lost,
    /// The pen was seen empty.
    Reaped,
    /// And nothing is owed.
    Cleaned,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Reason {
    /// The agent ended by itself.
    Exited,
    /// Somebody asked for it.
    Stopped {
        /// Who.
        by: String,
    },
    /// The client that it was tied to went away.
    ClientGone,
    /// The session that started it ended.
    ParentEnded,
    /// The daemon was told to end everything.
    Shutdown,
    /// It could not be started.
    Failed {
        /// What failed, in the program's exit codes: 202 setup, 203 pen, 204 exec, 207 internal.
        code: u8,
        /// Why.
        why: String,
    },
    /// No daemon came back within the lease.
    LeaseOver,
    /// It was not ready in time.
    NotReady {
        /// The time it had.
        #[serde(rename = "after_ms", alias = "after", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        after: Duration,
        /// What was seen last in place of the sign.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        saw: Option<String>,
    },
    /// It took longer than it may.
    TimedOut {
        /// The limit.
        #[serde(rename = "limit_ms", alias = "limit", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// It did nothing for too long.
    Idle {
        /// The limit.
        #[serde(rename = "limit_ms", alias = "limit", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// It printed nothing for too long.
    Silent {
        /// The limit.
        #[serde(rename = "limit_ms", alias = "limit", with = "millis")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        limit: Duration,
    },
    /// Its keeper died.
    KeeperDied,
    /// The machine was restarted meanwhile.
    Rebooted,
    /// A person gave it up: nobody saw it end.
    Forgotten {
        /// Who.
        by: String,
    },
}

/// How an agent ended: its own word, or unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Exit {
    /// It exited with this code.
    Code {
        /// The code.
        code: i32,
    },
    /// A signal ended it.
    Signal {
        /// Its number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
        /// Whether it was the OOM killer.
        oom: bool,
    },
    /// It never ran.
    NeverRan,
    /// Nobody can tell any more; it may have run.
    Unknown {
        /// Why.
        why: String,
    },
}

/// Something that must be removed once the tree is gone. Recorded before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Owed {
    /// What.
    pub what: OwedKind,
    /// How often its removal has failed.
    pub failures: u32,
    /// The last failure.
    pub why: Option<String>,
}

/// What can be owed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OwedKind {
    /// The keeper's socket, lock and identity file in the session's folder.
    RuntimeFiles,
    /// The folder of the pen, if its keeper could not remove it.
    PenFolder {
        /// Its path.
        path: String,
    },
    /// A worktree of a git repository, and its branch.
    Worktree {
        /// The repository.
        repo: String,
        /// Where the worktree is.
        path: String,
        /// Its branch.
        branch: String,
        /// What is needed to make and remove it, in the words of those who do.
        #[serde(default)]
        record: Option<String>,
    },
}

/// Something that was made for a session, and outlives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kept {
    /// What.
    pub what: OwedKind,
    /// What of value is in it.
    pub why: String,
}

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Survivor {
    /// Its pid, for people to read.
    pub pid: i32,
    /// Its program.
    pub name: String,
    /// Why it is still there.
    pub why: String,
}
