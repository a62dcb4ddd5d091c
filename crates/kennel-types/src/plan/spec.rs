//! The spec of a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::name::{AgentPath, Name};
use crate::agent::Permissions;
use crate::{is_unset, millis};

/// A plan: stages of agents, one stage after the other. New fields need a default, so that older
/// records stay readable. Records may contain fields of a newer version; requests may not, see
/// [`PlanSpec::from_request`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanSpec {
    /// The name of the plan.
    pub name: Name,
    /// A description.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub about: Option<String>,
    /// The time for the whole plan. Null: no limit.
    #[serde(rename = "timeout_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// The maximum number of agents that work at the same time. Null: all agents of a stage.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub concurrency: Option<u32>,
    /// The inputs that prompts can refer to.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub inputs: BTreeMap<Name, InputSpec>,
    /// The stages, in order.
    pub stages: Vec<StageSpec>,
}

/// An input of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct InputSpec {
    /// The default value. Null: the input is required.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub default: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub about: Option<String>,
}

/// Agents that work at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StageSpec {
    /// The name of the stage.
    pub name: Name,
    /// How many agents must succeed. Null: see `on_failure` of each agent.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub need: Option<u32>,
    /// Whether to stop the other agents once enough have succeeded.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stop_rest: bool,
    /// The agents.
    pub agents: Vec<PlanAgent>,
}

/// One prompt to one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanAgent {
    /// The name of the agent in its stage.
    pub name: Name,
    /// The agent or member to ask.
    pub who: PlanTarget,
    /// The model. Null: the agent's own choice.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub model: Option<String>,
    /// The maximum number of turns. Null: the agent's own choice.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// What the agent may do without asking. Null: the member's permissions, or the agent's own
    /// settings.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub permissions: Option<Permissions>,
    /// Additional arguments, passed on unchanged.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub args: Vec<String>,
    /// The working directory. Null: the directory of the plan run, or the member's.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cwd: Option<String>,
    /// The timeout of the agent. Null: no limit.
    #[serde(rename = "timeout_ms", default, skip_serializing_if = "is_unset", with = "millis")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// A git worktree to create for the agent.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub worktree: Option<PlanWorktree>,
    /// What happens when the agent fails. Null: the default of its stage, see
    /// [`StageSpec::on_failure`].
    #[serde(default, skip_serializing_if = "is_unset")]
    pub on_failure: Option<OnFailure>,
    /// How many times to retry the prompt. Null: the default for prompts.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retries: Option<u32>,
    /// The prompt.
    pub prompt: Prompt,
}

/// The agent or member to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanTarget {
    /// An agent program (`claude`, `codex`, …), in a new conversation.
    Agent(String),
    /// A member, in its own conversation.
    Member(String),
}

/// The branch of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanWorktree {
    /// A new branch, named for the session.
    Own,
    /// This branch.
    Branch(String),
}

/// What happens when an agent fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The plan fails, and all other agents are stopped.
    FailPlan,
    /// The plan continues. Later prompts contain a note in place of the answer.
    Continue,
}

/// The prompt of an agent. It can contain references such as `{{STAGE.AGENT}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// The text of the prompt.
    Text(String),
    /// A file with the prompt, which is not loaded yet: see [`PlanSpec::prompt_files`].
    File(String),
}

impl StageSpec {
    /// Returns what happens when an agent of this stage fails. The default depends on whether the
    /// stage has a `need`.
    #[must_use]
    pub fn on_failure(&self, agent: &PlanAgent) -> OnFailure {
        let otherwise = if self.need.is_some() { OnFailure::Continue } else { OnFailure::FailPlan };
        agent.on_failure.unwrap_or(otherwise)
    }

    /// Returns the path of an agent of this stage.
    #[must_use]
    pub fn path_of(&self, agent: &PlanAgent) -> AgentPath {
        AgentPath { stage: self.name.clone(), agent: agent.name.clone() }
    }
}

impl PlanSpec {
    /// Deserializes a plan from a request, in which unknown fields are errors.
    ///
    /// # Errors
    /// The value is not a plan, or has an unknown field.
    pub fn from_request<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut unknown = None;
        let spec = serde_ignored::deserialize(from, |path| {
            unknown.get_or_insert_with(|| path.to_string());
        })?;
        match unknown {
            None => Ok(spec),
            Some(path) => Err(D::Error::custom(format!("unknown field `{path}`"))),
        }
    }

    /// Returns all agents, in the order of the plan.
    pub fn agents(&self) -> impl Iterator<Item = (&StageSpec, &PlanAgent)> {
        self.stages.iter().flat_map(|stage| stage.agents.iter().map(move |agent| (stage, agent)))
    }

    /// Returns the agent at this path.
    #[must_use]
    pub fn agent(&self, path: &AgentPath) -> Option<&PlanAgent> {
        let stage = self.stages.iter().find(|stage| stage.name == path.stage)?;
        stage.agents.iter().find(|agent| agent.name == path.agent)
    }

    /// Returns the prompts that are in files. The caller loads them and passes them to
    /// `kennel_core::plan::put_prompt`.
    #[must_use]
    pub fn prompt_files(&self) -> Vec<(AgentPath, String)> {
        let files = self.agents().filter_map(|(stage, agent)| match &agent.prompt {
            Prompt::File(file) => Some((stage.path_of(agent), file.clone())),
            Prompt::Text(_) => None,
        });
        files.collect()
    }
}
