//! opencode.
//!
//! Prints one message per line (`run --format json`): for each step `step_start`, `text`,
//! `tool_use` (when the tool has ended), `step_finish` with its reason; or an `error`. The reason
//! `stop` means that no step follows.

use std::time::Duration;

use kennel_types::{AgentSettings, Permissions, TokenUsage, VerdictKind};
use serde::Deserialize;

use crate::agent_event::{AgentEvent, EventSink};
use crate::error::{AgentError, AgentFeature};
use crate::invocation::Invocation;
use crate::json::{JsonCount, JsonNumber, JsonText, ToolSummary};
use crate::output_format::{OutputFormat, ParsedLine, StartFailure};
use crate::parse_state::{AgentFailure, ParseState};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const STOP_POLICY: StopPolicy = StopPolicy {
    signal: StopSignal::Term,
    whole_tree: true,
    kill_after_result: false,
    why: "SIGTERM ends it immediately and leaves its tool alive, so the tool gets the signal too",
};

pub(crate) fn one_shot(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start = Invocation::of("opencode").args(["run", "--format", "json"]);
    let start = with_seat(start, seat, conversation)?;
    let start = if seat.permissions == Permissions::All { start.args(["--auto"]) } else { start };
    Ok(start.args(&seat.args))
}

pub(crate) fn interactive(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.permissions == Permissions::All {
        return Err(AgentError::not_interactive("opencode", AgentFeature::Permissions));
    }
    Ok(with_seat(Invocation::of("opencode"), seat, conversation)?.args(&seat.args))
}

fn with_seat(
    start: Invocation,
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("opencode", AgentFeature::Turns));
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

/// OpencodeError texts by which it reports that it can't start.
const START_FAILURES: &[StartFailure] = &[
    ("Session not found", VerdictKind::StaleConversation),
    // For an unknown argument it prints only its usage.
    ("opencode run [message..]", VerdictKind::RefusedFlags),
    ("Unknown argument", VerdictKind::RefusedFlags),
    ("Invalid values:", VerdictKind::RefusedFlags),
];

#[derive(Debug, Default)]
pub(crate) struct OpencodeFormat {
    /// The usage of the steps that have finished.
    sum: TokenUsage,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow, rename = "sessionID")]
    session: JsonText<'a>,
    #[serde(borrow)]
    part: Option<OpencodePart<'a>>,
    #[serde(borrow)]
    error: Option<OpencodeError<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodePart<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    tool: JsonText<'a>,
    #[serde(borrow, rename = "callID")]
    call: JsonText<'a>,
    #[serde(borrow)]
    state: Option<OpencodeToolState<'a>>,
    #[serde(borrow)]
    reason: JsonText<'a>,
    tokens: Option<OpencodeTokens>,
    cost: JsonNumber,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeToolState<'a> {
    #[serde(borrow)]
    status: JsonText<'a>,
    input: ToolSummary,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct OpencodeTokens {
    input: JsonCount,
    output: JsonCount,
    reasoning: JsonCount,
    cache: Option<OpencodeCache>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct OpencodeCache {
    read: JsonCount,
    write: JsonCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeError<'a> {
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    data: Option<OpencodeErrorData<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeErrorData<'a> {
    #[serde(borrow)]
    message: JsonText<'a>,
    #[serde(rename = "statusCode")]
    status: JsonCount,
    #[serde(borrow, rename = "responseHeaders")]
    headers: Option<OpencodeHeaders<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeHeaders<'a> {
    #[serde(borrow, rename = "retry-after")]
    retry_after: JsonText<'a>,
}

impl OutputFormat for OpencodeFormat {
    fn parse_line(
        &mut self,
        line: &[u8],
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        let Ok(line) = serde_json::from_slice::<OpencodeLine<'_>>(line) else {
            return ParsedLine::Unknown;
        };
        let none = OpencodePart::default();
        let part = line.part.as_ref().unwrap_or(&none);
        match &*line.kind {
            "step_start" => {
                state.set_working();
                state.next_text_is_new = true;
                // A tool is reported only when it ends, so one may run until the step finishes.
                state.maybe_tools = true;
            }
            "text" => state.add_text(&part.text, emit),
            "reasoning" => emit(AgentEvent::Thinking { text: &part.text }),
            "tool_use" => tool(part, state, emit),
            "step_finish" => self.step_finish(part, state, emit),
            "error" => {
                let error = line.error.as_ref();
                state.fail(error.map_or_else(|| AgentFailure::classify(None, ""), failure));
            }
            _ => return ParsedLine::Unknown,
        }
        state.set_conversation(&line.session, emit);
        ParsedLine::Known
    }

    fn start_failures(&self) -> &[StartFailure] {
        START_FAILURES
    }
}

fn tool(part: &OpencodePart<'_>, state: &mut ParseState, emit: EventSink<'_>) {
    let none = OpencodeToolState::default();
    let tool = part.state.as_ref().unwrap_or(&none);
    state.start_tool(&part.call, &part.tool, &tool.input, emit);
    let failed = &*tool.status != "completed";
    emit(AgentEvent::ToolEnded { id: &part.call, failed });
}

fn failure(error: &OpencodeError<'_>) -> AgentFailure {
    let none = OpencodeErrorData::default();
    let data = error.data.as_ref().unwrap_or(&none);
    let text = if data.message.is_empty() { &error.name } else { &data.message };
    let status = Some(data.status.0).filter(|status| *status > 0);
    let mut failure = match &*error.name {
        "ProviderAuthError" => AgentFailure::new(VerdictKind::Auth, text),
        "APIError" => AgentFailure::classify(status, text),
        // Its own errors. "server error" means its own local server.
        _ => AgentFailure::new(VerdictKind::Unknown, text),
    };
    let header = data.headers.as_ref().and_then(|headers| headers.retry_after.parse().ok());
    failure.retry_after = header.map(Duration::from_secs).or(failure.retry_after);
    failure
}

impl OpencodeFormat {
    fn step_finish(
        &mut self,
        part: &OpencodePart<'_>,
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) {
        if let Some(tokens) = part.tokens {
            let cache = tokens.cache.unwrap_or_default();
            self.sum += TokenUsage {
                input_tokens: tokens.input.0.saturating_add(cache.write.0),
                cached_tokens: cache.read.0,
                output_tokens: tokens.output.0.saturating_add(tokens.reasoning.0),
                // Saturates, and converts negative numbers and NaN to 0.
                cost_micros: (part.cost.0.unwrap_or(0.0) * 1e6).round() as u64,
            };
            state.set_usage(self.sum, emit);
        }
        state.add_turn();
        state.maybe_tools = state.unknown_message;
        match &*part.reason {
            "stop" => state.succeed("step_finish: stop"),
            "tool-calls" => {}
            reason => {
                let text = format!("step_finish: {reason}");
                state.fail(AgentFailure::new(VerdictKind::Unknown, &text));
            }
        }
    }
}
