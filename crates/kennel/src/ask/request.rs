//! The request that `kennel ask` sends.

use std::io::Read;

use kennel_types::api::CreateRequest;
use kennel_types::{AgentSpec, SessionSpec};

use super::args::AskArgs;
use crate::command_prelude::*;
use crate::run::asked_by;

const MAX_PROMPT: u64 = 4 << 20;

/// Returns the member and the prompt among the positional arguments.
fn target(args: &AskArgs) -> Result<(Option<&String>, Option<&String>), CommandError> {
    match (&args.agent, &args.words[..]) {
        (Some(_), []) => Ok((None, None)),
        (Some(_), [prompt]) => Ok((None, Some(prompt))),
        (None, [member]) => Ok((Some(member), None)),
        (None, [member, prompt]) => Ok((Some(member), Some(prompt))),
        (Some(_), _) => {
            Err(CommandError::usage("with --agent, only one argument is allowed: the prompt")
                .hint("put the prompt in quotes"))
        }
        (None, [_, _, ..]) => {
            Err(CommandError::usage("only one argument is allowed after the member: the prompt")
                .hint("put the prompt in quotes"))
        }
        (None, []) => Err(CommandError::usage("no member or agent given")
            .hint("use `kennel ask MEMBER PROMPT` or `kennel ask --agent claude PROMPT`")),
    }
}

/// Builds the request. Reads standard input if the prompt is there.
pub(super) fn request(home: &HomeDir, args: &AskArgs) -> Result<CreateRequest, CommandError> {
    let (member, words) = target(args)?;
    let within = u64::try_from(args.retry_within.as_millis()).unwrap_or(u64::MAX);
    let agent = AgentSpec {
        member: member.cloned(),
        conversation_choice: args.conversation.choice(),
        retries: args.retries,
        retry_within_ms: (within > 0).then_some(within),
        replay: args.replay,
        cancel_on_disconnect: !args.detach,
        ..AgentSpec::default()
    };
    let spec = SessionSpec {
        name: args.name.clone(),
        pen: args.pen,
        grace: args.grace,
        // The pid identifies the session as created by this process.
        asked_by: asked_by("kennel ask"),
        key: args.key.clone(),
        ..SessionSpec::default()
    };
    let request = args.session.request(home, args.agent.as_deref(), agent, spec)?;
    let prompt = Some(prompt(words.map(String::as_str))?);
    Ok(CreateRequest { queue: args.queue, prompt, ..request })
}

/// Returns the prompt on the command line or on standard input.
fn prompt(argument: Option<&str>) -> Result<String, CommandError> {
    match argument {
        Some(text) if text != "-" => return Ok(text.to_owned()),
        None if isatty(rustix::stdio::stdin()) => {
            return Err(CommandError::usage("no prompt given")
                .hint("add it in quotes, or pipe it to standard input"));
        }
        _ => {}
    }
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(MAX_PROMPT + 1).read_to_end(&mut text);
    read.context("can't read the prompt").map_err(CommandError::setup)?;
    if text.len() as u64 > MAX_PROMPT {
        return Err(CommandError::usage(format!("the prompt is longer than {MAX_PROMPT} bytes"))
            .hint("write it to a file and ask the agent to read that"));
    }
    let text = String::from_utf8(text);
    text.map_err(|error| CommandError::usage(format!("the prompt is not valid UTF-8 ({error})")))
}

/// Sends the request; with a key, repeats it if the daemon goes away.
pub(super) fn send(
    daemon: &DaemonClient,
    request: &CreateRequest,
) -> Result<SessionView, CommandError> {
    let mut retry = DaemonRetry::new();
    loop {
        let sent = daemon.send("POST", "/v1/sessions?until=accepted", Some(request), Timeout::None);
        match sent.and_then(Sent::receive::<SessionView>) {
            Ok(session) => return Ok(session),
            Err(error) if may_repeat(&error, request) && retry.another() => daemon.reconnect()?,
            Err(error) if error.is_gone() => {
                let text = format!("it is unknown whether the prompt was sent: {error}");
                return Err(CommandError::unknown(text)
                    .hint("if it was, `kennel ps -a` lists it; with --key, a prompt can be repeated safely"));
            }
            Err(error) => return Err(CommandError::from(error)),
        }
    }
}

/// A daemon that was shutting down has accepted nothing; with a key, a repeated request is safe.
fn may_repeat(error: &RequestError, request: &CreateRequest) -> bool {
    let keyed = request.spec.key.is_some();
    error.is_gone_or_shutting_down() && (keyed || !error.is_gone())
}
