//! The errors of this crate.

/// The agents that need no description.
pub(crate) const BUILT_IN: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error("unknown agent {name:?}{}: expected {}, or an agent with a description", hint(name), BUILT_IN.join(", "))]
    UnknownAgent { name: String },
    #[error("{name} is built in; choose another name for the agent that you describe")]
    BuiltIn { name: String },
    #[error("invalid description of agent {name:?}: {error}")]
    Description { name: String, error: DescriptionError },
    #[error("{agent} doesn't support {feature}; omit it, or set it in {agent}'s own configuration")]
    Unsupported { agent: String, feature: &'static str },
    /// The agent has no option for this setting when it runs in a terminal.
    #[error("{agent} supports {feature} only with a prompt, not in a terminal; omit it")]
    NotInteractive { agent: String, feature: &'static str },
    #[error("invalid limit of 0 turns: expected at least 1; omit it for the agent's own limit")]
    NoTurns,
    /// A conversation id has the wrong form. It is checked before the launch, because some agents
    /// start a new conversation, and exit with 0, if they don't recognize the form of an id.
    #[error("invalid conversation id {id:?} for {agent}: expected {form}")]
    Conversation { agent: String, id: String, form: String },
}

/// A setting that several agents don't support.
pub(crate) const TURNS: &str = "a limit of turns";

impl AgentError {
    pub(crate) fn unsupported(agent: &str, feature: &'static str) -> Self {
        Self::Unsupported { agent: agent.to_owned(), feature }
    }

    pub(crate) fn not_interactive(agent: &str, feature: &'static str) -> Self {
        Self::NotInteractive { agent: agent.to_owned(), feature }
    }
}

/// What is wrong with the description of an agent, and in which key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DescriptionError(pub(crate) String);

fn hint(name: &str) -> String {
    match kennel_types::suggestion::nearest(&name.to_lowercase(), BUILT_IN) {
        Some(known) => format!(" (did you mean {known:?}?)"),
        None => String::new(),
    }
}
