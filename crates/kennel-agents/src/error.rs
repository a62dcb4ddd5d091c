//! The errors of this crate.

/// The agents that need no description.
pub(crate) const BUILT_IN: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Why an agent can't be used in this way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// There is no such agent, and it has no description.
    #[error("unknown agent {name:?}{}: expected {}, or an agent with a description", hint(name), BUILT_IN.join(", "))]
    UnknownAgent {
        /// The name that was given.
        name: String,
    },
    /// A built-in agent has a description.
    #[error("{name} is built in; choose another name for the agent that you describe")]
    BuiltIn {
        /// The agent.
        name: String,
    },
    /// The description is invalid.
    #[error("invalid description of agent {name:?}: {error}")]
    Description {
        /// The agent.
        name: String,
        /// What is wrong.
        error: DescriptionError,
    },
    /// The agent has no option for this setting.
    #[error("{agent} doesn't support {feature}; omit it, or set it in {agent}'s own configuration")]
    Unsupported {
        /// The agent.
        agent: String,
        /// The setting.
        feature: &'static str,
    },
    /// The agent has no option for this setting when it runs in a terminal.
    #[error("{agent} supports {feature} only with a prompt, not in a terminal; omit it")]
    NotInteractive {
        /// The agent.
        agent: String,
        /// The setting.
        feature: &'static str,
    },
    /// The limit of turns is 0.
    #[error("invalid limit of 0 turns: expected at least 1; omit it for the agent's own limit")]
    NoTurns,
    /// The conversation id is invalid.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
}

/// A setting that not every agent supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentFeature {
    Model,
    Turns,
    Permissions,
    Conversation,
    Terminal,
}

impl AgentFeature {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "a choice of model",
            Self::Turns => "a limit of turns",
            Self::Permissions => "these permissions",
            Self::Conversation => "resuming a conversation",
            Self::Terminal => "interactive use in a terminal",
        }
    }
}

impl AgentError {
    pub(crate) fn unsupported(agent: &str, feature: AgentFeature) -> Self {
        Self::Unsupported { agent: agent.to_owned(), feature: feature.name() }
    }

    pub(crate) fn not_interactive(agent: &str, feature: AgentFeature) -> Self {
        Self::NotInteractive { agent: agent.to_owned(), feature: feature.name() }
    }
}

/// A conversation id has the wrong form for this agent.
///
/// It is checked before the launch, because some agents start a new conversation, and exit with 0,
/// if they don't recognize the form of an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid conversation id {id:?} for {agent}: expected {form}")]
pub struct ConversationError {
    /// The agent.
    pub agent: String,
    /// The id.
    pub id: String,
    /// The form of the agent's ids.
    pub form: String,
}

/// What is wrong with the description of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// It is not valid TOML, or has an unknown key.
    #[error("{0}")]
    Toml(String),
    /// A placeholder is unknown.
    #[error(
        "{key}: unknown placeholder {{{name}}}: expected {{model}}, {{conversation}}, {{turns}}, {{prompt_file}} or {{args}}"
    )]
    Placeholder {
        /// The key that contains it.
        key: &'static str,
        /// The text in the braces.
        name: String,
    },
    /// `{args}` is only a part of an argument or of a group.
    #[error(
        "{key}: {{args}} stands for any number of arguments, so it must be an argument of its own"
    )]
    Args {
        /// The key that contains it.
        key: &'static str,
    },
    /// The name of the program is empty.
    #[error("program: the name of the program is empty")]
    NoProgram,
    /// A regular expression is invalid.
    #[error("{key}: invalid regular expression {pattern:?}: {why}")]
    Pattern {
        /// The key that contains it.
        key: String,
        /// The regular expression.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A JSON pointer is invalid.
    #[error(
        "output.{key}: invalid JSON pointer {pointer:?}: expected one such as \"/message/text\""
    )]
    Pointer {
        /// The key that contains it.
        key: &'static str,
        /// The pointer.
        pointer: String,
    },
    /// A key that only JSON output supports is set for text output.
    #[error("output.{key} needs output.format = \"json_lines\"; set it, or omit output.{key}")]
    NotForText {
        /// The key.
        key: &'static str,
    },
    /// The output is JSON, but the description doesn't say where the answer is.
    #[error("output.text is missing: set it to the JSON pointer of the agent's text")]
    NoText,
    /// A rule has no condition.
    #[error("verdict {number}: a rule needs at least one of contains, matches and exit")]
    EmptyRule {
        /// The number of the rule, from 1.
        number: usize,
    },
    /// A rule has two conditions on the text.
    #[error("verdict {number}: contains and matches are mutually exclusive")]
    TwoTexts {
        /// The number of the rule, from 1.
        number: usize,
    },
    /// A rule has a verdict that only Kennel itself may reach.
    #[error("verdict {number}: only Kennel itself can set the verdict {kind:?}")]
    NotForRules {
        /// The number of the rule, from 1.
        number: usize,
        /// The verdict.
        kind: &'static str,
    },
}

fn hint(name: &str) -> String {
    let near = |known: &&&str| strsim::osa_distance(&name.to_lowercase(), known) <= 2;
    match BUILT_IN.iter().find(near) {
        Some(known) => format!(" (did you mean {known:?}?)"),
        None => String::new(),
    }
}
