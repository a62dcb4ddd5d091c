//! Gemini CLI.
//!
//! Prints one message per line (`--output-format stream-json`): `init`, `message` (the prompt is
//! repeated as one), `tool_use`, `tool_result`, `error`, and finally `result`. It reports retries
//! on standard error, with stack traces.

use kennel_types::{Permissions, UsageScope, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentLaunch, AgentMode, BuiltInAgent, UUID};
use crate::agent_event::AgentEvent;
use crate::attempt_end::{AttemptEnd, ProcessEnd};
use crate::error::AgentError;
use crate::error_patterns;
use crate::invocation::Invocation;
use crate::json::{ErrorMessage, Json, JsonCount, JsonText, ToolSummary, usage_with_cached};
use crate::output_format::{KeptOutput, OutcomeOverride, OutputFormat, StartFailure, UnknownLine};
use crate::parse_state::{AgentFailure, ParseState, Recorder, ReportedOutcome};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const AGENT: BuiltInAgent = BuiltInAgent {
    name: "gemini",
    command,
    limits_turns: false,
    conversation: UUID,
    stop_policy: StopPolicy {
        signal: StopSignal::Term,
        whole_tree: true,
        kill_after_result: false,
        why: "it restarts itself as a second process: SIGTERM to the first alone has no effect for a long time",
    },
    usage_scope: UsageScope::Attempt,
    format: || Box::<GeminiFormat>::default(),
};

fn command(launch: &AgentLaunch<'_>) -> Result<Invocation, AgentError> {
    let AgentLaunch { mode, settings, conversation } = *launch;
    let format = (mode == AgentMode::OneShot).then_some("stream-json");
    let approval = match settings.permissions {
        Permissions::Default => None,
        Permissions::ReadOnly => Some("plan"),
        Permissions::Edit => Some("auto_edit"),
        Permissions::All => Some("yolo"),
    };
    Ok(Invocation::of("gemini")
        .flag("--output-format", format)
        .flag("--model", settings.model.as_ref())
        .flag("--approval-mode", approval)
        .flag("--resume", conversation)
        .args(&settings.args))
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
    session_id: JsonText<'a>,
    role: JsonText<'a>,
    content: JsonText<'a>,
    tool_name: JsonText<'a>,
    tool_id: JsonText<'a>,
    parameters: Json<ToolSummary>,
    status: JsonText<'a>,
    message: JsonText<'a>,
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
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
        let line: GeminiLine<'_> = serde_json::from_slice(line)?;
        match &*line.kind {
            "init" => {
                recorder.state.set_working();
                recorder.set_conversation(&line.session_id);
            }
            "message" if &*line.role == "assistant" => {
                recorder.state.set_working();
                recorder.add_text(&line.content);
            }
            "message" => {}
            "tool_use" => recorder.start_tool(&line.tool_id, &line.tool_name, &line.parameters.0),
            "tool_result" => {
                recorder.state.set_working();
                let failed = &*line.status != "success";
                recorder.emit(AgentEvent::ToolEnded { id: &line.tool_id, failed });
            }
            "error" => recorder.emit(AgentEvent::Notice { text: &line.message }),
            "result" => return result(&line, recorder),
            _ => return Err(UnknownLine),
        }
        Ok(())
    }

    fn parse_error_line(&mut self, line: &str, recorder: &mut Recorder<'_>) {
        if line.starts_with("Attempt ") && line.contains("Retrying") {
            let after = error_patterns::retry_delay(line);
            recorder.state.retry_after = after.or(recorder.state.retry_after);
            recorder.note_retry(line, after);
        }
    }

    fn start_failures(&self) -> &'static [StartFailure] {
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

fn result(line: &GeminiLine<'_>, recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
    if let Some(stats) = line.stats {
        let usage = usage_with_cached(stats.input_tokens, stats.cached, stats.output_tokens);
        recorder.set_usage(usage);
    }
    let text = line.error.as_ref().map_or("", |error| &*error.message);
    match &*line.status {
        "success" if line.error.is_none() => recorder.state.succeed("result: success"),
        "error" if text.contains("max session turns") => {
            recorder.state.fail(AgentFailure::new(VerdictKind::MaxTurns, text));
        }
        "error" => recorder.state.fail(AgentFailure::classify(None, text)),
        _ => return Err(UnknownLine),
    }
    Ok(())
}
