//! The state of a plan that runs, the events that change it, and the reasons to ignore one.

use kennel_types::plan::{AgentPath, PlanSpec};
use kennel_types::{SessionId, TokenUsage, VerdictKind, is_unset};
use serde::{Deserialize, Serialize};

/// The state of a plan. It is recorded with every event that changes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanState {
    pub agents: Vec<AgentState>,
    /// Why no more agents are asked, if that is the case.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ending: Option<PlanEnding>,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub finished: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgentState {
    pub place: AgentPath,
    pub phase: AgentPhase,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub asks: u32,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub usage: TokenUsage,
    /// Whether the last session may have run with an unknown result. A resume that does not ask the
    /// agent again keeps it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub may_have_run: bool,
}

/// The phase of an agent. The module has the state diagram.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum AgentPhase {
    /// Not asked yet, or not again.
    Waiting,
    /// About to be asked: a session may exist.
    Asking,
    /// Asked, and not known to be over.
    Asked { session: SessionId },
    /// It answered.
    Done { session: SessionId },
    /// It is over without an answer.
    Failed { why: AskFailure },
    /// It was stopped, and is over.
    Cancelled { session: SessionId },
    /// Not asked, and never will be.
    Skipped { why: SkipReason },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "failure")]
pub enum AskFailure {
    #[error("refused: {why}")]
    Refused { why: String },
    #[error("{}", judged_text(*.verdict))]
    Judged { session: SessionId, verdict: VerdictKind },
}

fn judged_text(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Unknown => "it may have run, with an unknown result",
        verdict => verdict.name(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    #[error("the plan was already cancelled")]
    Cancelled,
    #[error("the plan had already timed out")]
    TimeOver,
    #[error("the plan had already failed")]
    Failed,
    #[error("enough other agents had answered")]
    NotNeeded,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ending")]
pub enum PlanEnding {
    /// An agent failed whose failure fails the plan.
    AgentFailed {
        place: AgentPath,
    },
    /// Too few agents of a stage can still succeed.
    TooFew {
        place: AgentPath,
        can: u32,
        need: u32,
    },
    TimeOver,
    /// A caller cancelled it.
    Cancelled {
        by: String,
    },
}

/// Something that happened to a plan. An ask has a number, so that a late or repeated event is not
/// mistaken for one about a newer ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PlanEvent {
    /// An agent is about to be asked. The daemon may ask only after this event was accepted and
    /// recorded.
    Asking {
        place: AgentPath,
        ask: u32,
    },
    /// A session exists. If the event is [`IgnoredReason::Late`], the session belongs to no plan
    /// and must be stopped.
    Asked {
        place: AgentPath,
        ask: u32,
        /// The session, by its first launch.
        session: SessionId,
    },
    /// No session has or will have the key of this ask: the daemon crashed during the ask.
    NotAsked {
        place: AgentPath,
        ask: u32,
    },
    /// The prompt was refused. There is no session.
    Refused {
        place: AgentPath,
        ask: u32,
        why: String,
    },
    /// A session is over: it was seen to be gone, no launch follows, and its verdict is recorded.
    Judged {
        place: AgentPath,
        ask: u32,
        session: SessionId,
        verdict: VerdictKind,
        usage: TokenUsage,
    },
    /// A caller cancels the plan.
    CancelWanted {
        by: String,
    },
    TimeOver,
    /// The outcome was reported.
    Finished,
    /// A caller resumes the plan: agents without an answer are asked again.
    Resumed {
        /// Whether to repeat prompts that may have run.
        replay: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoredReason {
    #[error("there is no agent {0} in the plan")]
    NoAgent(AgentPath),
    #[error("this is already known")]
    Known,
    #[error("this is too late")]
    Late,
    #[error("the agent may not be asked now")]
    NotNow,
    #[error("the plan is over")]
    Over,
    #[error("the plan is not over")]
    NotOver,
    #[error("nothing is left to do")]
    NothingLeft,
    #[error("{} may have run, with an unknown result; a resume repeats it only on request", listed(.0))]
    MayHaveRun(Vec<AgentPath>),
}

fn listed(places: &[AgentPath]) -> String {
    places.iter().map(AgentPath::to_string).collect::<Vec<_>>().join(", ")
}

impl AgentPhase {
    /// Returns whether no session exists or will exist, or the session was seen to be gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking | Self::Asked { .. })
    }

    /// Returns whether a session may exist that is not known to be over.
    #[must_use]
    pub fn may_be_alive(&self) -> bool {
        matches!(self, Self::Asking | Self::Asked { .. })
    }

    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Asked { session }
            | Self::Done { session }
            | Self::Cancelled { session }
            | Self::Failed { why: AskFailure::Judged { session, .. } } => Some(session),
            _ => None,
        }
    }

    /// Returns the verdict, once the session is over.
    #[must_use]
    pub fn verdict(&self) -> Option<VerdictKind> {
        match self {
            Self::Done { .. } => Some(VerdictKind::Succeeded),
            Self::Cancelled { .. } => Some(VerdictKind::Cancelled),
            Self::Failed { why: AskFailure::Judged { verdict, .. } } => Some(*verdict),
            _ => None,
        }
    }
}

impl PlanState {
    /// Returns the state before any agent was asked.
    #[must_use]
    pub fn new(spec: &PlanSpec) -> Self {
        let agents = spec.agents().map(|(stage, agent)| AgentState {
            place: stage.path_of(agent),
            phase: AgentPhase::Waiting,
            asks: 0,
            usage: TokenUsage::default(),
            may_have_run: false,
        });
        Self { agents: agents.collect(), ending: None, finished: false }
    }

    #[must_use]
    pub fn agent(&self, place: &AgentPath) -> Option<&AgentState> {
        self.agents.iter().find(|agent| agent.place == *place)
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.agents.iter().all(|agent| agent.phase.is_over())
    }
}
