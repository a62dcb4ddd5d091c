//! The flags of `kennel ask`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::agent_args::AgentArgs;
use super::outcome::{AnswerFormat, EXIT_CODES};
use crate::quantity::{parse_new_name, parse_time};
use crate::run::{LimitArgs, PenChoice, WorktreeArgs};

/// The flags of `kennel ask`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct AskArgs {
    /// Ask this agent, without a member: claude, codex, gemini, opencode, or
    /// one that --description tells of
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Leave it to itself, and print its id; `kennel answer` has the answer
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Begin a new conversation [default: go on with the member's]
    #[arg(long, conflicts_with = "resume")]
    pub(crate) fresh: bool,
    /// Go on with this conversation, and no other in its place
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// If the member is busy, or too much runs: wait in line
    #[arg(long)]
    pub(crate) queue: bool,
    /// Print everything in one JSON object when it is over
    #[arg(long, conflicts_with_all = ["stream", "detach"])]
    pub(crate) json: bool,
    /// Print what happens as it does: one JSON object a line, the last one as
    /// with --json
    #[arg(long, conflicts_with = "detach")]
    pub(crate) stream: bool,
    /// Don't show what the agent does
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How often it is tried again by itself if the provider is to blame
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) retries: u32,
    /// No further try begins after this long; 0: however long it takes
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) retry_within: Duration,
    /// Try again even if it did work already, or may have
    #[arg(long)]
    pub(crate) replay: bool,
    /// How long a stop waits before it kills (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) grace: Duration,
    /// What holds the processes; `kennel doctor` tries each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pub(crate) pen: PenChoice,
    /// A name for the session
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    pub(crate) name: Option<String>,
    /// The same key is the same prompt: it is asked once, and has one answer
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    pub(crate) key: Option<String>,
    /// The folder to work in [default: the member's, or this one]
    #[arg(long, value_name = "DIR", requires = "agent")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, or (NAME alone) insist that it is set here
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<OsString>,
    /// Read variables from a file of NAME=VALUE lines
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) seat: AgentArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) worktree: WorktreeArgs,
    /// The member, unless --agent says whom; then the prompt. A prompt of `-`,
    /// or none, is read from standard input
    #[arg(value_name = "MEMBER] [PROMPT", num_args = 0..)]
    pub(crate) words: Vec<String>,
}

fn parse_key(text: &str) -> Result<String, String> {
    kennel_types::check_key(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

impl AskArgs {
    /// In which form the answer is printed.
    pub(crate) fn form(&self) -> AnswerFormat {
        match (self.json, self.stream) {
            (true, _) => AnswerFormat::Json,
            (_, true) => AnswerFormat::JsonLine,
            _ => AnswerFormat::Text,
        }
    }
}
