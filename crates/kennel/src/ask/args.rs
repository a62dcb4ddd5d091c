//! The arguments of `kennel ask`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::agent_args::AgentArgs;
use super::outcome::{AnswerFormat, EXIT_CODES};
use crate::command_prelude::*;
use crate::quantity::parse_new_name;
use crate::run::{LimitArgs, PenChoice, WorktreeArgs};

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
    /// Start a new conversation [default: continue the member's]
    #[arg(long, conflicts_with = "resume")]
    pub(crate) fresh: bool,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Wait if the member is busy or too many sessions run
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
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pub(crate) pen: PenChoice,
    /// Name of the session
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    pub(crate) name: Option<String>,
    /// Idempotency key: requests with the same key are one prompt
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// Working folder [default: the member's, or the current one]
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set an environment variable; NAME alone requires that it is already set
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Read environment variables from a file of NAME=VALUE lines
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) agent_args: AgentArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) worktree: WorktreeArgs,
    /// Member to ask (unless --agent is given), then the prompt. Without a
    /// prompt, or with `-`, it is read from standard input
    #[arg(value_name = "MEMBER] [PROMPT", num_args = 0..)]
    pub(crate) words: Vec<String>,
}

fn parse_key(text: &str) -> Result<String, String> {
    kennel_types::check_key(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

impl AskArgs {
    /// Returns the output format.
    pub(crate) fn format(&self) -> AnswerFormat {
        match (self.json, self.stream) {
            (true, _) => AnswerFormat::Json,
            (_, true) => AnswerFormat::JsonLine,
            _ => AnswerFormat::Text,
        }
    }
}
