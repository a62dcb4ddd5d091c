//! Claude Code.
//!
//! Prints one message per line (`--output-format stream-json`): `system` (`init`, `api_retry`, …),
//! `assistant`, `user` (the results of tools), `result`. The order of keys differs between
//! versions. API errors are a `result` with `subtype: success` and `is_error: true`, on standard
//! output.

use std::time::Duration;

use kennel_types::{AgentSettings, Permissions, TokenUsage, VerdictKind};
use serde::Deserialize;

use crate::agent_event::{AgentEvent, EventSink};
use crate::error::{AgentError, AgentFeature};
use crate::invocation::Invocation;
use crate::json::{JsonBool, JsonCount, JsonList, JsonNumber, JsonText, ToolSummary};
use crate::output_format::{OutputFormat, ParsedLine, StartFailure};
use crate::parse_state::{AgentFailure, ParseState};
use crate::stop_policy::{StopPolicy, StopSignal};

/// Its own retries after an API error. The default is ten, over three minutes.
const RETRIES: &str = "2";

/// The read-only tools. This is an allow list, so it excludes tools of later versions.
const READ_ONLY_TOOLS: &str = "--tools=Read,Glob,Grep,LS,NotebookRead,WebFetch,WebSearch,TodoWrite";

pub(crate) const STOP_POLICY: StopPolicy = StopPolicy {
    signal: StopSignal::Int,
    whole_tree: false,
    kill_after_result: true,
    why: "SIGINT ends its tool, and it reports a result; SIGTERM leaves the tool alive. After its result, while a background task runs, both may make it start another turn",
};

pub(crate) fn one_shot(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start =
        Invocation::of("claude").args(["-p", "--output-format", "stream-json", "--verbose"]);
    Ok(with_seat(start, seat, conversation)
        .flag("--max-turns", seat.turns)
        .args(&seat.args)
        .set("CLAUDE_CODE_MAX_RETRIES", RETRIES))
}

pub(crate) fn interactive(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::not_interactive("claude", AgentFeature::Turns));
    }
    Ok(with_seat(Invocation::of("claude"), seat, conversation).args(&seat.args))
}

fn with_seat(start: Invocation, seat: &AgentSettings, conversation: Option<&str>) -> Invocation {
    let start = start.flag("--model", seat.model.as_ref());
    let start = match seat.permissions {
        Permissions::Default => start,
        Permissions::ReadOnly => start.args([READ_ONLY_TOOLS]),
        Permissions::Edit => start.args(["--permission-mode", "acceptEdits"]),
        Permissions::All => start.args(["--permission-mode", "bypassPermissions"]),
    };
    start.flag("--resume", conversation)
}

/// Error texts by which it reports that it can't start.
const START_FAILURES: &[StartFailure] = &[
    ("No conversation found with session ID", VerdictKind::StaleConversation),
    ("--resume requires a valid session", VerdictKind::StaleConversation),
    ("error: unknown option", VerdictKind::RefusedFlags),
    ("error: option '", VerdictKind::RefusedFlags),
    ("error: too many arguments", VerdictKind::RefusedFlags),
    ("cannot be used with root/sudo privileges", VerdictKind::RefusedFlags),
    ("Error: --", VerdictKind::RefusedFlags),
    ("Error: When using --print", VerdictKind::RefusedFlags),
    ("is already in use", VerdictKind::RefusedFlags),
    ("workspace trust", VerdictKind::UntrustedFolder),
    ("Please run /login", VerdictKind::Auth),
    ("Not logged in", VerdictKind::Auth),
];

/// The start of a partial message. If the user enables them they are most of the output, and each
/// message is repeated in full.
const PARTIAL: &[u8] = b"{\"type\":\"stream_event\"";

#[derive(Debug, Default)]
pub(crate) struct ClaudeFormat {
    /// The usage of earlier messages.
    before: TokenUsage,
    /// The id of the current message, which has several lines, and its usage.
    message: (String, TokenUsage),
    /// The maximum usage of all results: there may be several, and a later one never has less.
    total: TokenUsage,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    subtype: JsonText<'a>,
    #[serde(borrow)]
    session_id: JsonText<'a>,
    #[serde(borrow)]
    message: Option<ClaudeMessage<'a>>,
    /// Set if a sub-agent sent the message.
    #[serde(borrow)]
    parent_tool_use_id: JsonText<'a>,
    is_error: JsonBool,
    api_error_status: JsonCount,
    #[serde(borrow)]
    result: JsonText<'a>,
    #[serde(borrow)]
    errors: JsonList<JsonText<'a>>,
    #[serde(borrow)]
    error: JsonText<'a>,
    error_status: JsonCount,
    retry_delay_ms: JsonNumber,
    num_turns: JsonCount,
    total_cost_usd: JsonNumber,
    usage: Option<ClaudeTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    content: JsonList<ClaudeBlock<'a>>,
    usage: Option<ClaudeTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    thinking: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    name: JsonText<'a>,
    input: ToolSummary,
    #[serde(borrow)]
    tool_use_id: JsonText<'a>,
    is_error: JsonBool,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct ClaudeTokens {
    input_tokens: JsonCount,
    cache_creation_input_tokens: JsonCount,
    cache_read_input_tokens: JsonCount,
    output_tokens: JsonCount,
}

impl From<ClaudeTokens> for TokenUsage {
    fn from(tokens: ClaudeTokens) -> Self {
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

impl OutputFormat for ClaudeFormat {
    fn parse_line(
        &mut self,
        line: &[u8],
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        if line.starts_with(PARTIAL) {
            return ParsedLine::Known;
        }
        let Ok(line) = serde_json::from_slice::<ClaudeLine<'_>>(line) else {
            return ParsedLine::Unknown;
        };
        match &*line.kind {
            "system" => system(&line, state, emit),
            "assistant" => self.assistant(&line, state, emit),
            "user" => user(&line, state, emit),
            "result" => return self.result(&line, state, emit),
            // Partial messages, which are repeated in full, and keep-alive messages.
            "stream_event" | "rate_limit_event" | "tool_progress" | "tool_use_summary"
            | "auth_status" | "keep_alive" | "prompt_suggestion" => {}
            _ => return ParsedLine::Unknown,
        }
        state.set_conversation(&line.session_id, emit);
        ParsedLine::Known
    }

    fn start_failures(&self) -> &[StartFailure] {
        START_FAILURES
    }
}

fn system(line: &ClaudeLine<'_>, state: &mut ParseState, emit: EventSink<'_>) {
    match &*line.subtype {
        "init" => state.started = true,
        "api_retry" => {
            let delay = line.retry_delay_ms.0.filter(|ms| *ms >= 0.0);
            let delay = delay.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            // Its own delays have a fraction; a delay of whole seconds comes from the provider.
            state.retry_after = delay.filter(|delay| delay.subsec_nanos() == 0 && !delay.is_zero());
            let why = match line.error_status.0 {
                0 => line.error.to_string(),
                status => format!("{status} {}", &*line.error),
            };
            state.note_retry(&why, delay, emit);
        }
        _ => {}
    }
}

fn user(line: &ClaudeLine<'_>, state: &mut ParseState, emit: EventSink<'_>) {
    let results = line.message.iter().flat_map(|message| &message.content.0);
    for block in results.filter(|block| &*block.kind == "tool_result") {
        state.set_working();
        let failed = block.is_error.0 == Some(true);
        emit(AgentEvent::ToolEnded { id: &block.tool_use_id, failed });
    }
}

impl ClaudeFormat {
    fn assistant(&mut self, line: &ClaudeLine<'_>, state: &mut ParseState, emit: EventSink<'_>) {
        let Some(message) = &line.message else { return };
        state.set_working();
        let from_subagent = !line.parent_tool_use_id.is_empty();
        for block in &message.content.0 {
            match &*block.kind {
                "text" if !line.error.is_empty() => emit(AgentEvent::Notice { text: &block.text }),
                "text" if from_subagent => {}
                "text" => {
                    state.next_text_is_new = true;
                    state.add_text(&block.text, emit);
                }
                "thinking" if !from_subagent && !block.thinking.is_empty() => {
                    emit(AgentEvent::Thinking { text: &block.thinking });
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    state.start_tool(&block.id, &block.name, &block.input, emit);
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
            state.set_usage(sum, emit);
        }
    }

    fn result(
        &mut self,
        line: &ClaudeLine<'_>,
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        // For an unknown conversation it reports the id that it was given.
        let text = match line.errors.0.first() {
            Some(error) => error,
            None => &line.result,
        };
        let stale = text.contains("No conversation found");
        if !stale {
            state.set_conversation(&line.session_id, emit);
        }
        if let Some(tokens) = line.usage {
            let cost = line.total_cost_usd.0.unwrap_or(0.0) * 1e6;
            // Saturates, and converts negative numbers and NaN to 0.
            let now = TokenUsage { cost_micros: cost.round() as u64, ..tokens.into() };
            self.total = TokenUsage {
                input_tokens: now.input_tokens.max(self.total.input_tokens),
                cached_tokens: now.cached_tokens.max(self.total.cached_tokens),
                output_tokens: now.output_tokens.max(self.total.output_tokens),
                cost_micros: now.cost_micros.max(self.total.cost_micros),
            };
            state.set_usage(self.total, emit);
        }
        if line.num_turns.0 > 0 {
            state.turns = Some(u32::try_from(line.num_turns.0).unwrap_or(u32::MAX));
        }
        match (&*line.subtype, line.is_error.0) {
            ("success", Some(false)) => {
                state.answer = Some(line.result.to_string());
                state.succeed("result: success, no error");
            }
            ("error_max_turns", _) => state.fail(AgentFailure::new(VerdictKind::MaxTurns, text)),
            (_, Some(true)) if stale => {
                state.fail(AgentFailure::new(VerdictKind::StaleConversation, text));
            }
            (subtype, Some(true)) => {
                let status = Some(line.api_error_status.0).filter(|status| *status > 0);
                let text = if text.is_empty() { subtype } else { text };
                state.fail(AgentFailure::classify(status, text));
            }
            _ => return ParsedLine::Unknown,
        }
        ParsedLine::Known
    }
}
