//! The requests and views of the daemon's HTTP API, shared by the daemon and its clients.

mod access;
mod answer;
mod ask;
mod environment;
mod list;
mod member;
#[cfg(feature = "schema")]
mod schema;
mod start;
mod text;
mod watch;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use access::{
    AccessMethod, CreateTokenRequest, LinkRequest, LinkView, ListenRequest, ListenState,
    ListenView, MeView, RevokeResponse, Scope, SecretView, TokenKind, TokenView,
};
pub use answer::AnswerView;
pub use ask::{AskError, AskRequest};
pub use environment::Environment;
pub use list::{ListOrder, ListRequest, PageLimitError, SessionPage};
pub use member::CreateMemberRequest;
pub use start::{
    CreateRequest, DenyUnknownFields, ResumeRequest, StdinFrom, TerminalSettings, Until,
};
pub use text::OsText;
pub use watch::{CheckView, ReadyView, SessionUsage, UsageHistory, UsageRequest, UsageSample};

use crate::agent::AgentSettings;
use crate::id::LaunchToken;
use crate::plan::PlanSpec;
use crate::report::{AgentReport, Title};
use crate::session::Survivor;
use crate::spec::PenKind;
use crate::verdict::{TokenUsage, VerdictKind};
use crate::view::{EventView, LaunchView, SessionView, WorktreeView};

/// A member as programs see it. Field names are stable: fields are added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemberView {
    /// The member's name.
    pub name: String,
    /// The agent program that the member runs, and its settings.
    pub settings: AgentSettings,
    /// The directory that the member works in.
    pub cwd: String,
    /// The member's latest conversation.
    pub conversation: Option<String>,
    /// The tokens and cost of all its prompts so far.
    pub usage: TokenUsage,
    /// The number of judged attempts at prompts.
    pub attempts: u64,
    /// The verdict of the latest attempt.
    pub last_verdict: Option<VerdictKind>,
    /// The session of the latest attempt.
    pub last_session: Option<String>,
    /// When the latest attempt was judged, in RFC 3339.
    pub last_at: Option<String>,
    /// The session of the prompt that the member works on now.
    pub busy_with: Option<String>,
    /// When that prompt started, in RFC 3339.
    pub busy_since: Option<String>,
    /// The number of prompts that are queued for this member.
    pub waiting: u64,
    /// When the member was added, in RFC 3339.
    pub created_at: String,
}

/// A request to run a plan, with the environment of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// The plan, with all its prompts.
    #[serde(deserialize_with = "PlanSpec::from_request")]
    pub spec: PlanSpec,
    /// A value for each input of the plan.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// The environment of the agents, as in [`CreateRequest`].
    #[serde(default = "Environment::minimal")]
    pub env: Environment,
    /// The directory for agents without one of their own, as exact bytes.
    pub cwd: OsText,
    /// The umask of the agents.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// The resource limits of the agents: resource, soft limit, hard limit.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// The kind of pen for its sessions.
    #[serde(default)]
    pub pen: PenKind,
    /// Whether the daemon cancels the plan when the client disconnects.
    #[serde(default)]
    pub cancel_on_disconnect: bool,
    /// The name of the caller, for the event log.
    #[serde(default)]
    pub by: String,
}

/// A request to resume a plan: agents without an answer are asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanResumeRequest {
    /// Whether to repeat agents that may have run already.
    #[serde(default)]
    pub replay: bool,
    /// The environment of the agents, as in [`PlanRequest`].
    #[serde(default = "Environment::minimal")]
    pub env: Environment,
    /// The umask of the agents.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// The resource limits of the agents: resource, soft limit, hard limit.
    #[serde(default)]
    pub limits: Vec<(u32, u64, u64)>,
    /// Whether the daemon cancels the plan when the client disconnects.
    #[serde(default)]
    pub cancel_on_disconnect: bool,
    /// The name of the caller, for the event log.
    #[serde(default)]
    pub by: String,
}

/// A request to adopt a process that a user started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// The pid of the process.
    pub pid: i32,
    /// The exact identity of the process, as `boot namespace pid inode|tick number`, for clients
    /// that know it. Without it, the daemon takes the process that has the pid now.
    #[serde(default)]
    pub identity: Option<String>,
    /// A name for the session.
    #[serde(default)]
    pub name: Option<String>,
    /// A title for the session.
    #[serde(default)]
    pub title: Option<Title>,
    /// The name of the caller, for the event log.
    #[serde(default)]
    pub by: String,
}

/// The new session of an adopted process, and the credentials for its reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdoptResponse {
    /// The session that follows the process.
    pub session: SessionView,
    /// The secret that the process sends with its reports.
    pub token: LaunchToken,
    /// A file with the same secret, readable by its owner only.
    pub token_file: String,
    /// The path of the daemon's Unix socket.
    pub socket: String,
}

/// A report that an agent sends about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportRequest {
    /// The report.
    #[serde(flatten)]
    pub report: AgentReport,
    /// The session or launch that the report is about: `$KENNEL_SESSION`.
    #[serde(default)]
    pub session: String,
    /// The secret of the launch.
    pub token: Option<LaunchToken>,
}

/// A request to stop a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StopRequest {
    /// The time between TERM and KILL. The default is the session's own grace.
    pub grace_ms: Option<u64>,
    /// Whether to send KILL immediately.
    #[serde(default)]
    pub now: bool,
    /// The name of the caller, for the event log.
    #[serde(default)]
    pub by: String,
    /// How long to wait for the end. The default is to wait as long as it takes. After this time
    /// the response is `still_alive`, and the stop continues.
    pub wait_ms: Option<u64>,
}

/// The result of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopResult {
    /// Kennel saw the session end.
    Stopped,
    /// The session had ended before the request.
    AlreadyGone,
    /// Processes are still alive. Kennel keeps trying.
    StillAlive,
}

/// The response to a stop request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopResponse {
    /// The result.
    pub result: StopResult,
    /// The processes that are still alive.
    pub survivors: Vec<Survivor>,
    /// The session after the stop.
    pub session: SessionView,
    /// How long the stop took.
    pub took_ms: u64,
}

/// One line of the response to a shutdown of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ShutdownLine {
    /// The result for one session.
    Session(Box<StopResponse>),
    /// The last line: the daemon has stopped every session.
    Done {
        /// Always true.
        done: bool,
    },
}

/// A request to shut the daemon down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShutdownRequest {
    /// Whether to leave the sessions running.
    #[serde(default)]
    pub keep: bool,
    /// The time between TERM and KILL, as in [`StopRequest`].
    pub grace_ms: Option<u64>,
}

/// A request to restart the daemon in place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplaceRequest {
    /// The program to start. The default is the same program.
    pub program: Option<String>,
}

/// A request to send a signal to every process in a session's pen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// The number of the signal.
    pub signal: i32,
}

/// Input for a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct InputRequest {
    /// The bytes, in hex.
    pub hex: String,
    /// Whether to close the input after these bytes.
    pub eof: bool,
}

/// The name of the caller, for the event log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ByRequest {
    /// The name of the caller.
    pub by: String,
}

/// Selects the ended sessions to remove. In a `GET` request, the daemon only lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PruneRequest {
    /// Remove only sessions that ended longer ago than this.
    pub older_than_ms: Option<u64>,
}

/// The result of a prune.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PruneResponse {
    /// The ids of the removed sessions.
    pub removed: Vec<String>,
    /// Sessions that were not removed because their worktree is kept.
    #[serde(default)]
    pub with_worktrees: Vec<String>,
    /// Sessions that were not removed because their idempotency key is still valid.
    #[serde(default)]
    pub with_keys: Vec<String>,
}

/// The state of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonView {
    /// The pid of the daemon.
    pub pid: i32,
    /// The pid of the yard.
    pub yard_pid: Option<i32>,
    /// The version of the program.
    pub version: String,
    /// The path of the home.
    pub home: String,
    /// The id of the home.
    pub home_id: String,
    /// When the daemon started, in RFC 3339.
    pub started_at: String,
    /// The number of sessions that are not cleaned.
    pub live: u64,
    /// The number of all recorded sessions.
    pub total: u64,
    /// The effective settings.
    #[serde(default)]
    pub settings: Option<SettingsView>,
    /// The TCP listener, if it is enabled.
    #[serde(default)]
    pub listen: Option<ListenView>,
    /// Variables of the daemon's own environment that are useful in the `env` of requests (`PATH`,
    /// `HOME`, `LANG`, …). They contain no secrets.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The daemon's effective settings, from kennel.toml and the daemon's environment. The names are
/// those of the configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SettingsView {
    /// The maximum number of live sessions. Null means no limit.
    pub max_live: Option<u32>,
    /// The maximum number of sessions that are launched at the same time. Null means no limit.
    pub max_launching: Option<u32>,
    /// The maximum number of live sessions for each name pattern.
    pub max_live_by_name: BTreeMap<String, u32>,
    /// How long an idempotency key stays valid after its session ended.
    pub key_retention_ms: u64,
    /// The number of ended sessions to keep on record.
    pub ended_kept: u64,
    /// The free disk space that a launch requires, in bytes.
    pub min_free_disk: u64,
    /// The free memory that a launch requires, in bytes.
    pub min_free_memory: u64,
    /// The directory for worktrees.
    pub worktrees: String,
}

/// A process of a session, in `inspect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessView {
    /// The pid.
    pub pid: i32,
    /// The pid of its parent.
    pub parent: i32,
    /// The short name of its program.
    pub name: String,
    /// The kernel's state letter.
    pub state: String,
    /// The command line.
    pub command: String,
}

/// The resources that a pen uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageView {
    /// The CPU time of all its processes so far.
    pub cpu_ms: u64,
    /// The memory in use now.
    pub memory_bytes: u64,
    /// The number of processes now.
    pub processes: u32,
}

/// All details of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InspectView {
    /// The session.
    pub session: SessionView,
    /// The processes in its pen.
    pub members: Vec<ProcessView>,
    /// The resources that it uses, while it is live.
    pub usage: Option<UsageView>,
    /// The events of the session.
    pub timeline: Vec<EventView>,
    /// Its launch.
    pub launch: LaunchView,
    /// All launches of the session, oldest first.
    #[serde(default)]
    pub launches: Vec<SessionView>,
    /// The pid of the keeper, while it is alive.
    pub keeper_pid: Option<i32>,
    /// Details that could not be determined, and why.
    pub trouble: Vec<String>,
}

/// A process that carries this home's mark and belongs to no live session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StrayView {
    /// The pid.
    pub pid: i32,
    /// The short name of its program.
    pub name: String,
    /// The command line.
    pub command: String,
    /// The session whose mark it carries.
    pub session: String,
    /// How Kennel recognized it: `pen` or `cookie`.
    pub mark: String,
}

/// The strays of this home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StraysView {
    /// Processes that belong to no live session.
    pub strays: Vec<StrayView>,
    /// Processes of a live session that are outside its pen, because another daemon started them.
    /// Kennel does not own them.
    pub outside: Vec<StrayView>,
}

/// A request to end strays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EndStraysRequest {
    /// End only these strays. Processes that became strays later are left alone. Null ends all
    /// strays.
    pub only: Option<Vec<StrayRef>>,
}

/// A reference to a stray. The pid alone is not enough, because another process may have it by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StrayRef {
    /// The pid.
    pub pid: i32,
    /// The session whose mark the process carries.
    pub session: String,
}

/// The result of ending strays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StraysEnded {
    /// The strays that ended.
    pub ended: Vec<StrayView>,
    /// The strays that are still alive.
    pub still_alive: Vec<StrayView>,
}

/// The worktrees of sessions: in use, or kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreesView {
    /// The worktrees.
    pub worktrees: Vec<WorktreeView>,
}

/// The work that would be lost, or was lost, with a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossesView {
    /// One sentence for each kind of loss, with a count. Empty means that no loss is known.
    pub why: Vec<String>,
    /// The number of uncommitted changes. A file with staged and unstaged changes counts twice.
    pub changes: u64,
    /// The first few of the changed files.
    pub changed: Vec<String>,
    /// The number of commits that are on no other branch.
    pub commits: u64,
    /// The newest of these commits.
    pub newest: Vec<CommitView>,
    /// Why the contents of the worktree are unknown, if they are. It may then contain anything.
    pub unknown: Option<String>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommitView {
    /// The commit id.
    pub id: String,
    /// The first line of the commit message.
    pub subject: String,
}

/// A worktree, and the work that would be or was lost with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorktreeLosses {
    /// The worktree.
    pub worktree: WorktreeView,
    /// The losses.
    pub losses: LossesView,
}

/// An error response: problem details as in RFC 9457.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProblemDetails {
    /// The type of the problem: `urn:kennel:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short description of the type, the same for all problems of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong in this request, as text for users.
    pub detail: String,
    /// The type for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`,
    /// `gone`, `internal`, … Stable.
    pub code: String,
    /// What to do about it, if there is a suggestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_an_invalid_report() {
        let read = |json: &str| serde_json::from_str::<ReportRequest>(json);
        let request = read(r#"{"report":"title","title":"tests","token":"0a"}"#).unwrap();
        assert!(
            matches!(&request.report, AgentReport::Title { title } if title.as_ref() == "tests")
        );
        assert!(!format!("{request:?}").contains("0a"), "{request:?}");
        assert!(read(r#"{"report":"ready","token":null}"#).is_ok());
        for (wrong, what) in [
            (r#"{"report":"title","title":"a\u001b[2J","token":null}"#, "control characters"),
            (r#"{"report":"title","title":"","token":null}"#, "1 to 200 characters"),
            (r#"{"report":"progress","percent":101,"token":null}"#, "invalid progress 101"),
            (r#"{"report":"gone","token":null}"#, "unknown variant"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(what), "{wrong}: {error}");
        }
    }
}
