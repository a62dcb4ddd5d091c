//! A session: what is wanted of it, apart from what was seen of it.

use std::time::Duration;

use kennel_types::{
    Exit, Judged, KeptItem, LaunchToken, Owed, OwedKind, Phase, ReadyState, Reason, RelaunchState,
    SessionId, SessionSpec, StartedBy, Survivor, is_unset,
};
use serde::{Deserialize, Serialize};

use crate::report::Reported;
use crate::restart::Restarts;

/// One launch of a session, as far as decisions need it. A session that is launched again has several of these;
/// see [`crate::World::relaunch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which one.
    pub id: SessionId,
    /// What was asked for.
    pub spec: SessionSpec,
    /// What is wanted of it now.
    pub wanted: DesiredState,
    /// What was seen of it last.
    pub phase: Phase,
    /// Its launch.
    pub launch: Launch,
    /// Why it ended, or is about to.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub reason: Option<Reason>,
    /// How the agent ended.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub exit: Option<Exit>,
    /// What is left to be removed.
    pub owed: Vec<Owed>,
    /// Those who could not be ended so far.
    pub survivors: Vec<Survivor>,
    /// Why nothing could be observed, if that was so once.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub lost: Option<LostBecause>,
    /// What was made for it and has something of value: it is not removed.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub kept: Vec<KeptItem>,
    /// Whether it is up.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ready: ReadyState,
    /// What its agent has told.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub reported: Reported,
    /// How often it was launched again by itself.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restarts: Restarts,
    /// Whether another launch follows this one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub relaunch: RelaunchState,
    /// Where it stands in line, while it is [`Phase::Queued`]: the lowest is next.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ticket: u64,
    /// Who started it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub started_by: StartedBy,
    /// What became of its prompt, if it is one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub judged: Option<Judged>,
    /// What this daemon has under way for it. It is on no record: it dies with the daemon.
    #[serde(skip)]
    pub underway: Underway,
}

/// What is wanted. It never goes back from `Stopped` to `Running`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "wanted")]
pub enum DesiredState {
    /// It shall run.
    Running,
    /// It shall end; KILL follows TERM after this long.
    Stopped {
        /// The shortest grace that anybody asked for.
        grace: Duration,
    },
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
    /// Whether the gate was told to open: from here on it may have run. Also set for a launch that a former
    /// daemon left, unless a stop was on its record: that daemon may have granted it and died before it wrote
    /// so.
    pub granted: bool,
    /// The identity of the agent's process, as text.
    pub identity: Option<String>,
    /// Its pid, for people to read.
    pub pid: Option<i32>,
    /// The folder of its cgroup.
    pub pen: Option<String>,
}

/// Why nothing can be observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBecause(pub String);

/// What a daemon has under way for a session: of each kind at most one at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Underway {
    /// The durable record.
    pub writing: Writing,
    /// The look at a launch whose keeper is not heard.
    pub look: ProbeState,
    /// How many probes in a row could not look.
    pub failed_probes: u8,
    /// What is being removed.
    pub cleaning: Vec<OwedKind>,
    /// Whether another try is due at some time.
    pub retry_armed: bool,
    /// Whether the keeper was let go.
    pub released: bool,
    /// Whether what it needs is being made.
    pub making: bool,
    /// Whether it is certain that no keeper was asked for. If in doubt, one may exist.
    pub unlaunched: bool,
    /// Whether somebody looks for a sign that it is up.
    pub awaiting: bool,
}

/// How a session's durable record stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Writing {
    /// Nothing is being written, nothing is owed.
    #[default]
    Settled,
    /// It is being written.
    UnderWay {
        /// The phase in what is being written.
        phase: Phase,
        /// Whether it must be written again after that, since more has happened.
        outdated: bool,
    },
    /// It could not be written, and is tried again.
    Failed,
}

/// How a look at a launch stands. While there is one, its keeper is told nothing: it is dead, or not found yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ProbeState {
    /// No look: a keeper is heard, or about to be.
    #[default]
    Unneeded,
    /// A probe is under way.
    Probing,
    /// A probe is under way, and the keeper was lost meanwhile: unless it finds the end, it is out of date.
    ProbingStale,
    /// A probe could not look, or found nothing to see; it is due again.
    ProbeDue,
    /// The pen is being ended without its keeper.
    EndingPen,
    /// The pen could not be ended so far; that is due again.
    EndPenDue,
}
