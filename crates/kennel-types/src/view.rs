//! Views of sessions, worktrees and events. Field names are stable: fields are added, never renamed
//! or removed.

use serde::{Deserialize, Serialize};

use crate::ready::ReadyState;
use crate::report::{AgentActivity, Percent, Title};
use crate::restart::RelaunchState;
use crate::session::{Exit, KeptItem, Owed, Phase, Reason, StartedBy, Survivor};
use crate::spec::SessionSpec;
use crate::verdict::Judged;

/// A session, as `--json` and the API show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionView {
    /// The id of this launch.
    pub id: String,
    /// The name, if it has one.
    pub name: Option<String>,
    /// The phase, as last observed.
    pub phase: Phase,
    /// The desired state: `running` or `stopped`.
    pub wanted: String,
    /// The pid of the agent, once it exists.
    pub pid: Option<i32>,
    /// The directory of its cgroup, or `subtree` or `pidns` for the other kinds. Null before the
    /// pen exists.
    pub pen: Option<String>,
    /// How the agent ended.
    pub exit: Option<Exit>,
    /// The exit code that a shell would show.
    pub exit_code: Option<i32>,
    /// Why the session ended.
    pub reason: Option<Reason>,
    /// When it was requested, in RFC 3339 with milliseconds.
    pub created_at: String,
    /// When the program started, in RFC 3339.
    pub started_at: Option<String>,
    /// When Kennel saw the session end, in RFC 3339.
    pub ended_at: Option<String>,
    /// The requested spec.
    pub spec: SessionSpec,
    /// Resources that Kennel still has to remove.
    pub owed: Vec<Owed>,
    /// Processes that could not be ended.
    pub survivors: Vec<Survivor>,
    /// The session's directory in the home.
    pub folder: String,
    /// Whether the outcome could not be stored.
    pub unrecorded: bool,
    /// The id of the session, which all its launches share.
    #[serde(default)]
    pub session: String,
    /// The number of this launch: 1 for the first.
    #[serde(default)]
    pub attempt: u32,
    /// The number of launches of the session.
    #[serde(default)]
    pub launches: u32,
    /// Whether another launch follows.
    #[serde(default)]
    pub relaunch: RelaunchState,
    /// Whether the session is ready.
    #[serde(default)]
    pub ready: ReadyState,
    /// Whether the agent is busy, as it reports.
    #[serde(default)]
    pub activity: Option<AgentActivity>,
    /// The title that the agent reports.
    #[serde(default)]
    pub title: Option<Title>,
    /// The progress that the agent reports, in percent.
    #[serde(default)]
    pub progress: Option<Percent>,
    /// The position in the queue, if it is queued: 1 is next.
    #[serde(default)]
    pub queue_position: Option<u64>,
    /// The idempotency key.
    #[serde(default)]
    pub key: Option<String>,
    /// Resources that are kept because they contain work.
    #[serde(default)]
    pub kept: Vec<KeptItem>,
    /// The origin of the process.
    #[serde(default)]
    pub started_by: StartedBy,
    /// The result of the prompt, once it is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// Problems of the launch that did not prevent it, such as a limit that can't be enforced, as
    /// far as the running daemon knows. The event log has all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trouble: Vec<String>,
}

/// A worktree of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeView {
    /// The launch that has the worktree.
    pub session: String,
    /// The name of the session, if it has one.
    #[serde(default)]
    pub name: Option<String>,
    /// The state of the worktree.
    pub state: WorktreeState,
    /// The repository.
    pub repo: String,
    /// The path of the worktree.
    pub path: String,
    /// The branch.
    pub branch: String,
    /// Why it is kept. Null while it is in use or to be removed.
    pub kept_because: Option<String>,
    /// How many times its removal failed.
    #[serde(default)]
    pub failures: u32,
    /// The error of the last attempt.
    #[serde(default)]
    pub failed_because: Option<String>,
}

/// The state of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    /// Its session has not ended.
    InUse,
    /// It is to be removed.
    Owed,
    /// It contains work, and stays until a user removes it.
    Kept,
}

/// An entry of the event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventView {
    /// The sequence number. Numbers increase without gaps.
    pub seq: u64,
    /// When it happened, in RFC 3339.
    pub time: String,
    /// The session. Null for events of the daemon itself.
    pub session: Option<String>,
    /// The kind: `reserved`, `launching`, …, `wanted_stopped`, `daemon_started`, …
    pub kind: String,
    /// The cause, as text for users.
    pub cause: String,
    /// The name of the caller, if a request caused it.
    pub by: Option<String>,
}

/// A launch, in `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchView {
    /// Whether the gate was opened.
    pub granted: bool,
    /// The identity of the agent's process.
    pub identity: Option<String>,
}
