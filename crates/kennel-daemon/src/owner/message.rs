//! The messages of the owner.

use std::time::Duration;

use kennel_register::{PlanRecord, WriteError};
use kennel_types::api::{
    DaemonView, ListRequest, ReportRequest, ResumeRequest, StopRequest, StopResponse, Until,
};
use kennel_types::{Judged, SessionId, SessionView};
use rustix::fd::OwnedFd;
use tokio::sync::{mpsc, oneshot};

use crate::adopted::candidate::AdoptionCandidate;
use crate::adopted::process::{Handle, Sighting};
pub(crate) use crate::error::Answer;
use crate::event_sender::{EventSender, SessionEvent};
use crate::keeper::deadline::Deadline;
use crate::keeper::link::KeeperEvent;
use crate::keeper::yard::{YardEvent, YardKeepers};
use crate::launch::prepare::Prepared;
use crate::launch::request::LaunchRequest;
use crate::owner::listing::Listing;
use crate::owner::waiters::ShutdownLines;
use crate::owner::{LookCommand, MemberCommand, PlanCommand, WorktreeCommand, WorktreePlanned};
use crate::plan::agents::AgentReport;
use crate::recover::census::{RecoveryRequest, SessionCensus};
use crate::recover::probe::Found;
use crate::worktree::worktrees::WorktreeEvent;

/// The sender of the owner's messages.
pub(crate) type Bus = mpsc::UnboundedSender<Message>;

/// A typed sender to the owner, for a link or a worker that knows only its own events.
pub(crate) fn sender<T: 'static>(bus: &Bus) -> EventSender<T>
where
    Message: From<T>,
{
    let bus = bus.clone();
    EventSender::new(move |event| bus.send(Message::from(event)).is_ok())
}

/// Asks the owner which sessions exist.
pub(crate) async fn census(bus: &Bus) -> std::io::Result<SessionCensus> {
    SessionCensus::take(&sender(bus)).await
}

/// A message for the owner.
#[derive(Debug)]
pub(crate) enum Message {
    /// A request of a client.
    Command(Command),
    /// An effect was carried out, or failed.
    Happened(SessionEvent),
    /// A launch was prepared for its keeper, or not.
    Prepared { session: SessionId, prepared: std::io::Result<Prepared> },
    /// The result of a probe.
    Probed { session: SessionId, found: Box<Found> },
    /// The result of a probe of an adopted process.
    Sighted { session: SessionId, sighting: Box<Sighting> },
    /// A report of a keeper, or the end of the connection to it.
    Keeper(KeeperEvent),
    /// A report of the yard, or the end of the connection to it.
    Yard(YardEvent),
    /// A session was recorded, or not.
    Saved { session: SessionId, durable: bool, result: Result<(), WriteError> },
    /// It is time to try again the records that failed.
    SaveAgain,
    /// A deadline of a keeper has passed.
    Late { session: SessionId, deadline: Deadline },
    /// It is time for another try.
    RetryDue { session: SessionId },
    /// The pause before another launch is over.
    RestartDue { session: SessionId },
    /// A session has ended or started: the next one in the queue may start.
    QueueChanged,
    /// It is time to check the queue again, which only the machine holds up.
    QueueTimer,
    /// The client of a queued session has not returned in time.
    ClientOverdue { session: SessionId },
    /// The client of a tethered session has disconnected before it had its answer.
    ClientGone { session: SessionId },
    /// A stop request has waited long enough.
    StopOverdue { session: SessionId },
    /// These sessions are beyond the number that is kept.
    Excess { sessions: Vec<SessionId> },
    /// The folders of these sessions were removed, or not.
    FoldersRemoved { removed: Vec<SessionId>, failed: Vec<(SessionId, String)>, done: Removal },
    /// It is time to trim the register.
    TrimDue,
    /// A spare keeper may have waited long enough.
    SparesOverdue,
    /// A worktree was planned, or refused.
    WorktreePlanned(Box<WorktreePlanned>),
    /// A task with a worktree is over.
    Worktree(Box<WorktreeEvent>),
    /// The verdict on a prompt.
    Judged { session: SessionId, judged: Box<Judged> },
    /// The client of a tied prompt has not come in time to wait for it.
    TieOverdue { session: SessionId },
    /// It is decided how to stop a prompt.
    StopSettled { session: SessionId, grace: Duration },
    /// A plan may have something to do.
    PlanTurn { plan: SessionId },
    /// A new plan could not be recorded.
    PlanDropped { plan: SessionId },
    /// The resumption of a plan could not be recorded; the record as it was.
    PlanNotResumed { former: Box<PlanRecord> },
    /// A plan could not be recorded.
    PlanUnsaved { plan: SessionId },
    /// It is time to try that again.
    PlanSaveAgain { plan: SessionId },
    /// The end of a plan was recorded, or could not be.
    PlanEndRecorded { plan: SessionId },
    /// Some of the time of a plan has passed.
    PlanTimePassed { plan: SessionId },
    /// The client of a tied plan has not come in time to wait for it.
    PlanTieOverdue { plan: SessionId, begun_ms: u64 },
    /// The client of a tied plan has disconnected.
    PlanClientGone { plan: SessionId },
    /// A report about an agent of a plan.
    PlanAgent(Box<AgentReport>),
    /// A new member could not be recorded.
    MemberNotAdded { name: String },
    /// A member could not be recorded.
    MemberUnsaved { name: String },
    /// A shutdown has taken as long as it may.
    LeaveOverdue { number: u64 },
}

/// Who is told about removed sessions.
#[derive(Debug)]
pub(crate) enum Removal {
    /// No client: they were beyond the number that is kept.
    Trim,
    /// A client that has removed one session.
    One(Answer<()>),
    /// A client that has removed all sessions that are over.
    Prune { spared: Spared, answer: Answer<Pruned> },
}

/// What was pruned.
#[derive(Debug, Default)]
pub(crate) struct Pruned {
    pub(crate) removed: Vec<SessionId>,
    pub(crate) spared: Spared,
}

/// The sessions that are over and stay on record anyway.
#[derive(Debug, Default)]
pub(crate) struct Spared {
    /// Their worktree is kept.
    pub(crate) with_worktrees: Vec<SessionId>,
    /// Their key is still held.
    pub(crate) with_keys: Vec<SessionId>,
}

/// Whether sessions are removed, or only listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pruning {
    Done,
    OnlySaid,
}

/// A request of a client.
#[derive(Debug)]
pub(crate) enum Command {
    /// Creates a session; answered once it has come as far as `until`, or will not.
    Create {
        launch: Box<LaunchRequest>,
        until: Until,
        /// Set for a tethered session: dropped without a value if the client disconnects before it has its answer.
        tether: Option<oneshot::Receiver<()>>,
        answer: Answer<SessionView>,
    },
    /// Adopts a process that a user started; answered once it is followed.
    Adopt { adoptee: Box<AdoptionCandidate>, answer: Answer<SessionView> },
    /// Returns a handle to the process of an adopted session.
    Handle { reference: String, answer: Answer<Handle> },
    /// Repeats a [`Command::Create`] that has made this session, by a client whose daemon was killed.
    AskAgain {
        session: SessionId,
        launch: Box<LaunchRequest>,
        until: Until,
        tether: Option<oneshot::Receiver<()>>,
        answer: Answer<SessionView>,
    },
    /// Relaunches a session; answered as for a new one.
    Resume(Resume),
    /// Lists a page of sessions.
    List { wish: ListRequest, answer: Answer<Listing> },
    /// Shows one session.
    Show { reference: String, answer: Answer<SessionView> },
    /// Shows one session, with what is needed to inspect its processes.
    Inspect { reference: String, answer: Answer<Inspected> },
    /// Shows one session once it is over; it is stopped if the tether is dropped without a value.
    Wait { reference: String, tether: Option<oneshot::Receiver<()>>, answer: Answer<SessionView> },
    /// Stops a session.
    Stop { reference: String, wish: StopRequest, answer: Answer<StopResponse> },
    /// Forgets a lost session, or stops following an adopted one.
    Forget { reference: String, by: String, answer: Answer<SessionView> },
    /// Removes a session that is over.
    Remove { reference: String, answer: Answer<()> },
    /// Removes all sessions that are over, or that ended before this time.
    Prune { before_ms: Option<u64>, pruning: Pruning, answer: Answer<Pruned> },
    /// Shows the daemon itself.
    Daemon { answer: Answer<DaemonView> },
    /// Returns which sessions exist, for the search for strays.
    Census { answer: oneshot::Sender<SessionCensus> },
    /// Lists the yard's keepers, and which of them are known.
    Keepers { answer: oneshot::Sender<YardKeepers> },
    /// Applies the report of an agent; `from` names the process, for the event log.
    Report { request: ReportRequest, from: String, answer: Answer<()> },
    /// Adds an entry to the event log.
    Note { session: Option<SessionId>, kind: &'static str, cause: String },
    /// A request about worktrees.
    Worktree(WorktreeCommand),
    /// A request about plans.
    Plan(PlanCommand),
    /// A request about members.
    Member(MemberCommand),
    /// A request about the state of the daemon.
    Look(LookCommand),
    /// Shuts the daemon down.
    Leave(Leave),
}

/// A request for another launch.
pub(crate) struct Resume {
    pub(crate) reference: String,
    pub(crate) request: ResumeRequest,
    /// Its standard input, if the client has handed one over.
    pub(crate) given: Option<OwnedFd>,
    pub(crate) until: Until,
    /// As for a new session.
    pub(crate) tether: Option<oneshot::Receiver<()>>,
    pub(crate) answer: Answer<SessionView>,
}

impl std::fmt::Debug for Resume {
    /// Omits the environment, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resume").field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// How the daemon shuts down.
#[derive(Debug)]
pub(crate) enum Leave {
    /// Ends all sessions first.
    Stop { grace: Option<std::time::Duration>, lines: Option<ShutdownLines> },
    /// Sessions go on.
    Keep { lines: ShutdownLines },
    /// Sessions go on, and the yard starts the next daemon.
    Replace { program: String, answer: Answer<()> },
}

/// A session, and what is needed to inspect its processes.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) view: SessionView,
    pub(crate) launch: kennel_types::LaunchView,
    /// All launches of the session, the first one first.
    pub(crate) launches: Vec<SessionView>,
    pub(crate) keeper_pid: Option<i32>,
    pub(crate) id: SessionId,
}

impl From<SessionEvent> for Message {
    fn from(event: SessionEvent) -> Self {
        Self::Happened(event)
    }
}

impl From<KeeperEvent> for Message {
    fn from(event: KeeperEvent) -> Self {
        Self::Keeper(event)
    }
}

impl From<YardEvent> for Message {
    fn from(event: YardEvent) -> Self {
        Self::Yard(event)
    }
}

impl From<AgentReport> for Message {
    fn from(report: AgentReport) -> Self {
        Self::PlanAgent(Box::new(report))
    }
}

impl From<WorktreeEvent> for Message {
    fn from(event: WorktreeEvent) -> Self {
        Self::Worktree(Box::new(event))
    }
}

impl From<RecoveryRequest> for Message {
    fn from(request: RecoveryRequest) -> Self {
        Self::Command(match request {
            RecoveryRequest::Census { answer } => Command::Census { answer },
            RecoveryRequest::Keepers { answer } => Command::Keepers { answer },
            RecoveryRequest::Note { session, kind, cause } => {
                Command::Note { session, kind, cause }
            }
        })
    }
}
