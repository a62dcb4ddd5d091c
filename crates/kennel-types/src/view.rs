//! What programs are shown. Field names are stable: added to, never changed.

use serde::{Deserialize, Serialize};

use crate::ready::ReadyState;
use crate::report::{Activity, Percent, Title};
use crate::restart::RelaunchState;
use crate::session::{Exit, Kept, Owed, Phase, Reason, StartedBy, Survivor};
use crate::spec::SessionSpec;
use crate::verdict::Judged;

/// A session, as `--json` and the API show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionView {
    /// The id.
    pub id: String,
    /// The name, if it has one.
    pub name: Option<String>,
    /// What was seen of it last.
    pub phase: Phase,
    /// `running` or `stopped`.
    pub wanted: String,
    /// The agent's pid, once it exists.
    pub pid: Option<i32>,
    /// The folder of its cgroup; `subtree` or `pidns` if it has none; nothing before there is a pen.
    pub pen: Option<String>,
    /// How the agent ended, once it has.
    pub exit: Option<Exit>,
    /// The code that a shell would show.
    pub exit_code: Option<i32>,
    /// Why it ended.
    pub reason: Option<Reason>,
    /// When it was asked for: seconds since 1970 with milliseconds, in RFC 3339.
    pub created_at: String,
    /// When the program began to run.
    pub started_at: Option<String>,
    /// When it was seen to be gone.
    pub ended_at: Option<String>,
    /// What was asked for.
    pub spec: SessionSpec,
    /// What is left to be removed.
    pub owed: Vec<Owed>,
    /// Those who could not be ended.
    pub survivors: Vec<Survivor>,
    /// The session's folder.
    pub folder: String,
    /// Whether the outcome could not be put on record.
    pub unrecorded: bool,
    /// The session's id, which all its launches share; `id` is this launch's.
    #[serde(default)]
    pub session: String,
    /// Which launch of the session this is: 1 for the first.
    #[serde(default)]
    pub attempt: u32,
    /// How many launches of the session there have been.
    #[serde(default)]
    pub launches: u32,
    /// Whether another launch follows.
    #[serde(default)]
    pub relaunch: RelaunchState,
    /// Whether it is up.
    #[serde(default)]
    pub ready: ReadyState,
    /// Whether its agent works, by its own word.
    #[serde(default)]
    pub activity: Option<Activity>,
    /// What it is about, by its own word.
    #[serde(default)]
    pub title: Option<Title>,
    /// How far it is, of 100, by its own word.
    #[serde(default)]
    pub progress: Option<Percent>,
    /// Where it stands in line, if it does: 1 is next.
    #[serde(default)]
    pub queue_place: Option<u64>,
    /// The key under which it was asked for.
    #[serde(default)]
    pub key: Option<String>,
    /// What was made for it and is kept, since it has something of value.
    #[serde(default)]
    pub kept: Vec<Kept>,
    /// Who started it.
    #[serde(default)]
    pub started_by: StartedBy,
    /// What became of its prompt, if it is one and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// What went wrong in its launch and did not keep it from running, such as a limit that is not held: as far as
    /// the daemon that runs has heard it. The event log has all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trouble: Vec<String>,
}

/// A worktree that was made for a session, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeView {
    /// The launch that it was made for, or that has it now.
    pub session: String,
    /// That session's name, if it has one.
    #[serde(default)]
    pub name: Option<String>,
    /// How it stands.
    pub state: WorktreeState,
    /// The repository.
    pub repo: String,
    /// Where it is.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// Why it is kept; nothing while it is in use or to be removed.
    pub kept_because: Option<String>,
    /// How often its removal has failed.
    #[serde(default)]
    pub failures: u32,
    /// Why, the last time.
    #[serde(default)]
    pub failed_because: Option<String>,
}

/// How a worktree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorktreeState {
    /// Its session has not ended.
    InUse,
    /// It is to be removed, and was not so far.
    Owed,
    /// It has something of value, and stays until a person removes it.
    Kept,
}

/// An entry of the event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventView {
    /// Its number: without gaps, growing.
    pub seq: u64,
    /// When: RFC 3339.
    pub time: String,
    /// Which session; none for the daemon itself.
    pub session: Option<String>,
    /// What: `reserved`, `launching`, …, `wanted_stopped`, `daemon_started`, …
    pub kind: String,
    /// Why, or by what.
    pub cause: String,
    /// Who asked.
    pub by: Option<String>,
}

/// A launch, in `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchView {
    /// Whether its gate was told to open.
    pub granted: bool,
    /// The identity of its process.
    pub identity: Option<String>,
}
