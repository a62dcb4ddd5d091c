//! Flags that configure an agent.

use kennel_types::{AgentSettings, Permissions};

use crate::command_prelude::*;

/// The flags that configure an agent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Agent options")]
pub(crate) struct AgentArgs {
    /// Model to use [default: the agent's own]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Maximum number of turns, if the agent supports such a limit
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    /// What the agent may do without asking; in `ask`, it can't ask
    #[arg(long, value_enum, default_value_t = PermissionChoice::Default)]
    pub(crate) permissions: PermissionChoice,
    /// Additional argument for the agent; may be repeated
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// File that describes an agent unknown to Kennel (see docs/agents.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) description: Option<std::path::PathBuf>,
}

/// What an agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionChoice {
    /// Whatever its own settings allow
    Default,
    /// Read files, but change nothing
    ReadOnly,
    /// Edit files in its folder
    Edit,
    /// Anything
    All,
}

impl From<PermissionChoice> for Permissions {
    fn from(choice: PermissionChoice) -> Self {
        match choice {
            PermissionChoice::Default => Self::Default,
            PermissionChoice::ReadOnly => Self::ReadOnly,
            PermissionChoice::Edit => Self::Edit,
            PermissionChoice::All => Self::All,
        }
    }
}

impl AgentArgs {
    /// Returns the configuration for this agent.
    pub(crate) fn seat(&self, agent: &str) -> Result<AgentSettings, CommandError> {
        let read = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path).map_err(|error| {
                let error = anyhow::Error::from(error);
                CommandError::setup(error.context(format!("--description {}", path.display())))
            })
        };
        Ok(AgentSettings {
            agent: agent.to_owned(),
            description: self.description.as_ref().map(read).transpose()?,
            model: self.model.clone(),
            turns: self.turns,
            permissions: self.permissions.into(),
            args: self.args.clone(),
        })
    }

    /// Whether any of these flags was given. A member has its own configuration.
    pub(crate) fn any_given(&self) -> bool {
        self.model.is_some()
            || self.turns.is_some()
            || self.permissions != PermissionChoice::Default
            || !self.args.is_empty()
            || self.description.is_some()
    }
}
