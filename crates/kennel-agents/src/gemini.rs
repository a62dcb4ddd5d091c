//! Gemini CLI.
//!
//! One message a line (`--output-format stream-json`): `init`, `message` (the prompt comes back as one), `tool_use`,
//! `tool_result`, `error`, and in the end `result`. What it tries again is on standard error, with stack traces.

use kennel_types::{Permissions, Seat, Usage, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentError, Part};
use crate::invocation::Invocation;
use crate::json::{About, Count, Text};
use crate::judge::{End, Ended};
use crate::manners::{Manners, PoliteSignal};
use crate::reader::{Dialect, Happening, Refusal, Ruled, Streams, Tell, Understood};
use crate::seen::{Failure, Seen, Told};
use crate::words;

pub(crate) const MANNERS: Manners = Manners {
    signal: PoliteSignal::Term,
    whole_tree: true,
    kill_once_told: false,
    why: "it starts itself again as a second process: a TERM to the first alone does nothing for longer than anybody waits",
};

pub(crate) fn one_shot(seat: &Seat, conversation: Option<&str>) -> Result<Invocation, AgentError> {
    let start = Invocation::of("gemini").args(["--output-format", "stream-json"]);
    with_seat(start, seat, conversation)
}

pub(crate) fn interactive(
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    with_seat(Invocation::of("gemini"), seat, conversation)
}

fn with_seat(
    start: Invocation,
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("gemini", Part::Turns));
    }
    let mode = match seat.permissions {
        Permissions::Default => None,
        Permissions::ReadOnly => Some("plan"),
        Permissions::Edit => Some("auto_edit"),
        Permissions::All => Some("yolo"),
    };
    Ok(start
        .flag("--model", seat.model.as_ref())
        .flag("--approval-mode", mode)
        .flag("--resume", conversation)
        .args(&seat.args))
}

/// How it says that it does not begin.
const REFUSALS: &[Refusal] = &[
    Refusal { has: "Error resuming session", kind: VerdictKind::StaleConversation },
    Refusal { has: "not running in a trusted directory", kind: VerdictKind::UntrustedFolder },
    Refusal { has: "Unknown argument", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Invalid values:", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Not enough arguments following", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Cannot use both", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Please set an Auth method", kind: VerdictKind::Auth },
    Refusal { has: "you must specify the GEMINI_API_KEY", kind: VerdictKind::Auth },
];

/// Its output.
#[derive(Debug, Default)]
pub(crate) struct Gemini;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow)]
    content: Text<'a>,
    #[serde(borrow)]
    tool_name: Text<'a>,
    #[serde(borrow)]
    tool_id: Text<'a>,
    parameters: About,
    #[serde(borrow)]
    status: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    error: Option<Message<'a>>,
    stats: Option<Stats>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Stats {
    input_tokens: Count,
    output_tokens: Count,
    cached: Count,
}

impl Dialect for Gemini {
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return Understood::No };
        match &*line.kind {
            "init" => {
                seen.works();
                seen.conversation(&line.session_id, tell);
            }
            "message" if &*line.role == "assistant" => {
                seen.works();
                seen.says(&line.content, tell);
            }
            "message" => {}
            "tool_use" => seen.uses(&line.tool_id, &line.tool_name, &line.parameters, tell),
            "tool_result" => {
                seen.works();
                let failed = &*line.status != "success";
                tell(Happening::ToolEnded { id: &line.tool_id, failed });
            }
            "error" => tell(Happening::Notice(&line.message)),
            "result" => return result(&line, seen, tell),
            _ => return Understood::No,
        }
        Understood::Yes
    }

    fn error_line(&mut self, line: &str, seen: &mut Seen, tell: Tell<'_>) {
        if line.starts_with("Attempt ") && line.contains("Retrying") {
            let after = words::wait_in(line);
            seen.wait = after.or(seen.wait);
            seen.retries(line, after, tell);
        }
    }

    fn refusals(&self) -> &[Refusal] {
        REFUSALS
    }

    /// Of some errors its result tells only the provider's own words. Then what it tried again for says more, if its
    /// code, which is the status modulo 256, is the same.
    fn rule(&self, seen: &Seen, _: &Streams<'_>, ended: &Ended) -> Option<Ruled> {
        let Some(Told::Failure(failure)) = &seen.told else { return None };
        let status = words::status_in(seen.trouble.as_deref()?)?;
        let same = ended.end == End::Exited(i32::try_from(status & 255).ok()?);
        if failure.kind != VerdictKind::Unknown || !same {
            return None;
        }
        let kind = words::by_status(status, &failure.text)?;
        let told = Told::Failure(Failure { kind, ..failure.clone() });
        Some(Ruled { told, refused: false })
    }
}

fn result(line: &Line<'_>, seen: &mut Seen, tell: Tell<'_>) -> Understood {
    if let Some(stats) = line.stats {
        let usage = Usage {
            input_tokens: stats.input_tokens.0.saturating_sub(stats.cached.0),
            cached_tokens: stats.cached.0,
            output_tokens: stats.output_tokens.0,
            cost_micros: 0,
        };
        seen.uses_up(usage, tell);
    }
    let text = line.error.as_ref().map_or("", |error| &*error.message);
    match &*line.status {
        "success" if line.error.is_none() => seen.succeeded("result: success"),
        "error" if text.contains("max session turns") => {
            seen.failed(Failure::of(VerdictKind::MaxTurns, text));
        }
        "error" => seen.failed(Failure::read(None, text)),
        _ => return Understood::No,
    }
    Understood::Yes
}
