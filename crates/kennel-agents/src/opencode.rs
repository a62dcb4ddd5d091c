//! opencode.
//!
//! Prints one message per line (`run --format json`): for each step `step_start`, `text`,
//! `tool_use` (when the tool has ended), `step_finish` with its reason; or an `error`. The reason
//! `stop` means that no step follows.

use std::time::Duration;

use kennel_types::{Permissions, TokenUsage, UsageScope, VerdictKind};
use serde::Deserialize;
use serde_json::Value;

use crate::agent::{AgentLaunch, AgentMode, BuiltInAgent, ConversationForm};
use crate::agent_event::AgentEvent;
use crate::error::AgentError;
use crate::invocation::Invocation;
use crate::json::{FromJson as _, Json, JsonNumber, JsonText, ToolSummary, cost_micros};
use crate::output_format::{OutputFormat, StartFailure, UnknownLine};
use crate::parse_state::{AgentFailure, Recorder};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const AGENT: BuiltInAgent = BuiltInAgent {
    name: "opencode",
    command,
    limits_turns: false,
    conversation: ConversationForm {
        is_valid: |id| {
            let rest = id.strip_prefix("ses_").unwrap_or_default();
            (1..=128).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
        },
        description: "\"ses_\" followed by letters and digits",
    },
    stop_policy: StopPolicy {
        signal: StopSignal::Term,
        whole_tree: true,
        kill_after_result: false,
        why: "SIGTERM ends it immediately and leaves its tool alive, so the tool gets the signal too",
    },
    usage_scope: UsageScope::Attempt,
    format: || Box::<OpencodeFormat>::default(),
};

fn command(launch: &AgentLaunch<'_>) -> Result<Invocation, AgentError> {
    let AgentLaunch { mode, settings, conversation } = *launch;
    let mut auto = None;
    let command = match mode {
        AgentMode::OneShot => Invocation::of("opencode").args(["run", "--format", "json"]),
        AgentMode::Interactive => Invocation::of("opencode"),
    };
    let command = command.flag("--model", settings.model.as_ref());
    let command = match settings.permissions {
        Permissions::Default => command,
        Permissions::ReadOnly => command.args(["--agent", "plan"]).set(
            "OPENCODE_PERMISSION",
            r#"{"edit":"deny","bash":"deny","external_directory":"deny"}"#,
        ),
        Permissions::Edit => command.set(
            "OPENCODE_PERMISSION",
            r#"{"edit":"allow","bash":"deny","external_directory":"deny"}"#,
        ),
        Permissions::All if mode == AgentMode::Interactive => {
            return Err(AgentError::not_interactive("opencode", "`--permissions all`"));
        }
        Permissions::All => {
            auto = Some("--auto");
            command
        }
    };
    Ok(command.flag("--session", conversation).args(auto).args(&settings.args))
}

/// Error texts by which it reports that it can't start.
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
    #[serde(rename = "sessionID")]
    session: JsonText<'a>,
    part: Option<OpencodePart<'a>>,
    error: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodePart<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
    tool: JsonText<'a>,
    #[serde(rename = "callID")]
    call: JsonText<'a>,
    state: Option<OpencodeToolState<'a>>,
    reason: JsonText<'a>,
    tokens: Value,
    cost: JsonNumber,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OpencodeToolState<'a> {
    #[serde(borrow)]
    status: JsonText<'a>,
    input: Json<ToolSummary>,
}

impl OutputFormat for OpencodeFormat {
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
        let line: OpencodeLine<'_> = serde_json::from_slice(line)?;
        let none = OpencodePart::default();
        let part = line.part.as_ref().unwrap_or(&none);
        match &*line.kind {
            "step_start" => {
                recorder.state.set_working();
                recorder.state.next_text_is_new = true;
                // A tool is reported only when it ends, so one may run until the step finishes.
                recorder.state.maybe_tools = true;
            }
            "text" => recorder.add_text(&part.text),
            "reasoning" => recorder.emit(AgentEvent::Thinking { text: &part.text }),
            "tool_use" => tool(part, recorder),
            "step_finish" => self.step_finish(part, recorder),
            "error" => recorder.state.fail(failure(&line.error)),
            _ => return Err(UnknownLine),
        }
        recorder.set_conversation(&line.session);
        Ok(())
    }

    fn start_failures(&self) -> &'static [StartFailure] {
        START_FAILURES
    }
}

fn tool(part: &OpencodePart<'_>, recorder: &mut Recorder<'_>) {
    let none = OpencodeToolState::default();
    let tool = part.state.as_ref().unwrap_or(&none);
    recorder.start_tool(&part.call, &part.tool, &tool.input.0);
    let failed = &*tool.status != "completed";
    recorder.emit(AgentEvent::ToolEnded { id: &part.call, failed });
}

fn failure(error: &Value) -> AgentFailure {
    let text = |pointer| error.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, message) = (text("/name"), text("/data/message"));
    let message = if message.is_empty() { name } else { message };
    let status = Some(count(error, "/data/statusCode")).filter(|status| *status > 0);
    let mut failure = match name {
        "ProviderAuthError" => AgentFailure::new(VerdictKind::Auth, message),
        "APIError" => AgentFailure::classify(status, message),
        "" if error.is_null() => AgentFailure::classify(None, ""),
        // Its own errors. "server error" means its own local server.
        _ => AgentFailure::new(VerdictKind::Unknown, message),
    };
    let header = text("/data/responseHeaders/retry-after").parse().ok();
    failure.retry_after = header.map(Duration::from_secs).or(failure.retry_after);
    failure
}

fn count(value: &Value, pointer: &str) -> u64 {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    u64::from_number(number.unwrap_or(0.0))
}

impl OpencodeFormat {
    fn step_finish(&mut self, part: &OpencodePart<'_>, recorder: &mut Recorder<'_>) {
        if !part.tokens.is_null() {
            let count = |pointer| count(&part.tokens, pointer);
            self.sum += TokenUsage {
                input_tokens: count("/input").saturating_add(count("/cache/write")),
                cached_tokens: count("/cache/read"),
                output_tokens: count("/output").saturating_add(count("/reasoning")),
                cost_micros: cost_micros(part.cost.0),
            };
            recorder.set_usage(self.sum);
        }
        recorder.state.add_turn();
        recorder.state.maybe_tools = recorder.state.unknown_message;
        match &*part.reason {
            "stop" => recorder.state.succeed("step_finish: stop"),
            "tool-calls" => {}
            reason => {
                let text = format!("step_finish: {reason}");
                recorder.state.fail(AgentFailure::new(VerdictKind::Unknown, &text));
            }
        }
    }
}
