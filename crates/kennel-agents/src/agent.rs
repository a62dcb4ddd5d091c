//! An agent program, and how to use it.

use std::sync::{Arc, LazyLock};

use kennel_types::{AgentSettings, UsageScope};

use crate::described::Description;
use crate::error::{AgentError, BUILT_IN, TURNS};
use crate::invocation::Invocation;
use crate::output_format::OutputFormat;
use crate::reader::OutputReader;
use crate::stop_policy::StopPolicy;
use crate::{claude, codex, gemini, opencode};

/// An agent program that Kennel can use: built in, or described by a user.
#[derive(Debug, Clone)]
pub struct Agent {
    kind: AgentKind,
}

#[derive(Debug, Clone)]
enum AgentKind {
    BuiltIn(&'static BuiltInAgent),
    Described { name: String, description: Arc<Description> },
}

/// An agent that needs no description.
#[derive(Debug)]
pub(crate) struct BuiltInAgent {
    /// Its name, which is also the name of its program.
    pub(crate) name: &'static str,
    pub(crate) command: fn(&AgentLaunch<'_>) -> Result<Invocation, AgentError>,
    /// Whether it has an option for a limit of turns.
    pub(crate) limits_turns: bool,
    pub(crate) conversation: ConversationForm,
    pub(crate) stop_policy: StopPolicy,
    pub(crate) usage_scope: UsageScope,
    pub(crate) format: fn() -> Box<dyn OutputFormat>,
}

static BUILT_IN_AGENTS: [BuiltInAgent; 4] =
    [claude::AGENT, codex::AGENT, gemini::AGENT, opencode::AGENT];

/// How an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentMode {
    /// For one prompt, which it reads from standard input.
    OneShot,
    /// For use in a terminal.
    Interactive,
}

/// What the command of an agent depends on.
pub(crate) struct AgentLaunch<'a> {
    pub(crate) mode: AgentMode,
    pub(crate) settings: &'a AgentSettings,
    pub(crate) conversation: Option<&'a str>,
}

/// The form of an agent's conversation ids.
#[derive(Debug)]
pub(crate) struct ConversationForm {
    pub(crate) is_valid: fn(&str) -> bool,
    pub(crate) description: &'static str,
}

pub(crate) const UUID: ConversationForm = ConversationForm {
    is_valid: |id| {
        id.split('-').map(str::len).eq([8, 4, 4, 4, 12])
            && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
    },
    description: "a UUID, such as 01234567-89ab-4cde-8f01-23456789abcd",
};

impl Agent {
    /// Returns the agent of these settings.
    ///
    /// # Errors
    ///
    /// The agent is unknown, or its description is invalid.
    pub fn of(settings: &AgentSettings) -> Result<Self, AgentError> {
        let name = settings.agent.clone();
        let built_in = BUILT_IN_AGENTS.iter().find(|agent| agent.name == name);
        let kind = match (built_in, &settings.description) {
            (Some(_), Some(_)) => return Err(AgentError::BuiltIn { name }),
            (Some(agent), None) => AgentKind::BuiltIn(agent),
            (None, None) => return Err(AgentError::UnknownAgent { name }),
            (None, Some(text)) => match Description::parse(text) {
                Ok(parsed) => AgentKind::Described { name, description: Arc::new(parsed) },
                Err(error) => return Err(AgentError::Description { name, error }),
            },
        };
        Ok(Self { kind })
    }

    /// Returns the agents that need no description.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        &BUILT_IN
    }

    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            AgentKind::BuiltIn(agent) => agent.name,
            AgentKind::Described { name, .. } => name,
        }
    }

    /// Returns the program, which the caller looks up in the client's `PATH`.
    #[must_use]
    pub fn program(&self) -> &str {
        match &self.kind {
            AgentKind::BuiltIn(agent) => agent.name,
            AgentKind::Described { description, .. } => description.program(),
        }
    }

    /// Returns the arguments with which the program prints its version.
    #[must_use]
    pub fn version_args(&self) -> &[String] {
        static DEFAULT: LazyLock<[String; 1]> = LazyLock::new(|| ["--version".to_owned()]);
        match &self.kind {
            AgentKind::BuiltIn(_) => None,
            AgentKind::Described { description, .. } => description.version_args(),
        }
        .unwrap_or(&*DEFAULT)
    }

    /// Parses the version from the program's output: the first word that starts with a digit and
    /// contains a dot.
    #[must_use]
    pub fn read_version(&self, stdout: &str) -> Option<String> {
        stdout.split_whitespace().find_map(|word| {
            let version = word.trim_start_matches(['v', 'V']).trim_end_matches([',', ';', ')']);
            let numbered = version.starts_with(|c: char| c.is_ascii_digit());
            (numbered && version.contains('.')).then(|| version.to_owned())
        })
    }

    /// Checks the form of a conversation id.
    ///
    /// # Errors
    ///
    /// The agent's ids have another form.
    pub fn check_conversation(&self, id: &str) -> Result<(), AgentError> {
        let (valid, form) = match &self.kind {
            AgentKind::BuiltIn(BuiltInAgent { conversation, .. }) => {
                ((conversation.is_valid)(id), conversation.description.to_owned())
            }
            AgentKind::Described { description, .. } => description.check_conversation(id),
        };
        if valid {
            return Ok(());
        }
        Err(AgentError::Conversation { agent: self.name().to_owned(), id: id.to_owned(), form })
    }

    /// Returns the command for one prompt, which it reads from standard input.
    /// [`reader`](Self::reader) reads its output.
    ///
    /// # Errors
    ///
    /// The agent doesn't support one of the settings, or the conversation id is invalid.
    pub fn one_shot(
        &self,
        settings: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.command(&AgentLaunch { mode: AgentMode::OneShot, settings, conversation })
    }

    /// Returns the command for interactive use in a terminal.
    ///
    /// # Errors
    ///
    /// As for [`one_shot`](Self::one_shot).
    pub fn interactive(
        &self,
        settings: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.command(&AgentLaunch { mode: AgentMode::Interactive, settings, conversation })
    }

    fn command(&self, launch: &AgentLaunch<'_>) -> Result<Invocation, AgentError> {
        if launch.settings.turns == Some(0) {
            return Err(AgentError::NoTurns);
        }
        if let Some(id) = launch.conversation {
            self.check_conversation(id)?;
        }
        match &self.kind {
            AgentKind::BuiltIn(agent) if launch.settings.turns.is_some() && !agent.limits_turns => {
                Err(AgentError::unsupported(agent.name, TURNS))
            }
            AgentKind::BuiltIn(agent) => (agent.command)(launch),
            AgentKind::Described { name, description } => description.command(name, launch),
        }
    }

    /// Returns how to stop the agent before it is killed.
    #[must_use]
    pub fn stop_policy(&self) -> StopPolicy {
        match &self.kind {
            AgentKind::BuiltIn(agent) => agent.stop_policy,
            AgentKind::Described { description, .. } => description.stop_policy(),
        }
    }

    /// Returns whether the agent reports the usage of the attempt or of the whole conversation.
    #[must_use]
    pub fn usage_scope(&self) -> UsageScope {
        match &self.kind {
            AgentKind::BuiltIn(agent) => agent.usage_scope,
            AgentKind::Described { .. } => UsageScope::Attempt,
        }
    }

    /// Returns a reader for the output of one attempt.
    #[must_use]
    pub fn reader(&self) -> OutputReader {
        OutputReader::new(match &self.kind {
            AgentKind::BuiltIn(agent) => (agent.format)(),
            AgentKind::Described { description, .. } => Description::format(description),
        })
    }
}
