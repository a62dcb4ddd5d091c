//! Claude Code.
//!
//! Prints one message per line (`--output-format stream-json`): `system` (`init`, `api_retry`, …),
//! `assistant`, `user` (the results of tools), `result`. The order of keys differs between
//! versions. API errors are a `result` with `subtype: success` and `is_error: true`, on standard
//! output.

use std::time::Duration;

use kennel_types::{Permissions, TokenUsage, UsageScope, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentLaunch, AgentMode, BuiltInAgent, UUID};
use crate::agent_event::AgentEvent;
use crate::error::{AgentError, TURNS};
use crate::invocation::Invocation;
use crate::json::{
    Json, JsonBool, JsonCount, JsonList, JsonNumber, JsonText, ToolSummary, cost_micros,
};
use crate::output_format::{OutputFormat, StartFailure, UnknownLine};
use crate::parse_state::{AgentFailure, Recorder};
use crate::stop_policy::{StopPolicy, StopSignal};

/// Its own retries after an API error. The default is ten, over three minutes.
const RETRIES: &str = "2";

/// The read-only tools. This is an allow list, so it excludes tools of later versions.
const READ_ONLY_TOOLS: &str = "--tools=Read,Glob,Grep,LS,NotebookRead,WebFetch,WebSearch,TodoWrite";

pub(crate) const AGENT: BuiltInAgent = BuiltInAgent {
    name: "claude",
    command,
    limits_turns: true,
    conversation: UUID,
    stop_policy: StopPolicy {
        signal: StopSignal::Int,
        whole_tree: false,
        kill_after_result: true,
        why: "SIGINT ends its tool, and it reports a result; SIGTERM leaves the tool alive. After its result, while a background task runs, both may make it start another turn",
    },
    usage_scope: UsageScope::Attempt,
    format: || Box::<ClaudeFormat>::default(),
};

fn command(launch: &AgentLaunch<'_>) -> Result<Invocation, AgentError> {
    let AgentLaunch { mode, settings, conversation } = *launch;
    let command = match mode {
        AgentMode::OneShot => Invocation::of("claude")
            .args(["-p", "--output-format", "stream-json", "--verbose"])
            .set("CLAUDE_CODE_MAX_RETRIES", RETRIES),
        AgentMode::Interactive if settings.turns.is_some() => {
            return Err(AgentError::not_interactive("claude", TURNS));
        }
        AgentMode::Interactive => Invocation::of("claude"),
    };
    let command = command.flag("--model", settings.model.as_ref());
    let command = match settings.permissions {
        Permissions::Default => command,
        Permissions::ReadOnly => command.args([READ_ONLY_TOOLS]),
        Permissions::Edit => command.args(["--permission-mode", "acceptEdits"]),
        Permissions::All => command.args(["--permission-mode", "bypassPermissions"]),
    };
    let command = command.flag("--resume", conversation).flag("--max-turns", settings.turns);
    Ok(command.args(&settings.args))
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
    subtype: JsonText<'a>,
    session_id: JsonText<'a>,
    message: Option<ClaudeMessage<'a>>,
    /// Set if a sub-agent sent the message.
    parent_tool_use_id: JsonText<'a>,
    is_error: JsonBool,
    api_error_status: JsonCount,
    result: JsonText<'a>,
    errors: JsonList<JsonText<'a>>,
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
    content: JsonList<ClaudeBlock<'a>>,
    usage: Option<ClaudeTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaudeBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    text: JsonText<'a>,
    thinking: JsonText<'a>,
    id: JsonText<'a>,
    name: JsonText<'a>,
    input: Json<ToolSummary>,
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
        let input = tokens.input_tokens;
        Self {
            input_tokens: input.0.saturating_add(tokens.cache_creation_input_tokens.0),
            cached_tokens: tokens.cache_read_input_tokens.0,
            output_tokens: tokens.output_tokens.0,
            cost_micros: 0,
        }
    }
}

impl OutputFormat for ClaudeFormat {
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
        if line.starts_with(PARTIAL) {
            return Ok(());
        }
        let line: ClaudeLine<'_> = serde_json::from_slice(line)?;
        match &*line.kind {
            "system" => system(&line, recorder),
            "assistant" => self.assistant(&line, recorder),
            "user" => user(&line, recorder),
            "result" => return self.result(&line, recorder),
            // Partial messages, which are repeated in full, and keep-alive messages.
            "stream_event" | "rate_limit_event" | "tool_progress" | "tool_use_summary"
            | "auth_status" | "keep_alive" | "prompt_suggestion" => {}
            _ => return Err(UnknownLine),
        }
        recorder.set_conversation(&line.session_id);
        Ok(())
    }

    fn start_failures(&self) -> &'static [StartFailure] {
        START_FAILURES
    }
}

fn system(line: &ClaudeLine<'_>, recorder: &mut Recorder<'_>) {
    match &*line.subtype {
        "init" => recorder.state.started = true,
        "api_retry" => {
            let delay = line.retry_delay_ms.0.filter(|ms| *ms >= 0.0);
            let delay = delay.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
            // Its own delays have a fraction; a delay of whole seconds comes from the provider.
            recorder.state.retry_after =
                delay.filter(|delay| delay.subsec_nanos() == 0 && !delay.is_zero());
            let why = match line.error_status.0 {
                0 => line.error.to_string(),
                status => format!("{status} {}", &*line.error),
            };
            recorder.note_retry(&why, delay);
        }
        _ => {}
    }
}

fn user(line: &ClaudeLine<'_>, recorder: &mut Recorder<'_>) {
    let results = line.message.iter().flat_map(|message| &message.content.0);
    for block in results.filter(|block| &*block.kind == "tool_result") {
        recorder.state.set_working();
        let failed = block.is_error.0 == Some(true);
        recorder.emit(AgentEvent::ToolEnded { id: &block.tool_use_id, failed });
    }
}

impl ClaudeFormat {
    fn assistant(&mut self, line: &ClaudeLine<'_>, recorder: &mut Recorder<'_>) {
        let Some(message) = &line.message else { return };
        recorder.state.set_working();
        let from_subagent = !line.parent_tool_use_id.is_empty();
        for block in &message.content.0 {
            match &*block.kind {
                "text" if !line.error.is_empty() => {
                    recorder.emit(AgentEvent::Notice { text: &block.text })
                }
                "text" if from_subagent => {}
                "text" => {
                    recorder.state.next_text_is_new = true;
                    recorder.add_text(&block.text);
                }
                "thinking" if !from_subagent && !block.thinking.is_empty() => {
                    recorder.emit(AgentEvent::Thinking { text: &block.thinking });
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    recorder.start_tool(&block.id, &block.name, &block.input.0);
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
            recorder.set_usage(sum);
        }
    }

    fn result(
        &mut self,
        line: &ClaudeLine<'_>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), UnknownLine> {
        // For an unknown conversation it reports the id that it was given.
        let text = match line.errors.0.first() {
            Some(error) => error,
            None => &line.result,
        };
        let stale = text.contains("No conversation found");
        if !stale {
            recorder.set_conversation(&line.session_id);
        }
        if let Some(tokens) = line.usage {
            let cost_micros = cost_micros(line.total_cost_usd.0);
            let now = TokenUsage { cost_micros, ..tokens.into() };
            self.total = TokenUsage {
                input_tokens: now.input_tokens.max(self.total.input_tokens),
                cached_tokens: now.cached_tokens.max(self.total.cached_tokens),
                output_tokens: now.output_tokens.max(self.total.output_tokens),
                cost_micros: now.cost_micros.max(self.total.cost_micros),
            };
            recorder.set_usage(self.total);
        }
        if line.num_turns.0 > 0 {
            recorder.state.turns = Some(u32::try_from(line.num_turns.0).unwrap_or(u32::MAX));
        }
        match (&*line.subtype, line.is_error.0) {
            ("success", Some(false)) => {
                recorder.state.answer = Some(line.result.to_string());
                recorder.state.succeed("result: success, no error");
            }
            ("error_max_turns", _) => {
                recorder.state.fail(AgentFailure::new(VerdictKind::MaxTurns, text))
            }
            (_, Some(true)) if stale => {
                recorder.state.fail(AgentFailure::new(VerdictKind::StaleConversation, text));
            }
            (subtype, Some(true)) => {
                let status = Some(line.api_error_status.0).filter(|status| *status > 0);
                let text = if text.is_empty() { subtype } else { text };
                recorder.state.fail(AgentFailure::classify(status, text));
            }
            _ => return Err(UnknownLine),
        }
        Ok(())
    }
}
