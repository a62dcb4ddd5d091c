//! Codex.
//!
//! Prints one message per line (`exec --json`): `thread.started`, `turn.started`, `item.*`, then
//! `turn.completed` or `turn.failed`. An item of type `error` may appear in a successful run, and
//! an `error` message before a retry.

use kennel_types::{AgentSettings, Permissions, VerdictKind};
use serde::Deserialize;

use crate::agent_event::{AgentEvent, EventSink};
use crate::error::{AgentError, AgentFeature};
use crate::invocation::Invocation;
use crate::json::{
    ErrorMessage, JsonCount, JsonNumber, JsonText, ToolSummary, one_line, usage_with_cached,
};
use crate::output_format::{OutputFormat, ParsedLine, StartFailure};
use crate::parse_state::{AgentFailure, ParseState};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const STOP_POLICY: StopPolicy = StopPolicy {
    signal: StopSignal::Term,
    whole_tree: false,
    kill_after_result: false,
    why: "its wrapper forwards SIGTERM, and it ends its tool before it exits",
};

pub(crate) fn one_shot(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start = Invocation::of("codex").args(["exec"]);
    let start = if conversation.is_some() { start.args(["resume"]) } else { start };
    // `-` instead of a prompt: it reads the prompt from standard input.
    Ok(with_seat(start.args(["--json"]), seat)?.args(&seat.args).args(conversation).args(["-"]))
}

pub(crate) fn interactive(
    seat: &AgentSettings,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start = Invocation::of("codex");
    let start = if conversation.is_some() { start.args(["resume"]) } else { start };
    Ok(with_seat(start, seat)?.args(&seat.args).args(conversation))
}

fn with_seat(start: Invocation, seat: &AgentSettings) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("codex", AgentFeature::Turns));
    }
    let start = start.flag("--model", seat.model.as_ref());
    // As settings, because `resume` has no `--sandbox` option.
    Ok(match seat.permissions {
        Permissions::Default => start,
        Permissions::ReadOnly => start.args(["-c", "sandbox_mode=\"read-only\""]),
        Permissions::Edit => start.args(["-c", "sandbox_mode=\"workspace-write\""]),
        Permissions::All => start.args(["--dangerously-bypass-approvals-and-sandbox"]),
    })
}

/// Error texts by which it reports that it can't start.
const START_FAILURES: &[StartFailure] = &[
    ("no rollout found for thread id", VerdictKind::StaleConversation),
    ("No saved session found", VerdictKind::StaleConversation),
    ("Not inside a trusted directory", VerdictKind::UntrustedFolder),
    ("error: unexpected argument", VerdictKind::RefusedFlags),
    ("error: invalid value", VerdictKind::RefusedFlags),
    ("error: the argument", VerdictKind::RefusedFlags),
    ("error: the following required", VerdictKind::RefusedFlags),
    ("error: unrecognized subcommand", VerdictKind::RefusedFlags),
    ("error: a value is required", VerdictKind::RefusedFlags),
    ("Error loading config", VerdictKind::RefusedFlags),
    ("Not logged in", VerdictKind::Auth),
];

#[derive(Debug, Default)]
pub(crate) struct CodexFormat {
    /// The ids of the running tools.
    open: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    thread_id: JsonText<'a>,
    #[serde(borrow)]
    message: JsonText<'a>,
    #[serde(borrow)]
    error: Option<ErrorMessage<'a>>,
    #[serde(borrow)]
    item: Option<CodexItem<'a>>,
    usage: Option<CodexTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexItem<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    message: JsonText<'a>,
    #[serde(borrow)]
    command: JsonText<'a>,
    #[serde(borrow)]
    query: JsonText<'a>,
    #[serde(borrow)]
    server: JsonText<'a>,
    #[serde(borrow)]
    tool: JsonText<'a>,
    #[serde(borrow)]
    status: JsonText<'a>,
    exit_code: JsonNumber,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct CodexTokens {
    input_tokens: JsonCount,
    cached_input_tokens: JsonCount,
    output_tokens: JsonCount,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum ItemStage {
    Started,
    Updated,
    Completed,
}

impl OutputFormat for CodexFormat {
    fn parse_line(
        &mut self,
        line: &[u8],
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        let Ok(line) = serde_json::from_slice::<CodexLine<'_>>(line) else {
            return ParsedLine::Unknown;
        };
        match &*line.kind {
            "thread.started" => state.set_conversation(&line.thread_id, emit),
            "turn.started" => state.set_working(),
            "turn.completed" => {
                if let Some(tokens) = line.usage {
                    let (cached, output) = (tokens.cached_input_tokens, tokens.output_tokens);
                    state.set_usage(usage_with_cached(tokens.input_tokens, cached, output), emit);
                }
                state.add_turn();
                state.succeed("turn.completed");
            }
            "turn.failed" => {
                let text = line.error.as_ref().map_or(&*line.message, |error| &*error.message);
                state.fail(AgentFailure::classify(None, text));
            }
            "error" => error(&line.message, state, emit),
            "item.started" => {
                return self.item(ItemStage::Started, line.item.as_ref(), state, emit);
            }
            "item.updated" => {
                return self.item(ItemStage::Updated, line.item.as_ref(), state, emit);
            }
            "item.completed" => {
                return self.item(ItemStage::Completed, line.item.as_ref(), state, emit);
            }
            _ => return ParsedLine::Unknown,
        }
        ParsedLine::Known
    }

    fn start_failures(&self) -> &[StartFailure] {
        START_FAILURES
    }
}

/// An error that may not be final; if the turn fails, `turn.failed` repeats the last one.
fn error(text: &str, state: &mut ParseState, emit: EventSink<'_>) {
    if text.starts_with("Reconnecting") {
        state.note_retry(text, None, emit);
    } else {
        state.last_error = Some(one_line(text));
        emit(AgentEvent::Notice { text });
    }
}

impl CodexFormat {
    fn item(
        &mut self,
        stage: ItemStage,
        item: Option<&CodexItem<'_>>,
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        let Some(item) = item else { return ParsedLine::Unknown };
        let (name, about) = match &*item.kind {
            "agent_message" if stage == ItemStage::Completed => {
                state.set_working();
                state.next_text_is_new = true;
                state.add_text(&item.text, emit);
                return ParsedLine::Known;
            }
            "reasoning" if stage == ItemStage::Completed => {
                emit(AgentEvent::Thinking { text: &item.text });
                return ParsedLine::Known;
            }
            "error" => {
                emit(AgentEvent::Notice { text: &item.message });
                return ParsedLine::Known;
            }
            "agent_message" | "reasoning" | "todo_list" | "plan_update" => {
                return ParsedLine::Known;
            }
            "command_execution" => ("shell".to_owned(), &item.command),
            "file_change" => ("edit".to_owned(), &item.text),
            "web_search" => ("web_search".to_owned(), &item.query),
            "mcp_tool_call" => (format!("{}.{}", &*item.server, &*item.tool), &item.text),
            // Any other item may be a tool: count too many rather than too few.
            other => (other.to_owned(), &item.text),
        };
        // Some tools are reported only when they end.
        if !self.open.iter().any(|id| **id == *item.id) {
            state.start_tool(&item.id, &name, &ToolSummary(one_line(about)), emit);
            self.open.push(item.id.to_string());
        }
        if stage == ItemStage::Completed {
            state.set_working();
            self.open.retain(|id| **id != *item.id);
            let failed = matches!(&*item.status, "failed" | "declined")
                || item.exit_code.0.is_some_and(|code| code != 0.0);
            emit(AgentEvent::ToolEnded { id: &item.id, failed });
        }
        ParsedLine::Known
    }
}
