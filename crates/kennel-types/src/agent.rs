//! The part of a session's spec that describes an agent and its prompt.

use serde::{Deserialize, Serialize};

use crate::is_unset;

/// An agent that a session runs: with a prompt, or interactively. The prompt itself is not part of
/// the spec; like the environment, it is passed on in memory and never stored with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSpec {
    /// The agent program and its settings.
    pub settings: AgentSettings,
    /// The member that is asked, if any.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub member: Option<String>,
    /// The requested conversation.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation_choice: ConversationChoice,
    /// The conversation that this launch continues. Null: it starts a new one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation: Option<String>,
    /// A hash of the prompt, by which a repeated request is recognized.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub prompt_sum: String,
    /// How many times to retry if the provider fails.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retries: u32,
    /// The time within which retries may start, in milliseconds. Null: no limit.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retry_within_ms: Option<u64>,
    /// Whether to retry an attempt that may already have done some of its work.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub replay: bool,
    /// Whether the session ends when the client disconnects.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub cancel_on_disconnect: bool,
    /// Whether the agent runs interactively on a terminal, without a prompt. Kennel does not judge
    /// it.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub interactive: bool,
    /// The plan that the session is part of, if any.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub plan: Option<PlanPosition>,
}

/// An agent program and its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSettings {
    /// The agent: `claude`, `codex`, `gemini`, `opencode`, or the name of a described agent.
    pub agent: String,
    /// The description of an agent that Kennel has no code for, as TOML.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub description: Option<String>,
    /// The model. The default is the agent's own choice.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub model: Option<String>,
    /// The maximum number of turns. The default is the agent's own choice.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub permissions: Permissions,
    /// Additional arguments, passed on unchanged.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub args: Vec<String>,
}

/// What an agent may do without asking. During a prompt there is no user to ask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// What its own settings allow.
    #[default]
    Default,
    /// Read only.
    ReadOnly,
    /// Change files in its directory.
    Edit,
    /// Anything.
    All,
}

/// The conversation that a prompt belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "conversation")]
pub enum ConversationChoice {
    /// The member's latest conversation. A new one if it has none, or if the agent does not know it
    /// any more.
    #[default]
    Continue,
    /// A new conversation.
    Fresh,
    /// This conversation. If the agent does not know it any more, the prompt fails.
    Resume {
        /// The id of the conversation.
        id: String,
    },
}

impl AgentSpec {
    /// Returns the spec as it was requested, without later decisions. Leaves out whether the client
    /// waits.
    #[must_use]
    pub fn as_requested(&self) -> Self {
        Self { conversation: None, cancel_on_disconnect: false, ..self.clone() }
    }
}

/// The position of a session in a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanPosition {
    /// The id of the plan.
    pub plan: String,
    /// The agent in the plan: `STAGE.AGENT`.
    pub name: String,
    /// Which ask of this agent it is, from 1.
    pub ask: u32,
}
