//! A plan as it is written.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::name::{Name, Place};
use crate::agent::Permissions;
use crate::millis;
use crate::unset::is_unset;

/// Stages of agents, one after the other. Fields are added only with a default, so that older records can be read; and one
/// that a newer version has written is passed over, but not in a request: see [`PlanSpec::asked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanSpec {
    /// What it is called.
    pub name: Name,
    /// What it is for.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub about: Option<String>,
    /// How long it may take in all; none: for ever.
    #[serde(
        rename = "timeout_ms",
        alias = "timeout",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// How many agents may be at work at once; none: all of a stage.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub concurrency: Option<u32>,
    /// What its prompts may refer to, besides answers.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub inputs: BTreeMap<Name, InputSpec>,
    /// In their order.
    pub stages: Vec<StageSpec>,
}

/// Something that whoever runs a plan says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct InputSpec {
    /// What it is if nobody says; none: somebody must.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub default: Option<String>,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub about: Option<String>,
}

/// Agents that are at work at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StageSpec {
    /// What it is called.
    pub name: Name,
    /// How many must succeed; none: those whose failure fails the plan.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub need: Option<u32>,
    /// Whether the others are stopped once so many have succeeded.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub stop_rest: bool,
    /// Who.
    pub agents: Vec<PlanAgent>,
}

/// One prompt to one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct PlanAgent {
    /// What it is called in its stage.
    pub name: Name,
    /// Who is asked.
    pub who: Who,
    /// Which model; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub model: Option<String>,
    /// How many turns it may take; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// What it may do without asking; none: as the member has it, or its own settings say.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub permissions: Option<Permissions>,
    /// Further arguments, as they are.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub args: Vec<String>,
    /// The folder it works in; none: that in which the plan is run, or the member's.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cwd: Option<String>,
    /// How long it may take; none: for ever.
    #[serde(
        rename = "timeout_ms",
        alias = "timeout",
        default,
        skip_serializing_if = "is_unset",
        with = "millis::option"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub timeout: Option<Duration>,
    /// A worktree that is made for it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub worktree: Option<WorktreeWish>,
    /// What its failure means; none: whatever its stage says, see [`StageSpec::on_failure`].
    #[serde(default, skip_serializing_if = "is_unset")]
    pub on_failure: Option<OnFailure>,
    /// How often it may be tried again by itself; none: as often as any prompt.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retries: Option<u32>,
    /// What it is asked.
    pub prompt: Prompt,
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Whoever answers to this: `claude`, `codex`, … In a new conversation.
    Agent(String),
    /// This member, in its own conversation.
    Member(String),
}

/// A worktree, as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorktreeWish {
    /// On a branch of its own.
    Own,
    /// On this branch.
    Branch(String),
}

/// What the failure of an agent means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The plan has failed: all others are stopped.
    FailPlan,
    /// The plan goes on; later prompts are told that there is no answer.
    Continue,
}

/// The prompt of an agent, with references in it: `{{STAGE.AGENT}}` and the like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// This.
    Text(String),
    /// What is in this file, which was not read yet: see [`PlanSpec::prompt_files`].
    File(String),
}

impl StageSpec {
    /// What the failure of an agent of this stage means. If the stage says how many it needs, it is they who count.
    #[must_use]
    pub fn on_failure(&self, agent: &PlanAgent) -> OnFailure {
        let otherwise = if self.need.is_some() { OnFailure::Continue } else { OnFailure::FailPlan };
        agent.on_failure.unwrap_or(otherwise)
    }

    /// Where an agent of this stage is.
    #[must_use]
    pub fn place(&self, agent: &PlanAgent) -> Place {
        Place { stage: self.name.clone(), agent: agent.name.clone() }
    }
}

impl PlanSpec {
    /// As it is in a request, where a field that nobody knows is a mistake.
    ///
    /// # Errors
    /// It is none, or has such a field.
    pub fn asked<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut unknown = None;
        let spec = serde_ignored::deserialize(from, |path| {
            unknown.get_or_insert_with(|| path.to_string());
        })?;
        match unknown {
            None => Ok(spec),
            Some(path) => Err(D::Error::custom(format!("unknown field `{path}`"))),
        }
    }

    /// All agents, in the order of the plan.
    pub fn agents(&self) -> impl Iterator<Item = (&StageSpec, &PlanAgent)> {
        self.stages.iter().flat_map(|stage| stage.agents.iter().map(move |agent| (stage, agent)))
    }

    /// The agent at this place.
    #[must_use]
    pub fn agent(&self, place: &Place) -> Option<&PlanAgent> {
        let stage = self.stages.iter().find(|stage| stage.name == place.stage)?;
        stage.agents.iter().find(|agent| agent.name == place.agent)
    }

    /// The prompts that are in files, and in which: the caller reads them, and puts them in by
    /// `kennel_core::plan::put_prompt`.
    #[must_use]
    pub fn prompt_files(&self) -> Vec<(Place, String)> {
        let files = self.agents().filter_map(|(stage, agent)| match &agent.prompt {
            Prompt::File(file) => Some((stage.place(agent), file.clone())),
            Prompt::Text(_) => None,
        });
        files.collect()
    }
}
