//! The arguments of `kennel ask`, and those that `chat` and `member add` share with it.

use std::ffi::OsString;
use std::path::PathBuf;

use kennel_agents::Agent;
use kennel_types::api::CreateRequest;
use kennel_types::{
    AgentSettings, AgentSpec, ConversationChoice, DEFAULT_LEASE, DEFAULT_LINGER,
    DEFAULT_OUTPUT_LIMIT, PenKind, Permissions, SessionSpec,
};

use super::outcome::{AnswerFormat, EXIT_CODES};
use crate::command_prelude::*;
use crate::quantity::parse_new_name;
use crate::run::{LimitArgs, PENS, WorktreeArgs, choice, client_env, parent, parse_key};

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AskArgs {
    /// Agent to ask instead of a member: claude, codex, gemini, opencode, or the
    /// one in --description
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Run in the background and print the id; `kennel answer` prints the answer
    #[arg(short, long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) conversation: ConversationArgs,
    /// Wait if the member is busy or too many sessions are running
    #[arg(long)]
    pub(crate) queue: bool,
    /// Print the result as a JSON object
    #[arg(long, conflicts_with_all = ["stream", "detach"])]
    pub(crate) json: bool,
    /// Print events as they happen, one JSON object per line; the last one is
    /// the result, as with --json
    #[arg(long, conflicts_with = "detach")]
    pub(crate) stream: bool,
    /// Don't show the agent's activity
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Maximum number of retries after a failure of the provider
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) retries: u32,
    /// Start no retry after this time; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) retry_within: Duration,
    /// Retry even if the agent has, or may have, already done some work
    #[arg(long)]
    pub(crate) replay: bool,
    /// Time between TERM and KILL when the session is stopped (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) grace: Duration,
    /// Kind of pen that contains the processes; `kennel doctor` tests each
    #[arg(long, default_value = "auto", value_parser = choice(PENS))]
    pub(crate) pen: PenKind,
    /// Name of the session
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    pub(crate) name: Option<String>,
    /// Idempotency key: requests with the same key are one prompt
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// Member to ask (unless --agent is given), then the prompt. `-` reads it from
    /// standard input; so does no prompt, unless standard input is a terminal
    #[arg(value_name = "MEMBER] [PROMPT", num_args = 0..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) session: AgentSessionArgs,
}

impl AskArgs {
    pub(crate) fn format(&self) -> AnswerFormat {
        match (self.json, self.stream) {
            (true, _) => AnswerFormat::Json,
            (_, true) => AnswerFormat::JsonLine,
            _ => AnswerFormat::Text,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AnswerArgs {
    /// Print the result as a JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Fail instead of waiting if the prompt is still running
    #[arg(long)]
    pub(super) no_wait: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    pub(super) session: String,
}

#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    /// Start a new conversation [default: continue the member's]
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
}

impl ConversationArgs {
    pub(crate) fn choice(&self) -> ConversationChoice {
        match (&self.resume, self.fresh) {
            (Some(id), _) => ConversationChoice::Resume { id: id.clone() },
            (None, true) => ConversationChoice::Fresh,
            (None, false) => ConversationChoice::Continue,
        }
    }
}

/// The flags of `ask` and `chat` about the agent and its session.
#[derive(Debug, Args)]
pub(crate) struct AgentSessionArgs {
    /// Working folder, with --agent [default: the current one]
    #[arg(long, value_name = "DIR", requires = "agent")]
    cwd: Option<PathBuf>,
    /// Set an environment variable; NAME alone requires that it is already set
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<OsString>,
    /// Read environment variables from a file of NAME=VALUE lines
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    #[command(flatten)]
    agent_args: AgentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    worktree: WorktreeArgs,
}

impl AgentSessionArgs {
    /// Builds a request for a session of this agent, or of the member in the specification.
    pub(crate) fn request(
        &self,
        home: &HomeDir,
        agent: Option<&str>,
        mut agent_spec: AgentSpec,
        spec: SessionSpec,
    ) -> Result<CreateRequest, CommandError> {
        if agent_spec.member.is_some() && self.agent_args.any_given() {
            let text = "a member has its own model, turns, permissions and arguments: these flags need --agent";
            return Err(CommandError::usage(text)
                .hint("add another member, or use --agent instead of a member"));
        }
        if let Some(agent) = agent {
            agent_spec.settings = self.agent_args.settings(agent)?;
        }
        let mut spec = SessionSpec {
            linger: DEFAULT_LINGER,
            lease: Some(DEFAULT_LEASE),
            parent: parent(home),
            output_limit: DEFAULT_OUTPUT_LIMIT,
            agent: Some(Box::new(agent_spec)),
            ..spec
        };
        self.limits.fill(&mut spec);
        self.worktree.fill(&mut spec);
        let (name, cwd) = (spec.name.as_deref(), self.cwd.as_deref());
        let ours = client_env::request(&self.env_file, &self.env, name, cwd)?;
        Ok(CreateRequest { spec, ..ours })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Agent options")]
pub(crate) struct AgentArgs {
    /// Model to use [default: the agent's own]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Maximum number of turns, if the agent supports such a limit
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    turns: Option<u32>,
    /// What the agent may do without asking; with `kennel ask`, it can't ask
    #[arg(long, default_value = "default", value_parser = choice(PERMISSIONS))]
    permissions: Permissions,
    /// Additional argument for the agent; may be repeated
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    args: Vec<String>,
    /// File that describes an agent unknown to Kennel (see docs/agents.md)
    #[arg(long, value_name = "FILE")]
    description: Option<PathBuf>,
}

const PERMISSIONS: &[(&str, Permissions, &str)] = &[
    ("default", Permissions::Default, "Whatever its own settings allow"),
    ("read-only", Permissions::ReadOnly, "Read files, but change nothing"),
    ("edit", Permissions::Edit, "Edit files in its folder"),
    ("all", Permissions::All, "Anything"),
];

impl AgentArgs {
    pub(crate) fn settings(&self, agent: &str) -> Result<AgentSettings, CommandError> {
        let about = |path: &PathBuf| format!("--description {}", path.display());
        let read = |path| {
            std::fs::read_to_string(path).with_context(|| about(path)).map_err(CommandError::setup)
        };
        let settings = AgentSettings {
            agent: agent.to_owned(),
            description: self.description.as_ref().map(read).transpose()?,
            model: self.model.clone(),
            turns: self.turns,
            permissions: self.permissions,
            args: self.args.clone(),
        };
        if let Some(path) = &self.description {
            Agent::of(&settings).with_context(|| about(path)).map_err(CommandError::setup)?;
        }
        Ok(settings)
    }

    /// Whether any of these flags was given. A member has its own configuration.
    pub(crate) fn any_given(&self) -> bool {
        self.model.is_some()
            || self.turns.is_some()
            || self.permissions != Permissions::Default
            || !self.args.is_empty()
            || self.description.is_some()
    }
}
