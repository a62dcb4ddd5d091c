//! Views of plans. Field names are stable: fields are added, never renamed or removed.

use serde::{Deserialize, Serialize};

use crate::verdict::{TokenUsage, VerdictKind};

/// A plan run, as `--json` and the API show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanView {
    /// The id of this run.
    pub id: String,
    /// The name of the plan.
    pub name: String,
    /// The status of the plan.
    pub state: PlanStatus,
    /// Why the plan is stopping or has ended, as text for users.
    pub why: Option<String>,
    /// When the run started, in RFC 3339.
    pub created_at: String,
    /// When the run ended, in RFC 3339.
    pub ended_at: Option<String>,
    /// The stages, in order.
    pub stages: Vec<StageView>,
    /// The tokens and cost of all agents, as far as known.
    pub usage: TokenUsage,
}

/// The status of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Agents are working, or are about to be asked.
    Running,
    /// No more agents are asked, and some have not ended yet.
    Stopping,
    /// Ended: every stage succeeded.
    Succeeded,
    /// Ended: a stage failed.
    Failed,
    /// Ended: the plan timed out.
    TimedOut,
    /// Ended: a caller cancelled it.
    Cancelled,
}

/// A stage of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageView {
    /// The name of the stage.
    pub name: String,
    /// How many agents must succeed, if the plan defines it.
    pub need: Option<u32>,
    /// The agents, in order.
    pub agents: Vec<PlanAgentView>,
}

/// An agent of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAgentView {
    /// The name of the agent in its stage.
    pub name: String,
    /// The agent program that is asked, if it is not a member.
    pub agent: Option<String>,
    /// The member that is asked, if any.
    pub member: Option<String>,
    /// The status of the agent.
    pub state: PlanAgentStatus,
    /// A short explanation, as text for users.
    pub why: String,
    /// The session, if it exists or existed.
    pub session: Option<String>,
    /// The verdict, once the prompt is judged.
    pub verdict: Option<VerdictKind>,
    /// How many times the agent was asked.
    pub asks: u32,
    /// The tokens and cost, as far as known.
    pub usage: TokenUsage,
}

/// The status of an agent in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanAgentStatus {
    /// Not asked yet.
    Waiting,
    /// Being asked.
    Asking,
    /// Working.
    Running,
    /// Being stopped, and not ended yet.
    Stopping,
    /// It answered.
    Succeeded,
    /// It failed.
    Failed,
    /// It was stopped, and Kennel saw it end.
    Cancelled,
    /// It was not asked, and will not be.
    Skipped,
}
