//! What the owner of the state is told.

use std::time::Duration;

use kennel_core::Event;
use kennel_keeper::protocol::{Report, YardReport};
use kennel_types::api::{
    DaemonView, ListRequest, ReportRequest, ResumeRequest, StopAnswer, StopRequest,
};
use kennel_types::{Judged, SessionId, SessionView};
use rustix::fd::OwnedFd;
use tokio::sync::{mpsc, oneshot};

use crate::adoptee::Adoptee;
use crate::deadline::Deadline;
use crate::effects::launch::Prepared;
use crate::effects::probe::Found;
use crate::effects::terminal::{Handle, Sighting};
use crate::listing::Listing;
use crate::order::NewLaunch;
use crate::owner::{
    LookCommand, MemberCommand, PlanCommand, PlanNews, WorktreeCommand, WorktreeNews,
};
use crate::refused::Refused;
use crate::waiters::ShutdownLines;
use kennel_register::WriteError;

/// How everybody reaches the owner.
pub(crate) type Bus = mpsc::UnboundedSender<Message>;
/// Where an answer goes. Whoever asked may be gone; that changes nothing.
pub(crate) type Answer<T> = oneshot::Sender<Result<T, Refused>>;

/// Something for the owner of the state.
#[derive(Debug)]
pub(crate) enum Message {
    /// Somebody wants something.
    Command(Command),
    /// An effect was carried out, or failed.
    Happened { session: SessionId, event: Event },
    /// What the yard is to be asked for a session's keeper, or why it can't be.
    Prepared { session: SessionId, prepared: std::io::Result<Prepared> },
    /// What a probe found.
    Probed { session: SessionId, found: Box<Found> },
    /// What a look for a process saw that a user started.
    Sighted { session: SessionId, sighting: Box<Sighting> },
    /// A keeper says something.
    Keeper { session: SessionId, link: u64, report: Report, descriptors: Vec<OwnedFd> },
    /// The connection to a keeper has ended.
    KeeperClosed { session: SessionId, link: u64 },
    /// The yard says something.
    Yard(YardReport),
    /// The connection to the yard has ended.
    YardGone,
    /// What became of a record.
    Saved { session: SessionId, durable: bool, result: Result<(), WriteError> },
    /// Records that failed are to be tried again.
    SaveAgain,
    /// Something did not come in time.
    Late { session: SessionId, deadline: Deadline },
    /// It is time for another try.
    RetryDue { session: SessionId },
    /// The pause before another launch is over.
    RestartDue { session: SessionId },
    /// Somebody has ended or started: those in line may have their turn.
    LineMoved,
    /// The same, after a pause in which nobody could have theirs.
    LineWatched,
    /// The client of a session in line has had its time to come back.
    ClientOverdue { session: SessionId },
    /// The client of a tethered session went before it had its answer.
    ClientGone { session: SessionId },
    /// Those who asked for a stop have waited long enough.
    StopOverdue { session: SessionId },
    /// These are beyond what is kept.
    Excess { sessions: Vec<SessionId> },
    /// Sessions whose folders are gone.
    FoldersRemoved { removed: Vec<SessionId>, failed: Vec<(SessionId, String)>, done: Removal },
    /// It is time to look whether too much is kept.
    TrimDue,
    /// A spare keeper may have waited long enough.
    SparesOverdue,
    /// News of a worktree.
    Worktree(Box<WorktreeNews>),
    /// What became of a prompt.
    Judged { session: SessionId, judged: Box<Judged> },
    /// Who asked has had its time to come and wait.
    TieOverdue { session: SessionId },
    /// How a prompt is to be stopped is known.
    StopSettled { session: SessionId, grace: Duration },
    /// Something is to be done for a plan.
    PlanTurn { plan: SessionId },
    /// A plan could not be put on record.
    PlanDropped { plan: SessionId },
    /// That a plan goes on could not be put on record; how it was.
    PlanNotResumed { former: Box<kennel_register::PlanRecord> },
    /// A plan is not on record as it is.
    PlanUnsaved { plan: SessionId },
    /// That is tried again.
    PlanSaveAgain { plan: SessionId },
    /// Some of the time of a plan has passed.
    PlanTimePassed { plan: SessionId },
    /// Who wants a plan has had its time to come and wait.
    PlanTieOverdue { plan: SessionId, begun_ms: u64 },
    /// Who wanted a plan went without a word.
    PlanClientGone { plan: SessionId },
    /// News of an agent that a plan asks.
    PlanNews(Box<PlanNews>),
    /// A new member could not be put on record.
    MemberNotAdded { name: String },
    /// A member is not on record as it is.
    MemberUnsaved { name: String },
    /// A leave has taken as long as it may.
    LeaveOverdue { number: u64 },
}

/// Whom to tell about removed sessions.
#[derive(Debug)]
pub(crate) enum Removal {
    /// Nobody: it was about room.
    Trim,
    /// Somebody who wanted one removed.
    One(Answer<()>),
    /// Somebody who wanted all that are over removed.
    Prune { spared: Spared, answer: Answer<Pruned> },
}

/// What was pruned.
#[derive(Debug, Default)]
pub(crate) struct Pruned {
    pub(crate) removed: Vec<SessionId>,
    pub(crate) spared: Spared,
}

/// Those that are over and stay on record all the same.
#[derive(Debug, Default)]
pub(crate) struct Spared {
    /// Their worktree is kept.
    pub(crate) with_worktrees: Vec<SessionId>,
    /// Their key is still held.
    pub(crate) with_keys: Vec<SessionId>,
}

/// Whether it is done, or only said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pruning {
    Done,
    OnlySaid,
}

/// How far a new session has come when whoever asked for it gets the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    /// It is on record, and in line or running.
    Accepted,
    /// It runs.
    #[default]
    Started,
    /// It is ready, as far as that was asked for; or over, if it does not come to that.
    Ready,
    /// It is over.
    Over,
}

/// What somebody wants.
#[derive(Debug)]
pub(crate) enum Command {
    /// A new session; answered once it has come that far, or will not.
    Create {
        launch: Box<NewLaunch>,
        until: Until,
        /// Set for a tethered session: dropped without a word if the client goes before it has its answer.
        tether: Option<oneshot::Receiver<()>>,
        answer: Answer<SessionView>,
    },
    /// A process that a user started is followed from now on; answered once it is.
    Adopt { adoptee: Box<Adoptee>, answer: Answer<SessionView> },
    /// The process of such a session.
    Handle { reference: String, answer: Answer<Handle> },
    /// The same once more, by a client whose daemon was killed over it: that made this session.
    AskAgain {
        session: SessionId,
        launch: Box<NewLaunch>,
        until: Until,
        tether: Option<oneshot::Receiver<()>>,
        answer: Answer<SessionView>,
    },
    /// Another launch of a session; answered as for a new one.
    Resume(Resume),
    /// A page of sessions.
    List { wish: ListRequest, answer: Answer<Listing> },
    /// One session.
    Show { reference: String, answer: Answer<SessionView> },
    /// One session, with what a look at its processes needs.
    Inspect { reference: String, answer: Answer<Inspected> },
    /// One session, once it is over; it ends if the tether is dropped without a word.
    Wait { reference: String, tether: Option<oneshot::Receiver<()>>, answer: Answer<SessionView> },
    /// The end of a session.
    Stop { reference: String, wish: StopRequest, answer: Answer<StopAnswer> },
    /// A lost session is given up, or one that a user started.
    Forget { reference: String, by: String, answer: Answer<SessionView> },
    /// A session that is over is removed.
    Remove { reference: String, answer: Answer<()> },
    /// All that are over are removed, or those that ended before this time.
    Prune { before_ms: Option<u64>, pruning: Pruning, answer: Answer<Pruned> },
    /// The daemon itself.
    Daemon { answer: Answer<DaemonView> },
    /// Which sessions there are, for those who look for what belongs to none.
    Census { answer: oneshot::Sender<Census> },
    /// Who the yard's keepers are, and which of them are known.
    Keepers { answer: oneshot::Sender<Keepers> },
    /// An agent tells something; `from` says who, for the event log.
    Report { request: ReportRequest, from: String, answer: Answer<()> },
    /// Something happened that belongs in the event log.
    Note { session: Option<SessionId>, kind: &'static str, cause: String },
    /// Something about worktrees.
    Worktree(WorktreeCommand),
    /// Something about plans.
    Plan(PlanCommand),
    /// Something about members.
    Member(MemberCommand),
    /// A look at how things are.
    Look(LookCommand),
    /// The daemon shall go.
    Leave(Leave),
}

/// A wish for another launch.
pub(crate) struct Resume {
    pub(crate) reference: String,
    pub(crate) request: ResumeRequest,
    /// What was left at the deposit for it.
    pub(crate) given: Option<OwnedFd>,
    pub(crate) until: Until,
    /// As for a new session.
    pub(crate) tether: Option<oneshot::Receiver<()>>,
    pub(crate) answer: Answer<SessionView>,
}

impl std::fmt::Debug for Resume {
    /// Without the environment: it has secrets in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resume").field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// How the daemon shall go.
#[derive(Debug)]
pub(crate) enum Leave {
    /// After it has ended everything.
    Stop { grace: Option<std::time::Duration>, lines: Option<ShutdownLines> },
    /// Sessions go on.
    Keep { lines: ShutdownLines },
    /// For its successor.
    Replace { program: String, answer: Answer<()> },
}

/// A session, and its keeper.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) view: SessionView,
    pub(crate) launch: kennel_types::LaunchView,
    /// All launches of the session, the first one first.
    pub(crate) launches: Vec<SessionView>,
    pub(crate) keeper_pid: Option<i32>,
    pub(crate) id: SessionId,
}

/// Which sessions there are.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Those that have not been cleaned, with what is known of their processes.
    pub(crate) live: std::collections::HashMap<String, Pack>,
    /// All ids on record.
    pub(crate) known: std::collections::HashSet<SessionId>,
    /// Processes of Kennel itself.
    pub(crate) own: std::collections::HashSet<i32>,
}

/// What is known of a live session's processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pack {
    pub(crate) keeper: Option<i32>,
    pub(crate) lost: bool,
}

/// The yard's children that are keepers.
#[derive(Debug)]
pub(crate) struct Keepers {
    /// By the yard's word.
    pub(crate) children: Vec<i32>,
    /// Those that are known, and whose they are.
    pub(crate) known: std::collections::HashMap<i32, SessionId>,
}
