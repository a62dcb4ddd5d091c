//! Gemini CLI.
//!
//! Prints one message per line (`--output-format stream-json`): `init`, `message` (the prompt is
//! repeated as one), `tool_use`, `tool_result`, `error`, and finally `result`. It reports retries
//! on standard error, with stack traces.

use kennel_types::{AgentSettings, Permissions, VerdictKind};
use serde::Deserialize;

use crate::agent_event::{AgentEvent, EventSink};
use crate::attempt_end::{AttemptEnd, ProcessEnd};
use crate::error::{AgentError, AgentFeature};
use crate::error_patterns;
use crate::invocation::Invocation;
use crate::json::{ErrorMessage, JsonCount, JsonText, ToolSummary, usage_with_cached};
use crate::output_format::{KeptOutput, OutcomeOverride, OutputFormat, ParsedLine, StartFailure};
use crate::parse_state::{AgentFailure, ParseState, ReportedOutcome};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const STOP_POLICY: StopPolicy = StopPolicy {
    signal: StopSignal::Term,
    whole_tree: true,
    kill_after_result: false,
    why: "it restarts itself as a second process: SIGTERM to the first alone has no effect for a long time",
};

pub(crate) fn one_shot(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start = Invocation::of("gemini").args(["--output-format", "stream-json"]);
    with_seat(start, seat, conversation)
}

pub(crate) fn interactive(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    with_seat(Invocation::of("gemini"), seat, conversation)
}

fn with_seat(
    start: Invocation,
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("gemini", AgentFeature::Turns));
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

/// Error texts by which it reports that it can't start.
const START_FAILURES: &[StartFailure] = &[
    ("Error resuming session", VerdictKind::StaleConversation),
    ("not running in a trusted directory", VerdictKind::UntrustedFolder),
    ("Unknown argument", VerdictKind::RefusedFlags),
    ("Invalid values:", VerdictKind::RefusedFlags),
    ("Not enough arguments following", VerdictKind::RefusedFlags),
    ("Cannot use both", VerdictKind::RefusedFlags),
    ("Please set an Auth method", VerdictKind::Auth),
    ("you must specify the GEMINI_API_KEY", VerdictKind::Auth),
];

#[derive(Debug, Default)]
pub(crate) struct GeminiFormat;

#[derive(Deserialize, Default)]
#[serde(default)]
struct GeminiLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    session_id: JsonText<'a>,
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    content: JsonText<'a>,
    #[serde(borrow)]
    tool_name: JsonText<'a>,
    #[serde(borrow)]
    tool_id: JsonText<'a>,
    parameters: ToolSummary,
    #[serde(borrow)]
    status: JsonText<'a>,
    #[serde(borrow)]
    message: JsonText<'a>,
    #[serde(borrow)]
    error: Option<ErrorMessage<'a>>,
    stats: Option<GeminiStats>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct GeminiStats {
    input_tokens: JsonCount,
    output_tokens: JsonCount,
    cached: JsonCount,
}

impl OutputFormat for GeminiFormat {
    fn parse_line(
        &mut self,
        line: &[u8],
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        let Ok(line) = serde_json::from_slice::<GeminiLine<'_>>(line) else {
            return ParsedLine::Unknown;
        };
        match &*line.kind {
            "init" => {
                state.set_working();
                state.set_conversation(&line.session_id, emit);
            }
            "message" if &*line.role == "assistant" => {
                state.set_working();
                state.add_text(&line.content, emit);
            }
            "message" => {}
            "tool_use" => state.start_tool(&line.tool_id, &line.tool_name, &line.parameters, emit),
            "tool_result" => {
                state.set_working();
                let failed = &*line.status != "success";
                emit(AgentEvent::ToolEnded { id: &line.tool_id, failed });
            }
            "error" => emit(AgentEvent::Notice { text: &line.message }),
            "result" => return result(&line, state, emit),
            _ => return ParsedLine::Unknown,
        }
        ParsedLine::Known
    }

    fn parse_error_line(&mut self, line: &str, state: &mut ParseState, emit: EventSink<'_>) {
        if line.starts_with("Attempt ") && line.contains("Retrying") {
            let after = error_patterns::retry_delay(line);
            state.retry_after = after.or(state.retry_after);
            state.note_retry(line, after, emit);
        }
    }

    fn start_failures(&self) -> &[StartFailure] {
        START_FAILURES
    }

    /// For some errors its result has only the provider's text. Then the error of its last retry is
    /// more precise, if the exit code, which is the HTTP status modulo 256, is that of the error.
    fn override_outcome(
        &self,
        state: &ParseState,
        _: &KeptOutput<'_>,
        end: &AttemptEnd,
    ) -> Option<OutcomeOverride> {
        let Some(ReportedOutcome::Failure(failure)) = &state.outcome else { return None };
        let status = error_patterns::status_in(state.last_error.as_deref()?)?;
        let same = end.end == ProcessEnd::Exited(i32::try_from(status & 255).ok()?);
        if failure.kind != VerdictKind::Unknown || !same {
            return None;
        }
        let kind = error_patterns::by_status(status, &failure.text)?;
        let outcome = ReportedOutcome::Failure(AgentFailure { kind, ..failure.clone() });
        Some(OutcomeOverride { outcome, failed_start: false })
    }
}

fn result(line: &GeminiLine<'_>, state: &mut ParseState, emit: EventSink<'_>) -> ParsedLine {
    if let Some(stats) = line.stats {
        let usage = usage_with_cached(stats.input_tokens, stats.cached, stats.output_tokens);
        state.set_usage(usage, emit);
    }
    let text = line.error.as_ref().map_or("", |error| &*error.message);
    match &*line.status {
        "success" if line.error.is_none() => state.succeed("result: success"),
        "error" if text.contains("max session turns") => {
            state.fail(AgentFailure::new(VerdictKind::MaxTurns, text));
        }
        "error" => state.fail(AgentFailure::classify(None, text)),
        _ => return ParsedLine::Unknown,
    }
    ParsedLine::Known
}
