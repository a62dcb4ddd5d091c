//! `kennel chat`: an agent's own screen, for a person, in a session.
//!
//! It is a foreground run with a terminal, but for the command: that is the daemon's to make, since whose seat it is and
//! which conversation goes on is decided there, at the moment at which the member is found to be free.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kennel_types::api::{CreateRequest, Text};
use kennel_types::{AgentSpec, Seat, SessionSpec, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT, Wish};
use rustix::termios::isatty;

use super::create::{self, PendingLaunch, asked_by, parent};
use super::{Front, LimitArgs, PenChoice, WorktreeArgs, client_env, see_through};
use crate::ask::AgentArgs;
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals, like_ours, settings};
use crate::home::Home;
use crate::quantity::{parse_new_name, parse_time};
use crate::stopper::BY_CHAT;

/// The flags of `kennel chat`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ChatArgs {
    /// Talk to this agent, without a member: claude, codex, gemini, opencode,
    /// or one that --description tells of
    #[arg(long, value_name = "AGENT", required_unless_present = "member")]
    agent: Option<String>,
    /// Leave it to itself, and print its id; `kennel attach` comes before it
    #[arg(short, long)]
    detach: bool,
    /// Begin a new conversation [default: go on with the member's]
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
    /// Go on with this conversation
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// The keys that leave it going by itself; none: no keys
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// How long a stop waits between TERM and KILL (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Duration,
    /// What holds the processes; `kennel doctor` tries each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pen: PenChoice,
    /// A name for the session, told to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    name: Option<String>,
    /// The folder to work in [default: the member's, or this one]
    #[arg(long, value_name = "DIR", requires = "agent")]
    cwd: Option<PathBuf>,
    /// Set a variable, or (NAME alone) insist that it is set here
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    env: Vec<OsString>,
    /// Read variables from a file of NAME=VALUE lines
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,
    #[command(flatten)]
    seat: AgentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    worktree: WorktreeArgs,
    /// The member to talk to, unless --agent says whom
    #[arg(value_name = "MEMBER", conflicts_with = "agent")]
    member: Option<String>,
}

/// Starts the agent, and comes before it; gives the exit code.
pub(crate) fn chat(home: &Home, args: &ChatArgs) -> Result<u8, CommandError> {
    let plan = PendingLaunch::chat(request(home, args)?);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on a signal waits to be read, so that none falls into a gap.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, plan, &signals)?;
    let front = Front { detach: args.detach, wait_ready: false, detach_keys: &args.detach_keys };
    see_through(&daemon, home, front, created, &signals)
}

/// What the daemon is asked for.
fn request(home: &Home, args: &ChatArgs) -> Result<CreateRequest, CommandError> {
    if args.member.is_some() && args.seat.is_said() {
        let text = "a member has its own model, turns, permissions and arguments";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("add another member, or talk to the agent itself with --agent"));
    }
    let seat = args.agent.as_ref().map(|agent| args.seat.seat(agent)).transpose()?;
    let env = client_env::environment(&args.env_file, &args.env, args.name.as_deref())
        .map_err(CommandError::setup)?;
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let agent = AgentSpec {
        seat: seat.unwrap_or_else(Seat::default),
        member: args.member.clone(),
        wish: match (&args.resume, args.fresh) {
            (Some(id), _) => Wish::Resume { id: id.clone() },
            (None, true) => Wish::Fresh,
            (None, false) => Wish::Continue,
        },
        interactive: true,
        ..AgentSpec::default()
    };
    let mut spec = SessionSpec {
        name: args.name.clone(),
        terminal: Some(like_ours()),
        pen: args.pen.into(),
        grace: args.grace,
        linger: USUAL_LINGER,
        lease: Some(USUAL_LEASE),
        tethered: !args.detach,
        parent: parent(home),
        output_limit: USUAL_OUTPUT,
        asked_by: asked_by(BY_CHAT),
        agent: Some(Box::new(agent)),
        ..SessionSpec::default()
    };
    args.limits.fill(&mut spec);
    args.worktree.fill(&mut spec);
    let text = |text: &OsStr| Text::from(text);
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
