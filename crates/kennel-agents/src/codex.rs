//! Codex.
//!
//! One message a line (`exec --json`): `thread.started`, `turn.started`, `item.*`, then `turn.completed` or
//! `turn.failed`. An item of type `error` may appear in a run that succeeds, and an `error` while it tries again.

use kennel_types::{Permissions, Seat, Usage, VerdictKind};
use serde::Deserialize;

use crate::agent::{AgentError, Part};
use crate::invocation::Invocation;
use crate::json::{About, Amount, Count, Text, one_line};
use crate::manners::{Manners, PoliteSignal};
use crate::reader::{Dialect, Happening, Refusal, Tell, Understood};
use crate::seen::{Failure, Seen};

pub(crate) const MANNERS: Manners = Manners {
    signal: PoliteSignal::Term,
    whole_tree: false,
    kill_once_told: false,
    why: "its wrapper hands a TERM on, and it ends its tool before it goes",
};

pub(crate) fn one_shot(seat: &Seat, conversation: Option<&str>) -> Result<Invocation, AgentError> {
    let start = Invocation::of("codex").args(["exec"]);
    let start = if conversation.is_some() { start.args(["resume"]) } else { start };
    // A `-` in the prompt's place: it is read from standard input.
    Ok(with_seat(start.args(["--json"]), seat)?.args(&seat.args).args(conversation).args(["-"]))
}

pub(crate) fn interactive(
    seat: &Seat,
    conversation: Option<&str>,
) -> Result<Invocation, AgentError> {
    let start = Invocation::of("codex");
    let start = if conversation.is_some() { start.args(["resume"]) } else { start };
    Ok(with_seat(start, seat)?.args(&seat.args).args(conversation))
}

fn with_seat(start: Invocation, seat: &Seat) -> Result<Invocation, AgentError> {
    if seat.turns.is_some() {
        return Err(AgentError::unsupported("codex", Part::Turns));
    }
    let start = start.flag("--model", seat.model.as_ref());
    // As settings, since `resume` takes no `--sandbox`.
    Ok(match seat.permissions {
        Permissions::Default => start,
        Permissions::ReadOnly => start.args(["-c", "sandbox_mode=\"read-only\""]),
        Permissions::Edit => start.args(["-c", "sandbox_mode=\"workspace-write\""]),
        Permissions::All => start.args(["--dangerously-bypass-approvals-and-sandbox"]),
    })
}

/// How it says that it does not begin.
const REFUSALS: &[Refusal] = &[
    Refusal { has: "no rollout found for thread id", kind: VerdictKind::StaleConversation },
    Refusal { has: "No saved session found", kind: VerdictKind::StaleConversation },
    Refusal { has: "Not inside a trusted directory", kind: VerdictKind::UntrustedFolder },
    Refusal { has: "error: unexpected argument", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: invalid value", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: the argument", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: the following required", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: unrecognized subcommand", kind: VerdictKind::RefusedFlags },
    Refusal { has: "error: a value is required", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Error loading config", kind: VerdictKind::RefusedFlags },
    Refusal { has: "Not logged in", kind: VerdictKind::Auth },
];

/// Its output.
#[derive(Debug, Default)]
pub(crate) struct Codex {
    /// The tools at work, by their ids.
    open: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    thread_id: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    error: Option<Message<'a>>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    message: Text<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    command: Text<'a>,
    #[serde(borrow)]
    query: Text<'a>,
    #[serde(borrow)]
    server: Text<'a>,
    #[serde(borrow)]
    tool: Text<'a>,
    #[serde(borrow)]
    status: Text<'a>,
    exit_code: Amount,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Tokens {
    input_tokens: Count,
    cached_input_tokens: Count,
    output_tokens: Count,
}

/// The part of a turn's life that an item's line tells of.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Stage {
    Started,
    Updated,
    Completed,
}

impl Dialect for Codex {
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return Understood::No };
        match &*line.kind {
            "thread.started" => seen.conversation(&line.thread_id, tell),
            "turn.started" => seen.works(),
            "turn.completed" => {
                if let Some(tokens) = line.usage {
                    seen.uses_up(usage(tokens), tell);
                }
                seen.turns = Some(seen.turns.unwrap_or(0).saturating_add(1));
                seen.succeeded("turn.completed");
            }
            "turn.failed" => {
                let text = line.error.as_ref().map_or(&*line.message, |error| &*error.message);
                seen.failed(Failure::read(None, text));
            }
            "error" => error(&line.message, seen, tell),
            "item.started" => return self.item(Stage::Started, line.item.as_ref(), seen, tell),
            "item.updated" => return self.item(Stage::Updated, line.item.as_ref(), seen, tell),
            "item.completed" => return self.item(Stage::Completed, line.item.as_ref(), seen, tell),
            _ => return Understood::No,
        }
        Understood::Yes
    }

    fn refusals(&self) -> &[Refusal] {
        REFUSALS
    }
}

/// Tokens that were cached are among those that were read.
fn usage(tokens: Tokens) -> Usage {
    Usage {
        input_tokens: tokens.input_tokens.0.saturating_sub(tokens.cached_input_tokens.0),
        cached_tokens: tokens.cached_input_tokens.0,
        output_tokens: tokens.output_tokens.0,
        cost_micros: 0,
    }
}

/// An error that it may get over; the last one is told again when the turn fails.
fn error(text: &str, seen: &mut Seen, tell: Tell<'_>) {
    if text.starts_with("Reconnecting") {
        seen.retries(text, None, tell);
    } else {
        seen.trouble = Some(one_line(text));
        tell(Happening::Notice(text));
    }
}

impl Codex {
    fn item(
        &mut self,
        stage: Stage,
        item: Option<&Item<'_>>,
        seen: &mut Seen,
        tell: Tell<'_>,
    ) -> Understood {
        let Some(item) = item else { return Understood::No };
        let (name, about) = match &*item.kind {
            "agent_message" if stage == Stage::Completed => {
                seen.works();
                seen.new_text = true;
                seen.says(&item.text, tell);
                return Understood::Yes;
            }
            "reasoning" if stage == Stage::Completed => {
                tell(Happening::Thinking(&item.text));
                return Understood::Yes;
            }
            "error" => {
                tell(Happening::Notice(&item.message));
                return Understood::Yes;
            }
            "agent_message" | "reasoning" | "todo_list" | "plan_update" => return Understood::Yes,
            "command_execution" => ("shell".to_owned(), &item.command),
            "file_change" => ("edit".to_owned(), &item.text),
            "web_search" => ("web_search".to_owned(), &item.query),
            "mcp_tool_call" => (format!("{}.{}", &*item.server, &*item.tool), &item.text),
            // Whatever else it does may be a tool: better one too many.
            other => (other.to_owned(), &item.text),
        };
        // Some are told only when they are over.
        if !self.open.iter().any(|id| **id == *item.id) {
            seen.uses(&item.id, &name, &About(one_line(about)), tell);
            self.open.push(item.id.to_string());
        }
        if stage == Stage::Completed {
            seen.works();
            self.open.retain(|id| **id != *item.id);
            let failed = matches!(&*item.status, "failed" | "declined")
                || item.exit_code.0.is_some_and(|code| code != 0.0);
            tell(Happening::ToolEnded { id: &item.id, failed });
        }
        Understood::Yes
    }
}
