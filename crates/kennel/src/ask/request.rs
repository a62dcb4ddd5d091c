//! The request that `kennel ask` sends.

use std::ffi::OsStr;
use std::io::Read;

use kennel_types::api::{CreateRequest, OsText};
use kennel_types::{
    AgentSpec, ConversationChoice, DEFAULT_LEASE, DEFAULT_LINGER, DEFAULT_OUTPUT_LIMIT,
    SessionSpec, SessionView,
};
use rustix::termios::isatty;

use super::args::AskArgs;
use crate::command_prelude::*;
use crate::connect::find_inside;
use crate::run::client_env;

/// The maximum length of a prompt.
const MAX_PROMPT: u64 = 4 << 20;

/// The positional arguments.
struct AskTarget<'a> {
    member: Option<&'a str>,
    prompt: Option<&'a str>,
}

fn target(args: &AskArgs) -> Result<AskTarget<'_>, CommandError> {
    let usage = |text: &str| CommandError::because(exit_code::USAGE, text.to_owned());
    match (&args.agent, &args.words[..]) {
        (Some(_), []) => Ok(AskTarget { member: None, prompt: None }),
        (Some(_), [prompt]) => Ok(AskTarget { member: None, prompt: Some(prompt) }),
        (Some(_), _) => Err(usage("with --agent, only one argument is allowed: the prompt")
            .hint("put the prompt in quotes")),
        (None, [member]) => Ok(AskTarget { member: Some(member), prompt: None }),
        (None, [member, prompt]) => Ok(AskTarget { member: Some(member), prompt: Some(prompt) }),
        (None, [_, _, ..]) => {
            Err(usage("only one argument is allowed after the member: the prompt")
                .hint("put the prompt in quotes"))
        }
        (None, []) => Err(usage("no member or agent given")
            .hint("use `kennel ask MEMBER PROMPT` or `kennel ask --agent claude PROMPT`")),
    }
}

/// Builds the request. Reads standard input if the prompt is there.
pub(super) fn request(home: &HomeDir, args: &AskArgs) -> Result<CreateRequest, CommandError> {
    let target = target(args)?;
    if target.member.is_some() && args.agent_args.any_given() {
        let text = "a member has its own model, turns, permissions and arguments: these flags need --agent";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("add another member, or use --agent instead of a member"));
    }
    let seat = match &args.agent {
        Some(agent) => args.agent_args.seat(agent)?,
        None => kennel_types::AgentSettings::default(),
    };
    let env = client_env::environment(&args.env_file, &args.env, args.name.as_deref())
        .map_err(CommandError::setup)?;
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let within = u64::try_from(args.retry_within.as_millis()).unwrap_or(u64::MAX);
    let agent = AgentSpec {
        seat,
        member: target.member.map(ToOwned::to_owned),
        wish: match (&args.resume, args.fresh) {
            (Some(id), _) => ConversationChoice::Resume { id: id.clone() },
            (None, true) => ConversationChoice::Fresh,
            (None, false) => ConversationChoice::Continue,
        },
        retries: args.retries,
        retry_within_ms: (within > 0).then_some(within),
        replay: args.replay,
        tied: !args.detach,
        ..AgentSpec::default()
    };
    let mut spec = SessionSpec {
        name: args.name.clone(),
        pen: args.pen.into(),
        grace: args.grace,
        linger: DEFAULT_LINGER,
        lease: Some(DEFAULT_LEASE),
        parent: find_inside(home)
            .and_then(|inside| inside.session)
            .and_then(|id| kennel_types::SessionId::parse(&id).ok()),
        output_limit: DEFAULT_OUTPUT_LIMIT,
        asked_by: asked_by(),
        key: args.key.clone(),
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
        queue: args.queue,
        prompt: Some(prompt(target.prompt)?),
        ..CreateRequest::default()
    })
}

fn asked_by() -> String {
    // The pid identifies the session as created by this process.
    let user = rustix::process::getuid().as_raw();
    format!("kennel ask (user {user}, pid {})", std::process::id())
}

/// Returns the prompt on the command line or on standard input.
fn prompt(argument: Option<&str>) -> Result<String, CommandError> {
    let usage = |text: String| CommandError::because(exit_code::USAGE, text);
    match argument {
        Some(text) if text != "-" => return Ok(text.to_owned()),
        None if isatty(rustix::stdio::stdin()) => {
            return Err(usage("no prompt given".to_owned())
                .hint("add it in quotes, or pipe it to standard input"));
        }
        _ => {}
    }
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT + 1).read_to_end(&mut text);
    read.map_err(|error| {
        CommandError::setup(anyhow::Error::from(error).context("can't read the prompt"))
    })?;
    if text.len() as u64 > MAX_PROMPT {
        return Err(usage(format!("the prompt is longer than {MAX_PROMPT} bytes"))
            .hint("write it to a file and ask the agent to read that"));
    }
    let text = String::from_utf8(text);
    text.map_err(|error| usage(format!("the prompt is not valid UTF-8 ({error})")))
}

/// Sends the request; with a key, repeats it if the daemon goes away.
pub(super) fn send(
    daemon: &DaemonClient,
    request: &CreateRequest,
) -> Result<SessionView, CommandError> {
    let mut retry = DaemonRetry::new();
    loop {
        let sent =
            daemon.send("POST", "/v1/sessions?until=accepted", Some(request), Patience::Endless);
        match sent.and_then(Sent::receive::<SessionView>) {
            Ok(session) => return Ok(session),
            Err(error) if may_repeat(&error, request) && retry.another() => daemon.reconnect()?,
            Err(error) if error.is_gone() => {
                let text = format!("it is unknown whether the prompt was sent: {error}");
                return Err(CommandError::because(exit_code::UNKNOWN, text)
                    .hint("if it was, `kennel ps -a` lists it; with --key, a prompt can be repeated safely"));
            }
            Err(error) => return Err(CommandError::from(error)),
        }
    }
}

/// A daemon that was shutting down has accepted nothing; with a key, a repeated request is safe.
fn may_repeat(error: &RequestError, request: &CreateRequest) -> bool {
    let keyed = request.spec.key.is_some();
    error.is_gone_or_leaving() && (keyed || !error.is_gone())
}
