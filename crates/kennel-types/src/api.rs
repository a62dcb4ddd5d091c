//! The shapes of the daemon's HTTP API, shared by daemon and clients.

mod access;
mod answer;
mod ask;
mod environment;
mod list;
mod member;
mod problem;
#[cfg(feature = "schema")]
mod schema;
mod start;
mod text;
mod watch;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use access::{
    LinkRequest, LinkView, ListenRequest, ListenState, ListenView, MeView, NewToken, RevokeAnswer,
    Scope, SecretView, TokenKind, TokenView, WayIn,
};
pub use answer::AnswerView;
pub use ask::{AskError, AskRequest};
pub use environment::Environment;
pub use list::{LimitError, ListRequest, Order, SessionPage};
pub use member::NewMember;
pub use problem::Problem;
pub use start::{CreateRequest, NothingElse, ResumeRequest, StdinFrom, TerminalSettings};
pub use text::Text;
pub use watch::{CheckView, ReadyView, SessionUsage, UsageHistory, UsageRequest, UsageSample};

use crate::agent::Seat;
use crate::id::LaunchToken;
use crate::plan::PlanSpec;
use crate::report::{Report, Title};
use crate::session::Survivor;
use crate::spec::PenKind;
use crate::verdict::{Usage, VerdictKind};
use crate::view::{EventView, LaunchView, SessionView, WorktreeView};

/// A member, as programs are shown it. Field names are stable: added to, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberAnswer {
    /// Its name.
    pub name: String,
    /// Who sits there.
    pub seat: Seat,
    /// The folder that it works in.
    pub cwd: String,
    /// The conversation that it had last.
    pub conversation: Option<String>,
    /// What it has used up so far.
    pub usage: Usage,
    /// How many attempts at prompts were judged.
    pub attempts: u64,
    /// What became of the last one.
    pub last_verdict: Option<VerdictKind>,
    /// Which session that was.
    pub last_session: Option<String>,
    /// When: RFC 3339.
    pub last_at: Option<String>,
    /// The session of the prompt that it works on.
    pub busy_with: Option<String>,
    /// Since when.
    pub busy_since: Option<String>,
    /// How many prompts wait for it in line.
    pub waiting: u64,
    /// When it was added.
    pub created_at: String,
}

/// A run of a plan, with the surroundings of whoever wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The plan, with all its prompts.
    #[serde(deserialize_with = "PlanSpec::asked")]
    pub spec: PlanSpec,
    /// A value for each of its inputs.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// As in [`CreateRequest`].
    #[serde(default = "Environment::of_nobody")]
    pub env: Environment,
    /// The folder in which agents work that name none, exactly.
    pub cwd: Text,
    /// The client's umask.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// The client's limits: resource, soft, hard.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// Which pen its sessions get.
    #[serde(default)]
    pub pen: PenKind,
    /// Whether it is cancelled if whoever wants it goes without a word: they wait for it, tied.
    #[serde(default)]
    pub tied: bool,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
}

/// The same plan once more, for what is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanResumeRequest {
    /// That goes for what may have run, too.
    #[serde(default)]
    pub replay: bool,
    /// As in [`PlanRequest`].
    #[serde(default = "Environment::of_nobody")]
    pub env: Environment,
    /// The client's umask.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// The client's limits: resource, soft, hard.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// As in [`PlanRequest`].
    #[serde(default)]
    pub tied: bool,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
}

/// A process that a user started, to be followed as a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// Its pid.
    pub pid: i32,
    /// Which process exactly, for those who have seen to it that the pid is nobody else's: as
    /// `boot namespace pid inode|tick number`. Without it whoever has the pid now is meant.
    #[serde(default)]
    pub identity: Option<String>,
    /// A name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// What it is about.
    #[serde(default)]
    pub title: Option<Title>,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
}

/// What it can report with, as an agent that Kennel has started can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdoptAnswer {
    /// The session that follows it.
    pub session: SessionView,
    /// The secret for its reports.
    pub token: LaunchToken,
    /// A file with the same, which only its owner can read.
    pub token_file: String,
    /// The daemon's socket.
    pub socket: String,
}

/// What an agent tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportRequest {
    /// What.
    #[serde(flatten)]
    pub report: Report,
    /// The session that it is about, or the launch: `$KENNEL_SESSION`.
    #[serde(default)]
    pub session: String,
    /// The secret of its launch.
    pub token: Option<LaunchToken>,
}

/// A wish for the end of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// Between TERM and KILL; the session's own grace if not given.
    pub grace_ms: Option<u64>,
    /// KILL at once.
    #[serde(default)]
    pub now: bool,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
    /// How long to wait for the end; without it, as long as it may take. Then the answer is that somebody is left, and it goes
    /// on all the same.
    pub wait_ms: Option<u64>,
}

/// What came of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopResult {
    /// It was seen to end.
    Stopped,
    /// It had ended before.
    AlreadyGone,
    /// Somebody is left; Kennel goes on trying.
    StillAlive,
}

/// The answer to a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopAnswer {
    /// What came of it.
    pub result: StopResult,
    /// Who is left.
    pub survivors: Vec<Survivor>,
    /// The session now.
    pub session: SessionView,
    /// How long it took.
    pub took_ms: u64,
}

/// One line of the answer to a stop of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ShutdownLine {
    /// This became of a session.
    Session(Box<StopAnswer>),
    /// That was all.
    Done {
        /// Always true.
        done: bool,
    },
}

/// How the daemon shall go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShutdownRequest {
    /// Leave the sessions running.
    #[serde(default)]
    pub keep: bool,
    /// As for a stop.
    pub grace_ms: Option<u64>,
}

/// A planned restart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplaceRequest {
    /// The program to start; the same one if not given.
    pub program: Option<String>,
}

/// A signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// Its number.
    pub signal: i32,
}

/// Input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InputRequest {
    /// The bytes, in hex.
    #[serde(default)]
    pub hex: String,
    /// Whether that is the end of it.
    #[serde(default)]
    pub eof: bool,
}

/// Who does it, for the event log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ByRequest {
    /// Who.
    #[serde(default)]
    pub by: String,
}

/// What to prune; the query of a `GET`, which only says what would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Only what ended longer ago than this.
    pub older_than_ms: Option<u64>,
}

/// What was pruned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PruneAnswer {
    /// The ids.
    pub removed: Vec<String>,
    /// Those that stay on record since their worktree is kept.
    #[serde(default)]
    pub with_worktrees: Vec<String>,
    /// Those that stay on record since their key is still held: asked for again, they are the answer.
    #[serde(default)]
    pub with_keys: Vec<String>,
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonView {
    /// Its pid.
    pub pid: i32,
    /// The yard's.
    pub yard_pid: Option<i32>,
    /// The program's version.
    pub version: String,
    /// The home.
    pub home: String,
    /// Its id.
    pub home_id: String,
    /// When it started.
    pub started_at: String,
    /// Sessions that are not cleaned.
    pub live: u64,
    /// All that are on record.
    pub total: u64,
    /// What it was started with; none from an older version.
    #[serde(default)]
    pub settings: Option<SettingsView>,
    /// The API over TCP, if it was asked for.
    #[serde(default)]
    pub listen: Option<ListenView>,
    /// Where things are, for the `env` of requests: what it has of the environment of whoever started it (`PATH`, `HOME`,
    /// `LANG`, …). Nothing secret.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The settings of a daemon, as they are in force: from kennel.toml and the environment of whoever started it. The names
/// are those of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SettingsView {
    /// How many sessions may live at once; none: any number.
    pub max_live: Option<u32>,
    /// How many may be launched at once; none: any number.
    pub max_launching: Option<u32>,
    /// How many with such names may live at once.
    pub max_live_by_name: BTreeMap<String, u32>,
    /// How long the key of one that has ended stands for it.
    pub key_retention_ms: u64,
    /// How many that have ended stay on record.
    pub ended_kept: u64,
    /// So many bytes must be free on the disk.
    pub min_free_disk: u64,
    /// So many bytes of memory must be free.
    pub min_free_memory: u64,
    /// Where worktrees go.
    pub worktrees: String,
}

/// A process of a session, in `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberView {
    /// Its pid.
    pub pid: i32,
    /// Its parent's.
    pub parent: i32,
    /// Its program's short name.
    pub name: String,
    /// The kernel's state letter.
    pub state: String,
    /// Its command line.
    pub command: String,
}

/// What a pen uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageView {
    /// CPU time of all its processes.
    pub cpu_ms: u64,
    /// Memory now.
    pub memory_bytes: u64,
    /// Processes now.
    pub processes: u32,
}

/// Everything about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InspectView {
    /// The session.
    pub session: SessionView,
    /// Who is in its pen.
    pub members: Vec<MemberView>,
    /// What it uses, while it lives.
    pub usage: Option<UsageView>,
    /// What happened to it.
    pub timeline: Vec<EventView>,
    /// Its launch.
    pub launch: LaunchView,
    /// All launches of the session, the first one first.
    #[serde(default)]
    pub launches: Vec<SessionView>,
    /// The keeper's pid, while there is one.
    pub keeper_pid: Option<i32>,
    /// What could not be found out, and why.
    pub trouble: Vec<String>,
}

/// A process that bears this home's mark and belongs to no live session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrayView {
    /// Its pid.
    pub pid: i32,
    /// Its program's short name.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// The session whose mark it bears.
    pub session: String,
    /// By what it is known: `pen` or `cookie`.
    pub mark: String,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StraysView {
    /// Those of no live session.
    pub strays: Vec<StrayView>,
    /// Those of a live session that are not in its pen: another daemon started them. Not owned.
    pub outside: Vec<StrayView>,
}

/// Which strays shall be ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndStraysRequest {
    /// Only these, as they were shown: whoever has become one meanwhile is left alone. None: all there are.
    #[serde(default)]
    pub only: Option<Vec<StrayRef>>,
}

/// A stray: its number alone may be another's by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StrayRef {
    /// Its pid.
    pub pid: i32,
    /// The session that it is of.
    pub session: String,
}

/// What came of ending strays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StraysEnded {
    /// These are gone.
    pub ended: Vec<StrayView>,
    /// These are not.
    pub still_alive: Vec<StrayView>,
}

/// The worktrees of sessions: those in use, and those that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreesView {
    /// The worktrees.
    pub worktrees: Vec<WorktreeView>,
}

/// What would be lost with a worktree, or was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossesView {
    /// Everything, each in a sentence with its figure; empty: nothing.
    pub why: Vec<String>,
    /// How many files have changes that are not committed, at least.
    pub changes: u64,
    /// The first few of them.
    pub changed: Vec<String>,
    /// How many commits are on no other branch.
    pub commits: u64,
    /// The newest of them.
    pub newest: Vec<CommitView>,
    /// Set if it can't be told what is in it: why. Then there may be anything.
    pub unknown: Option<String>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitView {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// A worktree, and what would be lost with it or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeLosses {
    /// The worktree.
    pub worktree: WorktreeView,
    /// What.
    pub losses: LossesView,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_checked_when_it_is_read() {
        let read = |json: &str| serde_json::from_str::<ReportRequest>(json);
        let request = read(r#"{"report":"title","title":"tests","token":"0a"}"#).unwrap();
        assert!(matches!(&request.report, Report::Title { title } if title.as_ref() == "tests"));
        assert!(!format!("{request:?}").contains("0a"), "{request:?}");
        assert!(read(r#"{"report":"ready","token":null}"#).is_ok());
        for (wrong, what) in [
            (r#"{"report":"title","title":"a\u001b[2J","token":null}"#, "control characters"),
            (r#"{"report":"title","title":"","token":null}"#, "1 to 200 characters"),
            (r#"{"report":"progress","percent":101,"token":null}"#, "from 0 to 100, not 101"),
            (r#"{"report":"gone","token":null}"#, "unknown variant"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(what), "{wrong}: {error}");
        }
    }
}
