//! A plan while it is run: what is known of each of its agents.

use kennel_types::plan::{AgentPath, PlanSpec};
use kennel_types::{SessionId, TokenUsage, VerdictKind, is_unset};
use serde::{Deserialize, Serialize};

/// How a plan stands. It goes on record with every event that is taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlanState {
    /// Its agents, in the order of the plan.
    pub agents: Vec<AgentState>,
    /// Why nobody is asked any more, once that is so.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ending: Option<PlanEnding>,
    /// Whether its outcome was told.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub finished: bool,
}

/// How an agent of a plan stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgentState {
    /// Which.
    pub place: AgentPath,
    /// What was seen of it last.
    pub phase: AgentPhase,
    /// How often it was about to be asked.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub asks: u32,
    /// What it has used up, all asks together.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub usage: TokenUsage,
    /// Whether the last session that is over may have run, and nobody knows how it ended. It outlasts a resume that did not
    /// come to ask it again.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub may_have_run: bool,
}

/// What was seen of an agent. The drawing is in the module.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum AgentPhase {
    /// It was not asked, or not again.
    Waiting,
    /// It is about to be asked: there may be a session, and nobody has told yet.
    Asking,
    /// It was asked, and is not over as far as anybody knows.
    Asked {
        /// By this session.
        session: SessionId,
    },
    /// It has answered.
    Done {
        /// In this session.
        session: SessionId,
    },
    /// It has not, and it is over.
    Failed {
        /// Why.
        why: AgentFailure,
    },
    /// Somebody wanted its end, and it is over.
    Cancelled {
        /// In this session.
        session: SessionId,
    },
    /// It was not asked, and will not be.
    Skipped {
        /// Why.
        why: SkipReason,
    },
}

/// Why an agent has failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "failure")]
pub enum AgentFailure {
    /// There is no session: it was not taken.
    Refused {
        /// Why.
        why: String,
    },
    /// Its session is over, without an answer.
    Judged {
        /// Which.
        session: SessionId,
        /// What became of it.
        verdict: VerdictKind,
    },
}

/// Why an agent was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Somebody wanted the end of the plan.
    #[error("the plan was cancelled before")]
    Cancelled,
    /// The plan had no time left.
    #[error("the plan's time was over before")]
    TimeOver,
    /// The plan had failed.
    #[error("the plan had failed before")]
    Failed,
    /// Enough others had answered.
    #[error("enough others had answered")]
    NotNeeded,
}

/// Why nobody is asked any more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ending")]
pub enum PlanEnding {
    /// An agent has failed that may not.
    AgentFailed {
        /// Which.
        place: AgentPath,
    },
    /// Too few of a stage can succeed.
    TooFew {
        /// One that has failed.
        place: AgentPath,
        /// How many can, at most.
        can: u32,
        /// How many must.
        need: u32,
    },
    /// The plan has no time left.
    TimeOver,
    /// Somebody wanted it.
    Cancelled {
        /// Who.
        by: String,
    },
}

/// Something that happened to a plan. An ask is known by its number, so that what is told late, or twice, is not taken for
/// something new.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum PlanEvent {
    /// An agent is about to be asked: told, and put on record, before that is done. Only if it is taken may it be done.
    Asking {
        /// Which.
        place: AgentPath,
        /// For the how manieth time.
        ask: u32,
    },
    /// There is a session. One whose event is [`Ignored::Late`] is no plan's: it is to be stopped.
    Asked {
        /// Of which agent.
        place: AgentPath,
        /// By which ask.
        ask: u32,
        /// The session, by its first launch.
        session: SessionId,
    },
    /// It was seen that an ask came to nothing: no session has its key, and none will. So it is after a crash in
    /// the middle.
    NotAsked {
        /// Of which agent.
        place: AgentPath,
        /// Which.
        ask: u32,
    },
    /// An ask was refused: there is no session.
    Refused {
        /// Of which agent.
        place: AgentPath,
        /// Which.
        ask: u32,
        /// Why.
        why: String,
    },
    /// A session is over: it was seen to be gone, no launch follows, and its verdict is on record.
    Judged {
        /// Of which agent.
        place: AgentPath,
        /// By which ask.
        ask: u32,
        /// The session.
        session: SessionId,
        /// What became of it.
        verdict: VerdictKind,
        /// What it has used up.
        usage: TokenUsage,
    },
    /// Somebody wants the end of the plan.
    CancelWanted {
        /// Who.
        by: String,
    },
    /// The plan's time is over.
    TimeOver,
    /// Its outcome was told.
    Finished,
    /// Somebody wants that what is not done is done.
    Resumed {
        /// That goes for what may have run, too.
        replay: bool,
    },
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum EventOutcome {
    /// It was taken: the plan is another one now, and is to be put on record.
    Taken,
    /// It changed nothing.
    Ignored(IgnoredReason),
}

/// Why an event changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoredReason {
    /// There is no such agent.
    #[error("there is no agent {0} in the plan")]
    NoAgent(AgentPath),
    /// It was known already.
    #[error("that is known")]
    Known,
    /// It is about something that is over, or that another ask has taken the place of.
    #[error("that comes too late")]
    Late,
    /// This agent may not be asked now.
    #[error("it may not be asked now")]
    NotNow,
    /// The plan is over.
    #[error("the plan is over")]
    Over,
    /// The plan is not over.
    #[error("the plan is not over")]
    NotOver,
    /// Everything is done.
    #[error("nothing is left to be done")]
    NothingLeft,
    /// It can't go on without repeating what may have run.
    #[error(
        "{} may have run, and nobody knows how it ended: it is asked again only if that is wanted",
        listed(.0)
    )]
    MayHaveRun(Vec<AgentPath>),
}

fn listed(places: &[AgentPath]) -> String {
    places.iter().map(AgentPath::to_string).collect::<Vec<_>>().join(", ")
}

impl AgentPhase {
    /// Whether there is no session, nor will be, or it was seen to be gone.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Waiting | Self::Asking | Self::Asked { .. } => false,
            Self::Done { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Skipped { .. } => true,
        }
    }

    /// Whether there is a session, or may be, that is not known to be over.
    #[must_use]
    pub fn may_be_alive(&self) -> bool {
        matches!(self, Self::Asking | Self::Asked { .. })
    }

    /// Whether it has answered.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// Its session, if there is one.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Asked { session }
            | Self::Done { session }
            | Self::Cancelled { session }
            | Self::Failed { why: AgentFailure::Judged { session, .. } } => Some(session),
            Self::Waiting
            | Self::Asking
            | Self::Skipped { .. }
            | Self::Failed { why: AgentFailure::Refused { .. } } => None,
        }
    }

    /// What became of it, once its session is over.
    #[must_use]
    pub fn verdict(&self) -> Option<VerdictKind> {
        match self {
            Self::Done { .. } => Some(VerdictKind::Succeeded),
            Self::Cancelled { .. } => Some(VerdictKind::Cancelled),
            Self::Failed { why: AgentFailure::Judged { verdict, .. } } => Some(*verdict),
            _ => None,
        }
    }
}

impl PlanState {
    /// Before anybody was asked.
    #[must_use]
    pub fn new(spec: &PlanSpec) -> Self {
        let agents = spec.agents().map(|(stage, agent)| AgentState {
            place: stage.place(agent),
            phase: AgentPhase::Waiting,
            asks: 0,
            usage: TokenUsage::default(),
            may_have_run: false,
        });
        Self { agents: agents.collect(), ending: None, finished: false }
    }

    /// The agent at this place.
    #[must_use]
    pub fn agent(&self, place: &AgentPath) -> Option<&AgentState> {
        self.agents.iter().find(|agent| agent.place == *place)
    }

    /// Whether all agents are over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.agents.iter().all(|agent| agent.phase.is_over())
    }
}
