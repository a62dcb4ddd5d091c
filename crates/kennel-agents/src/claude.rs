//! Claude Code.
//!
//! One message a line (`--output-format stream-json`): `system` (`init`, `api_retry`, …), `assistant`, `user` (what
//! tools brought), `result`. The order of keys differs between versions. Errors of the API are a `result` with
//! `subtype: success` and `is_error: true`, on standard output.

use std::time::Duration;

use kennel_types::{Permissions, Seat, Usage, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentError, Part};
use crate::invocation::Invocation;
use crate::json::{About, Amount, Count, List, Text, Truth};
use crate::manners::{Manners, PoliteSignal};
use crate::reader::{Dialect, Happening, Refusal, Tell, Understood};
use crate::seen::{Failure, Seen};

/// Its own tries after a failure of the API, of which it makes ten, over three minutes, if nobody says otherwise.
const RETRIES: &str = "2";

/// Tools that change nothing. A list of what is allowed: tools of later versions are not in it.
const READING: &str = "--tools=Read,Glob,Grep,LS,NotebookRead,WebFetch,WebSearch,TodoWrite";

pub(crate) const MANNERS: Manners = Manners {
    signal: PoliteSignal::Int,
    whole_tree: false,
    kill_once_told: true,
    why: "an interrupt ends its tool, and it tells a result; a TERM leaves the tool alive. After its result, while a background task is left, either may have it begin another turn",
};

pub(crate) fn one_shot(seat: &Seat, conversation: Option<&str>) -> Result<Invocation, AgentError> {
    let start =
        Invocation::of("claude").args(["-p", "--output-format", "stream-json", "--verbose"]);
    Ok(with_seat(start, seat, conversation)
        .flag("--max-turns", seat.turns)
        .args(&seat.args)
        .set("CLAUDE_CODE_MAX_RETRIES", RETRIES))
}

pub(crate) fn interactive(
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::interactive("claude", Part::Turns));
    }
    Ok(with_seat(Invocation::of("claude"), seat, conversation).args(&seat.args))
}

fn with_seat(start: Invocation, seat: &Seat, conversation: Option<&str>) -> Invocation {
    let start = start.flag("--model", seat.model.as_ref());
    let start = match seat.permissions {
        Permissions::Default => start,
        Permissions::ReadOnly => start.args([READING]),
        Permissions::Edit => start.args(["--permission-mode", "acceptEdits"]),
        Permissions::All => start.args(["--permission-mode", "bypassPermissions"]),
    };
    start.flag("--resume", conversation)
}

/// How it says that it does not begin.
const REFUSALS: &[Refusal] = &[
    Refusal { has: "No conversation found with session ID", kind: VerdictKind::StaleConversation },
    Refusal { has: "--resume requires a valid session", kind: VerdictKind::StaleConversation },
    Refusal { has: "error: unknown option", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: option '", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: too many arguments", kind: VerdictKind::RefusedFlags },
    Refusal { has: "cannot be used with root/sudo privileges", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Error: --", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Error: When using --print", kind: VerdictKind::RefusedFlags },
    Refusal { has: "is already in use", kind: VerdictKind::RefusedFlags },
    Refusal { has: "workspace trust", kind: VerdictKind::UntrustedFolder },
    Refusal { has: "Please run /login", kind: VerdictKind::Auth },
    Refusal { has: "Not logged in", kind: VerdictKind::Auth },
];

/// Parts of messages, if somebody has asked for them: the most of the output then, and all of it comes again whole.
const PARTIAL: &[u8] = b"{\"type\":\"stream_event\"";

/// Its output.
#[derive(Debug, Default)]
pub(crate) struct Claude {
    /// What was used up by messages that are over.
    before: Usage,
    /// The message that is told now, in several lines, and what it has used up.
    message: (String, Usage),
    /// The most that a result has told: there may be several, and a later one is of no less.
    told: Usage,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    subtype: Text<'a>,
    #[serde(borrow)]
    session_id: Text<'a>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    /// Set if a sub-agent says it.
    #[serde(borrow)]
    parent_tool_use_id: Text<'a>,
    is_error: Truth,
    api_error_status: Count,
    #[serde(borrow)]
    result: Text<'a>,
    #[serde(borrow)]
    errors: List<Text<'a>>,
    #[serde(borrow)]
    error: Text<'a>,
    error_status: Count,
    retry_delay_ms: Amount,
    num_turns: Count,
    total_cost_usd: Amount,
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    content: List<Block<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    thinking: Text<'a>,
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    input: About,
    #[serde(borrow)]
    tool_use_id: Text<'a>,
    is_error: Truth,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Tokens {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens
                .input_tokens
                .0
                .saturating_add(tokens.cache_creation_input_tokens.0),
            cached_tokens: tokens.cache_read_input_tokens.0,
            output_tokens: tokens.output_tokens.0,
            cost_micros: 0,
        }
    }
}

impl Dialect for Claude {
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood {
        if line.starts_with(PARTIAL) {
            return Understood::Yes;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return Understood::No };
        match &*line.kind {
            "system" => system(&line, seen, tell),
            "assistant" => self.assistant(&line, seen, tell),
            "user" => user(&line, seen, tell),
            "result" => return self.result(&line, seen, tell),
            // What it has besides: parts of messages, which come again whole, and signs of life.
            "stream_event" | "rate_limit_event" | "tool_progress" | "tool_use_summary"
            | "auth_status" | "keep_alive" | "prompt_suggestion" => {}
            _ => return Understood::No,
        }
        seen.conversation(&line.session_id, tell);
        Understood::Yes
    }

    fn refusals(&self) -> &[Refusal] {
        REFUSALS
    }
}

fn system(line: &Line<'_>, seen: &mut Seen, tell: Tell<'_>) {
    match &*line.subtype {
        "init" => seen.begun = true,
        "api_retry" => {
            let delay = line.retry_delay_ms.0.filter(|ms| *ms >= 0.0);
            let delay = delay.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            // Its own delays have a fraction; one of whole seconds is what the provider has said.
            seen.wait = delay.filter(|delay| delay.subsec_nanos() == 0 && !delay.is_zero());
            let why = match line.error_status.0 {
                0 => line.error.to_string(),
                status => format!("{status} {}", &*line.error),
            };
            seen.retries(&why, delay, tell);
        }
        _ => {}
    }
}

fn user(line: &Line<'_>, seen: &mut Seen, tell: Tell<'_>) {
    let results = line.message.iter().flat_map(|message| &message.content.0);
    for block in results.filter(|block| &*block.kind == "tool_result") {
        seen.works();
        let failed = block.is_error.0 == Some(true);
        tell(Happening::ToolEnded { id: &block.tool_use_id, failed });
    }
}

impl Claude {
    fn assistant(&mut self, line: &Line<'_>, seen: &mut Seen, tell: Tell<'_>) {
        let Some(message) = &line.message else { return };
        seen.works();
        let of_a_subagent = !line.parent_tool_use_id.is_empty();
        for block in &message.content.0 {
            match &*block.kind {
                "text" if !line.error.is_empty() => tell(Happening::Notice(&block.text)),
                "text" if of_a_subagent => {}
                "text" => {
                    seen.new_text = true;
                    seen.says(&block.text, tell);
                }
                "thinking" if !of_a_subagent && !block.thinking.is_empty() => {
                    tell(Happening::Thinking(&block.thinking));
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    seen.uses(&block.id, &block.name, &block.input, tell);
                }
                _ => {}
            }
        }
        if let Some(tokens) = message.usage {
            if *self.message.0 != *message.id {
                self.before += std::mem::take(&mut self.message.1);
                self.message.0 = message.id.to_string();
            }
            self.message.1 = tokens.into();
            let mut sum = self.before;
            sum += self.message.1;
            seen.uses_up(sum, tell);
        }
    }

    fn result(&mut self, line: &Line<'_>, seen: &mut Seen, tell: Tell<'_>) -> Understood {
        // For a conversation that isn't there it tells the id that it was given.
        let text = match line.errors.0.first() {
            Some(error) => error,
            None => &line.result,
        };
        let stale = text.contains("No conversation found");
        if !stale {
            seen.conversation(&line.session_id, tell);
        }
        if let Some(tokens) = line.usage {
            let cost = line.total_cost_usd.0.unwrap_or(0.0) * 1e6;
            // Saturates, and makes 0 of what is negative or not a number.
            let now = Usage { cost_micros: cost.round() as u64, ..tokens.into() };
            self.told = Usage {
                input_tokens: now.input_tokens.max(self.told.input_tokens),
                cached_tokens: now.cached_tokens.max(self.told.cached_tokens),
                output_tokens: now.output_tokens.max(self.told.output_tokens),
                cost_micros: now.cost_micros.max(self.told.cost_micros),
            };
            seen.uses_up(self.told, tell);
        }
        if line.num_turns.0 > 0 {
            seen.turns = Some(u32::try_from(line.num_turns.0).unwrap_or(u32::MAX));
        }
        match (&*line.subtype, line.is_error.0) {
            ("success", Some(false)) => {
                seen.answer = Some(line.result.to_string());
                seen.succeeded("result: success, no error");
            }
            ("error_max_turns", _) => seen.failed(Failure::of(VerdictKind::MaxTurns, text)),
            (_, Some(true)) if stale => {
                seen.failed(Failure::of(VerdictKind::StaleConversation, text));
            }
            (subtype, Some(true)) => {
                let status = Some(line.api_error_status.0).filter(|status| *status > 0);
                let text = if text.is_empty() { subtype } else { text };
                seen.failed(Failure::read(status, text));
            }
            _ => return Understood::No,
        }
        Understood::Yes
    }
}
