//! An agent program, and how to use it.

use std::sync::Arc;

use kennel_types::{AgentSettings, UsageScope};

use crate::claude::{self, ClaudeFormat};
use crate::codex::{self, CodexFormat};
use crate::described::Description;
use crate::error::{AgentError, BUILT_IN, ConversationError};
use crate::gemini::{self, GeminiFormat};
use crate::invocation::Invocation;
use crate::opencode::{self, OpencodeFormat};
use crate::output_format::OutputFormat;
use crate::reader::OutputReader;
use crate::stop_policy::StopPolicy;

/// An agent program that Kennel can use: built in, or described by a user.
#[derive(Debug, Clone)]
pub struct Agent {
    kind: AgentKind,
}

#[derive(Debug, Clone)]
enum AgentKind {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Described { name: String, description: Arc<Description> },
}

impl Agent {
    /// Returns the agent of a seat.
    ///
    /// # Errors
    ///
    /// The agent is unknown, or its description is invalid.
    pub fn of(seat: &AgentSettings) -> Result<Self, AgentError> {
        let name = || seat.agent.clone();
        let kind = match (seat.agent.as_str(), &seat.description) {
            (built_in, Some(_)) if BUILT_IN.contains(&built_in) => {
                return Err(AgentError::BuiltIn { name: name() });
            }
            (_, Some(text)) => {
                let description = Description::parse(text)
                    .map_err(|error| AgentError::Description { name: name(), error })?;
                AgentKind::Described { name: name(), description: Arc::new(description) }
            }
            ("claude", None) => AgentKind::Claude,
            ("codex", None) => AgentKind::Codex,
            ("gemini", None) => AgentKind::Gemini,
            ("opencode", None) => AgentKind::Opencode,
            _ => return Err(AgentError::UnknownAgent { name: name() }),
        };
        Ok(Self { kind })
    }

    /// Returns the agents that need no description.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        &BUILT_IN
    }

    /// Returns the agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            AgentKind::Claude => "claude",
            AgentKind::Codex => "codex",
            AgentKind::Gemini => "gemini",
            AgentKind::Opencode => "opencode",
            AgentKind::Described { name, .. } => name,
        }
    }

    /// Returns the program, which the caller looks up in the client's `PATH`.
    #[must_use]
    pub fn program(&self) -> &str {
        match &self.kind {
            AgentKind::Described { description, .. } => description.program(),
            _ => self.name(),
        }
    }

    /// Returns the arguments with which the program prints its version.
    #[must_use]
    pub fn version_args(&self) -> &[String] {
        static ARGS: std::sync::LazyLock<[String; 1]> =
            std::sync::LazyLock::new(|| ["--version".to_owned()]);
        match &self.kind {
            AgentKind::Described { description, .. } => description.version_args(),
            _ => &*ARGS,
        }
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
    pub fn check_conversation(&self, id: &str) -> Result<(), ConversationError> {
        let (valid, form) = match &self.kind {
            AgentKind::Claude | AgentKind::Codex | AgentKind::Gemini => {
                (is_uuid(id), "a UUID, such as 01234567-89ab-4cde-8f01-23456789abcd".to_owned())
            }
            AgentKind::Opencode => {
                (is_opencode_id(id), "\"ses_\" followed by letters and digits".to_owned())
            }
            AgentKind::Described { description, .. } => description.check_conversation(id),
        };
        if valid {
            return Ok(());
        }
        Err(ConversationError { agent: self.name().to_owned(), id: id.to_owned(), form })
    }

    /// Returns the command for one prompt, which it reads from standard input.
    /// [`reader`](Self::reader) reads its output.
    ///
    /// # Errors
    ///
    /// The agent doesn't support a setting of the seat, or the conversation id is invalid.
    pub fn one_shot(
        &self,
        seat: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.check(seat, conversation)?;
        match &self.kind {
            AgentKind::Claude => claude::one_shot(seat, conversation),
            AgentKind::Codex => codex::one_shot(seat, conversation),
            AgentKind::Gemini => gemini::one_shot(seat, conversation),
            AgentKind::Opencode => opencode::one_shot(seat, conversation),
            AgentKind::Described { name, description } => {
                description.one_shot(name, seat, conversation)
            }
        }
    }

    /// Returns the command for interactive use in a terminal.
    ///
    /// # Errors
    ///
    /// As for [`one_shot`](Self::one_shot).
    pub fn interactive(
        &self,
        seat: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.check(seat, conversation)?;
        match &self.kind {
            AgentKind::Claude => claude::interactive(seat, conversation),
            AgentKind::Codex => codex::interactive(seat, conversation),
            AgentKind::Gemini => gemini::interactive(seat, conversation),
            AgentKind::Opencode => opencode::interactive(seat, conversation),
            AgentKind::Described { name, description } => {
                description.interactive(name, seat, conversation)
            }
        }
    }

    fn check(&self, seat: &AgentSettings, conversation: Option<&str>) -> Result<(), AgentError> {
        if seat.turns == Some(0) {
            return Err(AgentError::NoTurns);
        }
        if let Some(id) = conversation {
            self.check_conversation(id)?;
        }
        Ok(())
    }

    /// Returns how to stop the agent before it is killed.
    #[must_use]
    pub fn stop_policy(&self) -> StopPolicy {
        match &self.kind {
            AgentKind::Claude => claude::STOP_POLICY,
            AgentKind::Codex => codex::STOP_POLICY,
            AgentKind::Gemini => gemini::STOP_POLICY,
            AgentKind::Opencode => opencode::STOP_POLICY,
            AgentKind::Described { description, .. } => description.stop_policy(),
        }
    }

    /// Returns whether the agent reports the usage of the attempt or of the whole conversation.
    #[must_use]
    pub fn usage_scope(&self) -> UsageScope {
        match &self.kind {
            AgentKind::Codex => UsageScope::Conversation,
            _ => UsageScope::Attempt,
        }
    }

    /// Returns a reader for the output of one attempt.
    #[must_use]
    pub fn reader(&self) -> OutputReader {
        let format: Box<dyn OutputFormat> = match &self.kind {
            AgentKind::Claude => Box::<ClaudeFormat>::default(),
            AgentKind::Codex => Box::<CodexFormat>::default(),
            AgentKind::Gemini => Box::<GeminiFormat>::default(),
            AgentKind::Opencode => Box::<OpencodeFormat>::default(),
            AgentKind::Described { description, .. } => Description::format(description),
        };
        OutputReader::new(format)
    }
}

fn is_uuid(id: &str) -> bool {
    let groups: Vec<&str> = id.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && id.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

fn is_opencode_id(id: &str) -> bool {
    let rest = id.strip_prefix("ses_").unwrap_or_default();
    (1..=128).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
}
