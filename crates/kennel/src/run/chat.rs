//! `kennel chat`: an agent's interactive user interface in a session.
//!
//! It is a foreground run with a terminal, except that the daemon builds the command: the daemon
//! decides which conversation continues, at the moment at which it finds the member free.

use kennel_types::api::{CreateRequest, Until};
use kennel_types::{AgentSpec, PenKind, SessionSpec};

use super::create::{PendingLaunch, asked_by};
use super::{PENS, RunMode, choice, launch_and_follow};
use crate::ask::{AgentSessionArgs, ConversationArgs};
use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, like_ours, settings};
use crate::quantity::parse_new_name;
use crate::stopper::BY_CHAT;

#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ChatArgs {
    /// Agent to start instead of a member: claude, codex, gemini, opencode, or
    /// the one in --description
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Run in the background and print the id; use `kennel attach` to attach
    #[arg(short, long)]
    detach: bool,
    #[command(flatten)]
    conversation: ConversationArgs,
    /// Key sequence that detaches from the session, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// Time between TERM and KILL when the session is stopped (500ms, 10s, 2m)
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, allow_hyphen_values = true)]
    grace: Duration,
    /// Kind of pen that contains the processes; `kennel doctor` tests each
    #[arg(long, default_value = "auto", value_parser = choice(PENS))]
    pen: PenKind,
    /// Name of the session, available to it as $KENNEL_SESSION_NAME
    #[arg(long, value_name = "NAME", value_parser = parse_new_name)]
    name: Option<String>,
    /// Member to start, unless --agent is given
    #[arg(value_name = "MEMBER", conflicts_with = "agent")]
    member: Option<String>,
    #[command(flatten)]
    session: AgentSessionArgs,
}

pub(crate) fn chat(home: &HomeDir, args: &ChatArgs) -> Result<u8, CommandError> {
    let launch = PendingLaunch::create(request(home, args)?, false, Until::Started);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let mode = RunMode { detach: args.detach, wait_ready: false, detach_keys: &args.detach_keys };
    launch_and_follow(&daemon, launch, mode)
}

fn request(home: &HomeDir, args: &ChatArgs) -> Result<CreateRequest, CommandError> {
    if args.agent.is_none() && args.member.is_none() {
        return Err(CommandError::usage("no member or agent given")
            .hint("use `kennel chat MEMBER` or `kennel chat --agent claude`"));
    }
    let agent = AgentSpec {
        member: args.member.clone(),
        conversation_choice: args.conversation.choice(),
        interactive: true,
        ..AgentSpec::default()
    };
    let spec = SessionSpec {
        name: args.name.clone(),
        terminal: Some(like_ours()),
        pen: args.pen,
        grace: args.grace,
        tethered: !args.detach,
        asked_by: asked_by(BY_CHAT),
        ..SessionSpec::default()
    };
    Ok(CreateRequest {
        terminal_settings: settings(),
        stderr_apart: !args.detach && !isatty(rustix::stdio::stderr()),
        ..args.session.request(home, args.agent.as_deref(), agent, spec)?
    })
}
