//! A provider: which program it is, and what it is given.

use std::sync::Arc;

use kennel_types::Seat;

use crate::claude::{self, Claude};
use crate::codex::{self, Codex};
use crate::described::{Description, DescriptionError};
use crate::gemini::{self, Gemini};
use crate::invocation::Invocation;
use crate::manners::Manners;
use crate::opencode::{self, Opencode};
use crate::reader::{Dialect, Reader};

/// An agent program that Kennel knows how to use: built in, or described by a user.
#[derive(Debug, Clone)]
pub struct Agent {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Described { name: String, description: Arc<Description> },
}

const BUILT_IN: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Why an agent can't be used in this way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Nobody knows it.
    #[error("no agent is called {name:?}{}; there are {}, and any other with a description", hint(name), BUILT_IN.join(", "))]
    UnknownAgent {
        /// What it was called.
        name: String,
    },
    /// A description for one that needs none.
    #[error("{name} is built in; give the agent that you describe another name")]
    BuiltIn {
        /// Its name.
        name: String,
    },
    /// Its description is wrong.
    #[error("the description of {name:?} is wrong: {error}")]
    Description {
        /// The agent's name.
        name: String,
        /// What is wrong.
        error: DescriptionError,
    },
    /// It can't be told that.
    #[error(
        "{agent} has no way to be told {part}; leave it out, or set it in {agent}'s own configuration"
    )]
    Unsupported {
        /// The agent.
        agent: String,
        /// What it can't be told.
        part: &'static str,
    },
    /// It can't be told that when a person uses it on a terminal.
    #[error("{agent} can't be told {part} on a terminal, only with a prompt; leave it out")]
    NotInteractive {
        /// The agent.
        agent: String,
        /// What it can't be told.
        part: &'static str,
    },
    /// No turns at all.
    #[error("0 turns are none to answer in; give at least 1, or none for the agent's own limit")]
    NoTurns,
    /// The conversation can't be one of its.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
}

/// A part of a seat that not every agent can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Model,
    Turns,
    Permissions,
    Conversation,
    Terminal,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Turns => "how many turns it may take",
            Self::Permissions => "these permissions",
            Self::Conversation => "which conversation to go on with",
            Self::Terminal => "to work on a terminal",
        }
    }
}

impl AgentError {
    pub(crate) fn unsupported(agent: &str, part: Part) -> Self {
        Self::Unsupported { agent: agent.to_owned(), part: part.name() }
    }

    pub(crate) fn interactive(agent: &str, part: Part) -> Self {
        Self::NotInteractive { agent: agent.to_owned(), part: part.name() }
    }
}

/// An id that can't be a conversation of this agent's.
///
/// It is found before the launch: some agents begin a new conversation, and exit with 0, if an id has not the form that
/// they expect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id:?} can't be a conversation of {agent}: its ids are {form}")]
pub struct ConversationError {
    /// The agent.
    pub agent: String,
    /// The id.
    pub id: String,
    /// What its ids look like.
    pub form: String,
}

/// What the tokens that an agent tells are the sum of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageOf {
    /// This attempt.
    Attempt,
    /// The whole conversation so far: what was told of it before has to be taken off.
    Conversation,
}

fn hint(name: &str) -> String {
    let near = |known: &&&str| strsim::osa_distance(&name.to_lowercase(), known) <= 2;
    match BUILT_IN.iter().find(near) {
        Some(known) => format!(" (did you mean {known:?}?)"),
        None => String::new(),
    }
}

impl Agent {
    /// The agent of a seat.
    ///
    /// # Errors
    ///
    /// If nobody knows it, or if its description is wrong.
    pub fn of(seat: &Seat) -> Result<Self, AgentError> {
        let name = || seat.agent.clone();
        let kind = match (seat.agent.as_str(), &seat.description) {
            (built_in, Some(_)) if BUILT_IN.contains(&built_in) => {
                return Err(AgentError::BuiltIn { name: name() });
            }
            (_, Some(text)) => {
                let description = Description::parse(text)
                    .map_err(|error| AgentError::Description { name: name(), error })?;
                Kind::Described { name: name(), description: Arc::new(description) }
            }
            ("claude", None) => Kind::Claude,
            ("codex", None) => Kind::Codex,
            ("gemini", None) => Kind::Gemini,
            ("opencode", None) => Kind::Opencode,
            _ => return Err(AgentError::UnknownAgent { name: name() }),
        };
        Ok(Self { kind })
    }

    /// Those that need no description.
    #[must_use]
    pub fn builtin_names() -> &'static [&'static str] {
        &BUILT_IN
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::Gemini => "gemini",
            Kind::Opencode => "opencode",
            Kind::Described { name, .. } => name,
        }
    }

    /// The program to be found in the client's `PATH`.
    #[must_use]
    pub fn program(&self) -> &str {
        match &self.kind {
            Kind::Described { description, .. } => description.program(),
            _ => self.name(),
        }
    }

    /// The arguments with which it tells its version.
    #[must_use]
    pub fn version_args(&self) -> &[String] {
        static ARGS: std::sync::LazyLock<[String; 1]> =
            std::sync::LazyLock::new(|| ["--version".to_owned()]);
        match &self.kind {
            Kind::Described { description, .. } => description.version_args(),
            _ => &*ARGS,
        }
    }

    /// Its version, from what it prints then: the first word that begins with a number and has a point in it.
    #[must_use]
    pub fn read_version(&self, stdout: &str) -> Option<String> {
        stdout.split_whitespace().find_map(|word| {
            let version = word.trim_start_matches(['v', 'V']).trim_end_matches([',', ';', ')']);
            let numbered = version.starts_with(|c: char| c.is_ascii_digit());
            (numbered && version.contains('.')).then(|| version.to_owned())
        })
    }

    /// Whether this can be the id of one of its conversations.
    ///
    /// # Errors
    ///
    /// If it can't.
    pub fn check_conversation(&self, id: &str) -> Result<(), ConversationError> {
        let (good, form) = match &self.kind {
            Kind::Claude | Kind::Codex | Kind::Gemini => {
                (is_uuid(id), "UUIDs, such as 01234567-89ab-4cde-8f01-23456789abcd".to_owned())
            }
            Kind::Opencode => (is_opencode_id(id), "\"ses_\" and letters and digits".to_owned()),
            Kind::Described { description, .. } => description.check_conversation(id),
        };
        if good {
            return Ok(());
        }
        Err(ConversationError { agent: self.name().to_owned(), id: id.to_owned(), form })
    }

    /// What to start for one prompt, which goes in by standard input; it prints what its [`reader`](Self::reader) reads.
    ///
    /// # Errors
    ///
    /// If the seat asks for something that this agent can't be told, or if the conversation can't be one of its.
    pub fn one_shot(
        &self,
        seat: &Seat,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.check(seat, conversation)?;
        match &self.kind {
            Kind::Claude => claude::one_shot(seat, conversation),
            Kind::Codex => codex::one_shot(seat, conversation),
            Kind::Gemini => gemini::one_shot(seat, conversation),
            Kind::Opencode => opencode::one_shot(seat, conversation),
            Kind::Described { name, description } => description.one_shot(name, seat, conversation),
        }
    }

    /// What to start on a terminal.
    ///
    /// # Errors
    ///
    /// As [`one_shot`](Self::one_shot).
    pub fn interactive(
        &self,
        seat: &Seat,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.check(seat, conversation)?;
        match &self.kind {
            Kind::Claude => claude::interactive(seat, conversation),
            Kind::Codex => codex::interactive(seat, conversation),
            Kind::Gemini => gemini::interactive(seat, conversation),
            Kind::Opencode => opencode::interactive(seat, conversation),
            Kind::Described { name, description } => {
                description.interactive(name, seat, conversation)
            }
        }
    }

    fn check(&self, seat: &Seat, conversation: Option<&str>) -> Result<(), AgentError> {
        if seat.turns == Some(0) {
            return Err(AgentError::NoTurns);
        }
        if let Some(id) = conversation {
            self.check_conversation(id)?;
        }
        Ok(())
    }

    /// How to stop it before it is killed.
    #[must_use]
    pub fn manners(&self) -> Manners {
        match &self.kind {
            Kind::Claude => claude::MANNERS,
            Kind::Codex => codex::MANNERS,
            Kind::Gemini => gemini::MANNERS,
            Kind::Opencode => opencode::MANNERS,
            Kind::Described { description, .. } => description.manners(),
        }
    }

    /// What the tokens that it tells are the sum of.
    #[must_use]
    pub fn usage_of(&self) -> UsageOf {
        match &self.kind {
            Kind::Codex => UsageOf::Conversation,
            _ => UsageOf::Attempt,
        }
    }

    /// A reader for the output of one attempt.
    #[must_use]
    pub fn reader(&self) -> Reader {
        let dialect: Box<dyn Dialect> = match &self.kind {
            Kind::Claude => Box::<Claude>::default(),
            Kind::Codex => Box::<Codex>::default(),
            Kind::Gemini => Box::<Gemini>::default(),
            Kind::Opencode => Box::<Opencode>::default(),
            Kind::Described { description, .. } => Description::dialect(description),
        };
        Reader::new(dialect)
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
