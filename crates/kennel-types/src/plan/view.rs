//! What programs are shown of a plan. Field names are stable: added to, never changed.

use serde::{Deserialize, Serialize};

use crate::verdict::{Usage, VerdictKind};

/// A plan, as `--json` and the API show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanView {
    /// The id of this run of it.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// How it stands.
    pub state: PlanStatus,
    /// Why, for people, once it is to end or has ended.
    pub why: Option<String>,
    /// When it was begun: RFC 3339.
    pub created_at: String,
    /// When it was over.
    pub ended_at: Option<String>,
    /// Its stages, in their order.
    pub stages: Vec<StageView>,
    /// What its agents have used up, all together, as far as it is known.
    pub usage: Usage,
}

/// How a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Agents are at work, or about to be asked.
    Running,
    /// Nobody is asked any more, and somebody is not over.
    Stopping,
    /// Over: every stage has what it needs.
    Succeeded,
    /// Over: one has not.
    Failed,
    /// Over: it took too long.
    TimedOut,
    /// Over: somebody wanted it.
    Cancelled,
}

/// A stage of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageView {
    /// Its name.
    pub name: String,
    /// How many must succeed, if that is said.
    pub need: Option<u32>,
    /// Its agents, in their order.
    pub agents: Vec<PlanAgentView>,
}

/// An agent of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanAgentView {
    /// Its name in the stage.
    pub name: String,
    /// Who is asked, if it is no member.
    pub agent: Option<String>,
    /// The member that is asked, if one is.
    pub member: Option<String>,
    /// How it stands.
    pub state: PlanAgentStatus,
    /// In a few words, for people.
    pub why: String,
    /// The session, if there is one, or was.
    pub session: Option<String>,
    /// What became of its prompt, once it was judged.
    pub verdict: Option<VerdictKind>,
    /// How often it was asked.
    pub asks: u32,
    /// What it has used up, as far as it is known.
    pub usage: Usage,
}

/// How an agent of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanAgentStatus {
    /// It was not asked.
    Waiting,
    /// It is being asked.
    Asking,
    /// It is at work.
    Running,
    /// It is to end, and was not seen to be gone.
    Stopping,
    /// It has answered.
    Succeeded,
    /// It has not.
    Failed,
    /// It was stopped, and seen to be gone.
    Cancelled,
    /// It was not asked, and will not be.
    Skipped,
}
