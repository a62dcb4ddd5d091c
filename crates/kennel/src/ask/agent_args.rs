//! Which agent, and how it is used.

use clap::{Args, ValueEnum};
use kennel_types::{Permissions, Seat};

use crate::command_error::CommandError;

/// The flags that say how an agent is used.
#[derive(Debug, Args)]
#[command(next_help_heading = "The agent")]
pub(crate) struct AgentArgs {
    /// Which model [default: the agent's own choice]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How many turns it may take, if it knows of turns
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    /// What it may do without asking; `ask` has nobody to be asked
    #[arg(long, value_enum, default_value_t = PermissionChoice::Default)]
    pub(crate) permissions: PermissionChoice,
    /// Another argument for it, as it is; may be given several times
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// A file that describes an agent which Kennel does not know (see
    /// docs/agents.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) description: Option<std::path::PathBuf>,
}

/// What an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionChoice {
    /// What its own settings say
    Default,
    /// Look, and change nothing
    ReadOnly,
    /// Change files in its folder
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
    /// The seat of this agent.
    pub(crate) fn seat(&self, agent: &str) -> Result<Seat, CommandError> {
        let read = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path).map_err(|error| {
                let error = anyhow::Error::from(error);
                CommandError::setup(error.context(format!("--description {}", path.display())))
            })
        };
        Ok(Seat {
            agent: agent.to_owned(),
            description: self.description.as_ref().map(read).transpose()?,
            model: self.model.clone(),
            turns: self.turns,
            permissions: self.permissions.into(),
            args: self.args.clone(),
        })
    }

    /// Whether something was said that a member's own seat says already.
    pub(crate) fn is_said(&self) -> bool {
        self.model.is_some()
            || self.turns.is_some()
            || self.permissions != PermissionChoice::Default
            || !self.args.is_empty()
            || self.description.is_some()
    }
}
