//! What the daemon is asked for.

use std::ffi::OsStr;
use std::io::Read;

use kennel_types::api::{CreateRequest, Text};
use kennel_types::{
    AgentSpec, SessionSpec, SessionView, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT, Wish,
};
use rustix::termios::isatty;

use super::args::AskArgs;
use crate::command_error::CommandError;
use crate::connect::{AskError, DaemonClient, Patience, Sent, find_inside};
use crate::exit_code;
use crate::home::Home;
use crate::run::client_env;

/// The longest prompt.
const LONGEST: u64 = 4 << 20;
/// How often a request with a key is repeated if daemons vanish over it.
const MOST_LOSSES: u32 = 50;

/// Who is asked, and what.
struct AskTarget<'a> {
    member: Option<&'a str>,
    prompt: Option<&'a str>,
}

fn words(args: &AskArgs) -> Result<AskTarget<'_>, CommandError> {
    let usage = |text: &str| CommandError::because(exit_code::USAGE, text.to_owned());
    match (&args.agent, &args.words[..]) {
        (Some(_), []) => Ok(AskTarget { member: None, prompt: None }),
        (Some(_), [prompt]) => Ok(AskTarget { member: None, prompt: Some(prompt) }),
        (Some(_), _) => Err(usage("--agent says whom to ask: there is one prompt besides")
            .hint("put the prompt into quotes")),
        (None, [member]) => Ok(AskTarget { member: Some(member), prompt: None }),
        (None, [member, prompt]) => Ok(AskTarget { member: Some(member), prompt: Some(prompt) }),
        (None, [_, _, ..]) => {
            Err(usage("after the member there is one prompt").hint("put the prompt into quotes"))
        }
        (None, []) => Err(usage("it is not said whom to ask")
            .hint("`kennel ask MEMBER PROMPT`, or `kennel ask --agent claude PROMPT`")),
    }
}

/// Puts the request together. Reads standard input if the prompt is there.
pub(super) fn request(home: &Home, args: &AskArgs) -> Result<CreateRequest, CommandError> {
    let words = words(args)?;
    if words.member.is_some() && args.seat.is_said() {
        let text = "a member has its own model, turns, permissions and arguments";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("add another member, or ask the agent itself with --agent"));
    }
    let seat = match &args.agent {
        Some(agent) => args.seat.seat(agent)?,
        None => kennel_types::Seat::default(),
    };
    let env = client_env::environment(&args.env_file, &args.env, args.name.as_deref())
        .map_err(CommandError::setup)?;
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let within = u64::try_from(args.retry_within.as_millis()).unwrap_or(u64::MAX);
    let agent = AgentSpec {
        seat,
        member: words.member.map(ToOwned::to_owned),
        wish: match (&args.resume, args.fresh) {
            (Some(id), _) => Wish::Resume { id: id.clone() },
            (None, true) => Wish::Fresh,
            (None, false) => Wish::Continue,
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
        linger: USUAL_LINGER,
        lease: Some(USUAL_LEASE),
        parent: find_inside(home)
            .and_then(|inside| inside.session)
            .and_then(|id| kennel_types::SessionId::parse(&id).ok()),
        output_limit: USUAL_OUTPUT,
        asked_by: asked_by(),
        key: args.key.clone(),
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
        queue: args.queue,
        prompt: Some(prompt(words.prompt)?),
        ..CreateRequest::default()
    })
}

fn asked_by() -> String {
    // With the pid: by it we know whether it was us whom it was asked for.
    let user = rustix::process::getuid().as_raw();
    format!("kennel ask (user {user}, pid {})", std::process::id())
}

/// What was said, or what standard input has.
fn prompt(said: Option<&str>) -> Result<String, CommandError> {
    let usage = |text: String| CommandError::because(exit_code::USAGE, text);
    match said {
        Some(text) if text != "-" => return Ok(text.to_owned()),
        None if isatty(rustix::stdio::stdin()) => {
            return Err(usage("there is no prompt".to_owned())
                .hint("put it behind, in quotes, or send it to standard input"));
        }
        _ => {}
    }
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut text);
    read.map_err(|error| {
        CommandError::setup(anyhow::Error::from(error).context("can't read the prompt"))
    })?;
    if text.len() as u64 > LONGEST {
        return Err(usage(format!("the prompt has more than {LONGEST} bytes"))
            .hint("put it into a file, and have the agent read that"));
    }
    let text = String::from_utf8(text);
    text.map_err(|error| usage(format!("the prompt is no UTF-8 ({error})")))
}

/// Asks; with a key again and again, if daemons vanish over it.
pub(super) fn send(
    daemon: &DaemonClient,
    request: &CreateRequest,
) -> Result<SessionView, CommandError> {
    let mut losses = 0;
    loop {
        let sent =
            daemon.send("POST", "/v1/sessions?until=accepted", Some(request), Patience::Endless);
        match sent.and_then(Sent::receive::<SessionView>) {
            Ok(session) => return Ok(session),
            Err(error) if may_repeat(&error, request) && losses < MOST_LOSSES => {
                losses += 1;
                daemon.find_again_later()?;
            }
            Err(error) if error.is_gone() => {
                let text = format!("nobody can tell whether it was asked: {error}");
                return Err(CommandError::because(exit_code::UNKNOWN, text)
                    .hint("`kennel ps -a` lists it if it was; with --key it can be asked again"));
            }
            Err(error) => return Err(CommandError::from(error)),
        }
    }
}

/// A daemon that was leaving has taken nothing; with a key the same request is the same session.
fn may_repeat(error: &AskError, request: &CreateRequest) -> bool {
    let keyed = request.spec.key.is_some();
    error.is_gone_or_leaving() && (keyed || !error.is_gone())
}
