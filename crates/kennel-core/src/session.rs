//! A session: what is wanted of it, apart from what was seen of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{LaunchToken, SessionId};
use crate::spec::SessionSpec;

/// One session, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which one.
    pub id: SessionId,
    /// What was asked for.
    pub spec: SessionSpec,
    /// What is wanted of it now.
    pub wanted: Wanted,
    /// What was seen of it last.
    pub phase: Phase,
    /// Its launch.
    pub launch: Launch,
    /// Why it ended, or is about to.
    pub reason: Option<Reason>,
    /// How the agent ended.
    pub exit: Option<Exit>,
    /// What is left to be removed.
    pub owed: Vec<Owed>,
    /// Those who could not be ended so far.
    pub survivors: Vec<Survivor>,
}

/// What is wanted. It never goes back from `Stopped` to `Running`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "wanted")]
pub enum Wanted {
    /// It shall run.
    Running,
    /// It shall end; KILL follows TERM after this long.
    Stopped {
        /// The shortest grace that anybody asked for.
        grace: Duration,
    },
}

/// What was seen. See the drawing in [`crate::Session::step`]'s module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// On record, or about to be; no process of the agent's exists.
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

/// One attempt at a session's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Its secret.
    pub token: LaunchToken,
    /// Whether a durable row says that this launch may come to be.
    pub recorded: bool,
    /// Whether its keeper has greeted.
    pub keeper_ready: bool,
    /// Whether the gate was told to open: from here on it may have run.
    pub granted: bool,
    /// The identity of the agent's process, as text.
    pub identity: Option<String>,
    /// Its pid, for people to read.
    pub pid: Option<i32>,
    /// The folder of its cgroup.
    pub pen: Option<String>,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct Owed {
    /// What.
    pub what: OwedKind,
    /// How often its removal has failed.
    pub failures: u32,
    /// The last failure.
    pub why: Option<String>,
}

/// What can be owed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum OwedKind {
    /// The keeper's socket, lock and identity file in the session's folder.
    RuntimeFiles,
    /// The folder of the pen, if its keeper could not remove it.
    PenFolder {
        /// Its path.
        path: String,
    },
}

/// A process that could not be ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Its pid, for people to read.
    pub pid: i32,
    /// Its program.
    pub name: String,
    /// Why it is still there.
    pub why: String,
}

/// Why nothing can be observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBecause(pub String);
