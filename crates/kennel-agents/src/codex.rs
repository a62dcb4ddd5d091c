//! Codex.
//!
//! Prints one message per line (`exec --json`): `thread.started`, `turn.started`, `item.*`, then
//! `turn.completed` or `turn.failed`. An item of type `error` may appear in a successful run, and
//! an `error` message before a retry.

use kennel_types::{Permissions, UsageScope, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentLaunch, AgentMode, BuiltInAgent, UUID};
use crate::agent_event::AgentEvent;
use crate::error::AgentError;
use crate::invocation::Invocation;
use crate::json::{
    ErrorMessage, JsonCount, JsonNumber, JsonText, ToolSummary, one_line, usage_with_cached,
};
use crate::output_format::{OutputFormat, StartFailure, UnknownLine};
use crate::parse_state::{AgentFailure, Recorder};
use crate::stop_policy::{StopPolicy, StopSignal};

pub(crate) const AGENT: BuiltInAgent = BuiltInAgent {
    name: "codex",
    command,
    limits_turns: false,
    conversation: UUID,
    stop_policy: StopPolicy {
        signal: StopSignal::Term,
        whole_tree: false,
        kill_after_result: false,
        why: "its wrapper forwards SIGTERM, and it ends its tool before it exits",
    },
    usage_scope: UsageScope::Conversation,
    format: || Box::<CodexFormat>::default(),
};

fn command(launch: &AgentLaunch<'_>) -> Result<Invocation, AgentError> {
    let AgentLaunch { mode, settings, conversation } = *launch;
    // `-` instead of a prompt: it reads the prompt from standard input.
    let (exec, json, stdin) = match mode {
        AgentMode::OneShot => (Some("exec"), Some("--json"), Some("-")),
        AgentMode::Interactive => (None, None, None),
    };
    let resume = conversation.map(|_| "resume");
    let command = Invocation::of("codex").args(exec).args(resume).args(json);
    let command = command.flag("--model", settings.model.as_ref());
    // As settings, because `resume` has no `--sandbox` option.
    let command = match settings.permissions {
        Permissions::Default => command,
        Permissions::ReadOnly => command.args(["-c", "sandbox_mode=\"read-only\""]),
        Permissions::Edit => command.args(["-c", "sandbox_mode=\"workspace-write\""]),
        Permissions::All => command.args(["--dangerously-bypass-approvals-and-sandbox"]),
    };
    Ok(command.args(&settings.args).args(conversation).args(stdin))
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
    thread_id: JsonText<'a>,
    message: JsonText<'a>,
    error: Option<ErrorMessage<'a>>,
    item: Option<CodexItem<'a>>,
    usage: Option<CodexTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexItem<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(rename = "type")]
    kind: JsonText<'a>,
    text: JsonText<'a>,
    message: JsonText<'a>,
    command: JsonText<'a>,
    query: JsonText<'a>,
    server: JsonText<'a>,
    tool: JsonText<'a>,
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

impl OutputFormat for CodexFormat {
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
        let line: CodexLine<'_> = serde_json::from_slice(line)?;
        match &*line.kind {
            "thread.started" => recorder.set_conversation(&line.thread_id),
            "turn.started" => recorder.state.set_working(),
            "turn.completed" => {
                if let Some(tokens) = line.usage {
                    let (cached, output) = (tokens.cached_input_tokens, tokens.output_tokens);
                    recorder.set_usage(usage_with_cached(tokens.input_tokens, cached, output));
                }
                recorder.state.add_turn();
                recorder.state.succeed("turn.completed");
            }
            "turn.failed" => {
                let text = line.error.as_ref().map_or(&*line.message, |error| &*error.message);
                recorder.state.fail(AgentFailure::classify(None, text));
            }
            "error" => error(&line.message, recorder),
            "item.started" | "item.updated" => {
                return self.item(false, line.item.as_ref(), recorder);
            }
            "item.completed" => return self.item(true, line.item.as_ref(), recorder),
            _ => return Err(UnknownLine),
        }
        Ok(())
    }

    fn start_failures(&self) -> &'static [StartFailure] {
        START_FAILURES
    }
}

/// An error that may not be final; if the turn fails, `turn.failed` repeats the last one.
fn error(text: &str, recorder: &mut Recorder<'_>) {
    if text.starts_with("Reconnecting") {
        recorder.note_retry(text, None);
    } else {
        recorder.state.last_error = Some(one_line(text));
        recorder.emit(AgentEvent::Notice { text });
    }
}

impl CodexFormat {
    fn item(
        &mut self,
        completed: bool,
        item: Option<&CodexItem<'_>>,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), UnknownLine> {
        let Some(item) = item else { return Err(UnknownLine) };
        let (name, about) = match &*item.kind {
            "agent_message" if completed => {
                recorder.state.set_working();
                recorder.state.next_text_is_new = true;
                recorder.add_text(&item.text);
                return Ok(());
            }
            "reasoning" if completed => {
                recorder.emit(AgentEvent::Thinking { text: &item.text });
                return Ok(());
            }
            "error" => {
                recorder.emit(AgentEvent::Notice { text: &item.message });
                return Ok(());
            }
            "agent_message" | "reasoning" | "todo_list" | "plan_update" => {
                return Ok(());
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
            recorder.start_tool(&item.id, &name, &ToolSummary(one_line(about)));
            self.open.push(item.id.to_string());
        }
        if completed {
            recorder.state.set_working();
            self.open.retain(|id| **id != *item.id);
            let failed = matches!(&*item.status, "failed" | "declined")
                || item.exit_code.0.is_some_and(|code| code != 0.0);
            recorder.emit(AgentEvent::ToolEnded { id: &item.id, failed });
        }
        Ok(())
    }
}
