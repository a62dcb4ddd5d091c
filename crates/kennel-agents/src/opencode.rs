//! opencode.
//!
//! One message a line (`run --format json`): for each step `step_start`, `text`, `tool_use` (told when the tool is
//! over), `step_finish` with its reason; or an `error`. Its end is a step that finished for no further one.

use std::time::Duration;

use kennel_types::{Permissions, Seat, Usage, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentError, Part};
use crate::invocation::Invocation;
use crate::json::{About, Amount, Count, Text};
use crate::manners::{Manners, PoliteSignal};
use crate::reader::{Dialect, Happening, Refusal, Tell, Understood};
use crate::seen::{Failure, Seen};

pub(crate) const MANNERS: Manners = Manners {
    signal: PoliteSignal::Term,
    whole_tree: true,
    kill_once_told: false,
    why: "a TERM ends it at once and leaves its tool alive, so the tool is asked as well",
};

pub(crate) fn one_shot(seat: &Seat, conversation: Option<&str>) -> Result<Invocation, AgentError> {
    let start = Invocation::of("opencode").args(["run", "--format", "json"]);
    let start = with_seat(start, seat, conversation)?;
    let start = if seat.permissions == Permissions::All { start.args(["--auto"]) } else { start };
    Ok(start.args(&seat.args))
}

pub(crate) fn interactive(
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.permissions == Permissions::All {
        return Err(AgentError::interactive("opencode", Part::Permissions));
    }
    Ok(with_seat(Invocation::of("opencode"), seat, conversation)?.args(&seat.args))
}

fn with_seat(
    start: Invocation,
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("opencode", Part::Turns));
    }
    let start = start.flag("--model", seat.model.as_ref());
    let start = match seat.permissions {
        Permissions::Default | Permissions::All => start,
        Permissions::ReadOnly => start.args(["--agent", "plan"]).set(
            "OPENCODE_PERMISSION",
            r#"{"edit":"deny","bash":"deny","external_directory":"deny"}"#,
        ),
        Permissions::Edit => start.set(
            "OPENCODE_PERMISSION",
            r#"{"edit":"allow","bash":"deny","external_directory":"deny"}"#,
        ),
    };
    Ok(start.flag("--session", conversation))
}

/// How it says that it does not begin.
const REFUSALS: &[Refusal] = &[
    Refusal { has: "Session not found", kind: VerdictKind::StaleConversation },
    // All that it says to an argument that it doesn't know is how it is used.
    Refusal { has: "opencode run [message..]", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Unknown argument", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Invalid values:", kind: VerdictKind::RefusedFlags },
];

/// Its output.
#[derive(Debug, Default)]
pub(crate) struct Opencode {
    /// What was used up by steps that are over.
    sum: Usage,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, rename = "sessionID")]
    session: Text<'a>,
    #[serde(borrow)]
    part: Option<Piece<'a>>,
    #[serde(borrow)]
    error: Option<Error<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    tool: Text<'a>,
    #[serde(borrow, rename = "callID")]
    call: Text<'a>,
    #[serde(borrow)]
    state: Option<State<'a>>,
    #[serde(borrow)]
    reason: Text<'a>,
    tokens: Option<Tokens>,
    cost: Amount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Text<'a>,
    input: About,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Tokens {
    input: Count,
    output: Count,
    reasoning: Count,
    cache: Option<Cache>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Cache {
    read: Count,
    write: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Error<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    data: Option<ErrorData<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorData<'a> {
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(rename = "statusCode")]
    status: Count,
    #[serde(borrow, rename = "responseHeaders")]
    headers: Option<Headers<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Headers<'a> {
    #[serde(borrow, rename = "retry-after")]
    retry_after: Text<'a>,
}

impl Dialect for Opencode {
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return Understood::No };
        let none = Piece::default();
        let part = line.part.as_ref().unwrap_or(&none);
        match &*line.kind {
            "step_start" => {
                seen.works();
                seen.new_text = true;
                // A tool is told only when it is over: until the step is, one may be running.
                seen.unsure = true;
            }
            "text" => seen.says(&part.text, tell),
            "reasoning" => tell(Happening::Thinking(&part.text)),
            "tool_use" => tool(part, seen, tell),
            "step_finish" => self.step_finish(part, seen, tell),
            "error" => {
                let error = line.error.as_ref();
                seen.failed(error.map_or_else(|| Failure::read(None, ""), failure));
            }
            _ => return Understood::No,
        }
        seen.conversation(&line.session, tell);
        Understood::Yes
    }

    fn refusals(&self) -> &[Refusal] {
        REFUSALS
    }
}

fn tool(part: &Piece<'_>, seen: &mut Seen, tell: Tell<'_>) {
    let none = State::default();
    let state = part.state.as_ref().unwrap_or(&none);
    seen.uses(&part.call, &part.tool, &state.input, tell);
    let failed = &*state.status != "completed";
    tell(Happening::ToolEnded { id: &part.call, failed });
}

fn failure(error: &Error<'_>) -> Failure {
    let none = ErrorData::default();
    let data = error.data.as_ref().unwrap_or(&none);
    let text = if data.message.is_empty() { &error.name } else { &data.message };
    let status = Some(data.status.0).filter(|status| *status > 0);
    let mut failure = match &*error.name {
        "ProviderAuthError" => Failure::of(VerdictKind::Auth, text),
        "APIError" => Failure::read(status, text),
        // Its own errors; one is called a server's, and that is its own server.
        _ => Failure::of(VerdictKind::Unknown, text),
    };
    let header = data.headers.as_ref().and_then(|headers| headers.retry_after.parse().ok());
    failure.wait = header.map(Duration::from_secs).or(failure.wait);
    failure
}

impl Opencode {
    fn step_finish(&mut self, part: &Piece<'_>, seen: &mut Seen, tell: Tell<'_>) {
        if let Some(tokens) = part.tokens {
            let cache = tokens.cache.unwrap_or_default();
            self.sum += Usage {
                input_tokens: tokens.input.0.saturating_add(cache.write.0),
                cached_tokens: cache.read.0,
                output_tokens: tokens.output.0.saturating_add(tokens.reasoning.0),
                // Saturates, and makes 0 of what is negative or not a number.
                cost_micros: (part.cost.0.unwrap_or(0.0) * 1e6).round() as u64,
            };
            seen.uses_up(self.sum, tell);
        }
        seen.turns = Some(seen.turns.unwrap_or(0).saturating_add(1));
        seen.unsure = seen.strange_message;
        match &*part.reason {
            "stop" => seen.succeeded("step_finish: stop"),
            "tool-calls" => {}
            reason => {
                let text = format!("step_finish: {reason}");
                seen.failed(Failure::of(VerdictKind::Unknown, &text));
            }
        }
    }
}
