//! A session: its desired state, and separately what was observed of it.

use std::time::Duration;

use kennel_types::{
    Exit, Judged, KeptItem, LaunchToken, Owed, OwedKind, Phase, ReadyState, Reason, RelaunchState,
    SessionId, SessionSpec, StartedBy, Survivor, is_unset,
};
use serde::{Deserialize, Serialize};

use crate::report::Reported;
use crate::restart::Restarts;

/// One launch of a session, with everything that decisions need. A session that is launched again
/// has several of these; see [`crate::World::relaunch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    pub spec: SessionSpec,
    pub wanted: DesiredState,
    pub phase: Phase,
    pub launch: Launch,
    /// Why it ended, or is about to.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub exit: Option<Exit>,
    /// The resources that are left to remove.
    pub owed: Vec<Owed>,
    /// The processes that could not be ended so far.
    pub survivors: Vec<Survivor>,
    /// Why the session could not be observed, if that ever happened.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub lost: Option<LostBecause>,
    /// The resources that are kept because they contain work.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub kept: Vec<KeptItem>,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ready: ReadyState,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub reported: Reported,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub restarts: Restarts,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub relaunch: RelaunchState,
    /// The order in the queue, while it is [`Phase::Queued`]: the lowest is next.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ticket: u64,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub started_by: StartedBy,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub judged: Option<Judged>,
    /// The daemon's operations in progress. They end with the daemon, so they are not recorded.
    #[serde(skip)]
    pub underway: Underway,
}

/// The desired state. It never goes back from `Stopped` to `Running`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "wanted")]
pub enum DesiredState {
    Running,
    Stopped {
        /// The time between TERM and KILL: the shortest that any caller requested.
        grace: Duration,
    },
}

/// One attempt at a session's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub token: LaunchToken,
    /// Whether a durable row allows this launch.
    pub recorded: bool,
    pub keeper_ready: bool,
    /// Whether the keeper was ordered to open the gate: from then on the program may have run. Also
    /// set for a launch of an earlier daemon, unless a stop is on its record: that daemon may have
    /// granted it and died before it recorded the grant.
    pub granted: bool,
    pub identity: Option<String>,
    pub pid: Option<i32>,
    pub pen: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostBecause(pub String);

/// A daemon's operations in progress for a session: at most one of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Underway {
    pub writing: Writing,
    /// The probe of a launch whose keeper is not connected.
    pub probe: ProbeState,
    pub failed_probes: u8,
    pub cleaning: Vec<OwedKind>,
    pub retry_armed: bool,
    pub released: bool,
    pub making: bool,
    /// Whether it is certain that no keeper was requested. If in doubt, one may exist.
    pub unlaunched: bool,
    pub awaiting: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Writing {
    /// Nothing is being written or left to write.
    #[default]
    Settled,
    UnderWay {
        phase: Phase,
        /// Whether more has happened since, so that another row must follow.
        outdated: bool,
    },
    /// The last write failed and is retried.
    Failed,
}

/// The state of a probe. While one is needed, the keeper gets no commands: it is dead, or not found
/// yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ProbeState {
    /// No probe: a keeper is connected, or about to be.
    #[default]
    Unneeded,
    Probing,
    /// A probe is in progress, and the keeper was lost meanwhile: unless it finds the end, its
    /// result is stale.
    ProbingStale,
    /// A probe failed or found nothing, and is due again.
    ProbeDue,
    EndingPen,
    /// The pen could not be ended so far, and another attempt is due.
    EndPenDue,
}
