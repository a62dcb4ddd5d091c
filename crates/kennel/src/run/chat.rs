//! `kennel chat`: an agent's interactive user interface in a session.
//!
//! It is a foreground run with a terminal, except that the daemon builds the command: the daemon
//! decides which conversation continues, at the moment at which it finds the member free.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use kennel_types::api::{CreateRequest, OsText};
use kennel_types::{
    AgentSettings, AgentSpec, ConversationChoice, DEFAULT_LEASE, DEFAULT_LINGER,
    DEFAULT_OUTPUT_LIMIT, SessionSpec,
};
use rustix::termios::isatty;

use super::create::{self, PendingLaunch, asked_by, parent};
use super::{LimitArgs, PenChoice, RunMode, WorktreeArgs, client_env, see_through};
use crate::ask::AgentArgs;
use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals, like_ours, settings};
use crate::quantity::parse_new_name;
use crate::stopper::BY_CHAT;

#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ChatArgs {
    /// Agent to start instead of a member: claude, codex, gemini, opencode, or
    /// the one in --description
    #[arg(long, value_name = "AGENT", required_unless_present = "member")]
    agent: Option<String>,
    /// Run in the background and print the id; use `kennel attach` to attach
    #[arg(short, long)]
    detach: bool,
    /// Start a new conversation [default: continue the member's]
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
    /// Continue this conversation
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Key sequence that detaches from the session, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// Time between TERM and KILL when the session is stopped (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Duration,
    /// Kind of pen that contains the processes; `kennel doctor` tests each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pen: PenChoice,
    /// Name of the session, available to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    name: Option<String>,
    /// Working folder [default: the member's, or the current one]
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
    /// Member to start, unless --agent is given
    #[arg(value_name = "MEMBER", conflicts_with = "agent")]
    member: Option<String>,
}

/// Starts the agent, attaches to it, and returns the exit code.
pub(crate) fn chat(home: &HomeDir, args: &ChatArgs) -> Result<u8, CommandError> {
    let launch = PendingLaunch::chat(request(home, args)?);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on, signals are queued until they are read.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, launch, &signals)?;
    let mode = RunMode { detach: args.detach, wait_ready: false, detach_keys: &args.detach_keys };
    see_through(&daemon, home, mode, created, &signals)
}

/// Builds the request for the daemon.
fn request(home: &HomeDir, args: &ChatArgs) -> Result<CreateRequest, CommandError> {
    if args.member.is_some() && args.agent_args.any_given() {
        let text = "a member has its own model, turns, permissions and arguments: these flags need --agent";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("add another member, or use --agent instead of a member"));
    }
    let seat = args.agent.as_ref().map(|agent| args.agent_args.seat(agent)).transpose()?;
    let env = client_env::environment(&args.env_file, &args.env, args.name.as_deref())
        .map_err(CommandError::setup)?;
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let agent = AgentSpec {
        seat: seat.unwrap_or_else(AgentSettings::default),
        member: args.member.clone(),
        wish: match (&args.resume, args.fresh) {
            (Some(id), _) => ConversationChoice::Resume { id: id.clone() },
            (None, true) => ConversationChoice::Fresh,
            (None, false) => ConversationChoice::Continue,
        },
        interactive: true,
        ..AgentSpec::default()
    };
    let mut spec = SessionSpec {
        name: args.name.clone(),
        terminal: Some(like_ours()),
        pen: args.pen.into(),
        grace: args.grace,
        linger: DEFAULT_LINGER,
        lease: Some(DEFAULT_LEASE),
        tethered: !args.detach,
        parent: parent(home),
        output_limit: DEFAULT_OUTPUT_LIMIT,
        asked_by: asked_by(BY_CHAT),
        agent: Some(Box::new(agent)),
        ..SessionSpec::default()
    };
    args.limits.fill(&mut spec);
    args.worktree.fill(&mut spec);
    let text = |text: &OsStr| OsText::from(text);
    Ok(CreateRequest {
        spec,
        env: env.iter().map(|(name, value)| (text(name), text(value))).collect(),
        cwd: text(cwd.as_os_str()),
        umask: client_env::umask(),
        limits: client_env::limits(),
        terminal_settings: settings(),
        stderr_apart: !args.detach && !isatty(rustix::stdio::stderr()),
        ..CreateRequest::default()
    })
}
