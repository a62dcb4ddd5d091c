//! What an agent is asked, and how: the part of a session's spec that makes a prompt of it.

use serde::{Deserialize, Serialize};

use crate::unset::is_unset;

/// A prompt to an agent, or a person's chat with it. The prompt itself is not here: like the environment it goes by memory,
/// and is on no record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSpec {
    /// Who is asked, and how.
    pub seat: Seat,
    /// The member that is asked, if one is.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub member: Option<String>,
    /// Which conversation it belongs to, as it was asked.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub wish: Wish,
    /// The conversation that this launch goes on with: what was made of the wish. None: it begins a new one.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation: Option<String>,
    /// A sum of the prompt, by which the same request is known again.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub prompt_sum: String,
    /// How often it may be tried again by itself, if the provider is to blame.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retries: u32,
    /// How long it may take in all before no further try is begun, in milliseconds; none: for ever.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub retry_within_ms: Option<u64>,
    /// Whether an attempt that did work, or may have, is tried again as well.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub replay: bool,
    /// Whether it ends if whoever asked goes without a word: they wait for it, tied.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub tied: bool,
    /// Whether it is no prompt: the agent is started on a terminal, for a person to talk to. It is not judged.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub interactive: bool,
    /// The plan that it is a part of, if it is.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub plan: Option<PlanSeat>,
}

/// An agent program, and how it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seat {
    /// `claude`, `codex`, `gemini`, `opencode`, or the name of one that is described.
    pub agent: String,
    /// The description of an agent that Kennel has no code for, as TOML.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub description: Option<String>,
    /// Which model; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub model: Option<String>,
    /// How many turns it may take; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub turns: Option<u32>,
    /// What it may do without asking.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub permissions: Permissions,
    /// Further arguments, as they are.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub args: Vec<String>,
}

/// What an agent may do without asking; there is nobody to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// What its own settings say.
    #[default]
    Default,
    /// Look, and change nothing.
    ReadOnly,
    /// Change files in its folder.
    Edit,
    /// Anything.
    All,
}

/// Which conversation a prompt shall belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "conversation")]
pub enum Wish {
    /// The one that the member had last, if it had one: if that turns out not to be there any more, a new one.
    #[default]
    Continue,
    /// A new one.
    Fresh,
    /// This one, and no other in its place.
    Resume {
        /// Which.
        id: String,
    },
}

impl AgentSpec {
    /// As it was asked for, without what was decided on it. Whether somebody waits for it does not count.
    #[must_use]
    pub fn as_asked(&self) -> Self {
        Self { conversation: None, tied: false, ..self.clone() }
    }
}

/// A place in a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanSeat {
    /// The plan's id.
    pub plan: String,
    /// The agent's name in it: `STAGE.AGENT`.
    pub name: String,
    /// For the how manieth time it is asked.
    pub ask: u32,
}
