//! What the output of an agent has reported so far, in one shape for all agents.

use std::time::Duration;

use kennel_types::{EvidenceSource, TokenUsage, VerdictKind, beginning_of};

use crate::agent_event::AgentEvent;
use crate::error_patterns;
use crate::excerpt::Excerpt;
use crate::json::{ToolSummary, one_line};
use crate::lines::MAX_LINE_BYTES;

#[derive(Debug, Default)]
pub(crate) struct ParseState {
    pub(crate) conversation: Option<String>,
    pub(crate) usage: TokenUsage,
    pub(crate) turns: Option<u32>,
    pub(crate) tools: u32,
    pub(crate) answer: Option<String>,
    /// Whether the next text starts a new answer.
    pub(crate) next_text_is_new: bool,
    /// The result; `None` while the agent works.
    pub(crate) outcome: Option<ReportedOutcome>,
    /// Whether the agent has started to work on the prompt. After that it can't fail to start.
    pub(crate) started: bool,
    /// Whether a line may have reported the use of a tool.
    pub(crate) maybe_tools: bool,
    /// Lines that the format doesn't know.
    pub(crate) unknown_lines: Excerpt,
    /// Whether one of them looks like a message.
    pub(crate) unknown_message: bool,
    /// Whether a part of the output is missing.
    pub(crate) gaps: bool,
    /// Whether output is missing after the result.
    pub(crate) gap_after_outcome: bool,
    /// The delay that the provider requested.
    pub(crate) retry_after: Option<Duration>,
    /// The last error that didn't end the work.
    pub(crate) last_error: Option<String>,
}

/// The result that an agent reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportedOutcome {
    /// Success, with the evidence for it.
    Success(&'static str),
    Failure(AgentFailure),
}

/// A failure that an agent reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentFailure {
    pub(crate) kind: VerdictKind,
    pub(crate) text: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) source: EvidenceSource,
}

impl AgentFailure {
    pub(crate) fn new(kind: VerdictKind, text: &str) -> Self {
        let retry_after = error_patterns::retry_delay(text);
        Self { kind, text: text.to_owned(), retry_after, source: EvidenceSource::Result }
    }

    /// Derives the kind from the provider's HTTP status, if there is one, and the text.
    pub(crate) fn classify(status: Option<u64>, text: &str) -> Self {
        let by_status = status.and_then(|status| error_patterns::by_status(status, text));
        // If the status is an error without a known kind, similar words of another error must not
        // override it.
        let is_error = status.is_some_and(|status| (400..600).contains(&status));
        let by_text = || if is_error { None } else { error_patterns::by_text(text) };
        Self::new(by_status.or_else(by_text).unwrap_or(VerdictKind::Unknown), text)
    }
}

impl ParseState {
    /// Records that the agent works on the prompt, so that an earlier result was not the last one.
    pub(crate) fn set_working(&mut self) {
        self.started = true;
        self.outcome = None;
        self.gap_after_outcome = false;
    }

    pub(crate) fn add_turn(&mut self) {
        self.turns = Some(self.turns.unwrap_or(0).saturating_add(1));
    }

    pub(crate) fn fail(&mut self, mut failure: AgentFailure) {
        failure.retry_after = failure.retry_after.or(self.retry_after);
        self.outcome = Some(ReportedOutcome::Failure(failure));
        self.gap_after_outcome = false;
    }

    pub(crate) fn succeed(&mut self, evidence: &'static str) {
        self.outcome = Some(ReportedOutcome::Success(evidence));
        self.gap_after_outcome = false;
    }

    /// Keeps a line that the format doesn't know.
    pub(crate) fn add_unknown_line(&mut self, line: &[u8]) {
        self.unknown_message |= line.trim_ascii_start().starts_with(b"{");
        self.maybe_tools |= self.unknown_message;
        self.unknown_lines.add(line);
        self.unknown_lines.add(b"\n");
    }

    /// Records that a part of the output is missing.
    pub(crate) fn note_gap(&mut self) {
        self.gaps = true;
        self.gap_after_outcome = true;
    }
}

/// Records what the output reports, and emits it as events.
pub(crate) struct Recorder<'a> {
    pub(crate) state: &'a mut ParseState,
    pub(crate) sink: &'a mut dyn FnMut(AgentEvent<'_>),
}

impl Recorder<'_> {
    pub(crate) fn emit(&mut self, event: AgentEvent<'_>) {
        (self.sink)(event);
    }

    /// Sets the conversation, and emits it if it changed.
    pub(crate) fn set_conversation(&mut self, id: &str) {
        if !id.is_empty() && self.state.conversation.as_deref() != Some(id) {
            self.state.conversation = Some(id.to_owned());
            self.emit(AgentEvent::Conversation { id });
        }
    }

    /// Adds text to the answer.
    pub(crate) fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let answer = self.state.answer.get_or_insert_default();
        if std::mem::take(&mut self.state.next_text_is_new) {
            answer.clear();
        }
        let room = MAX_LINE_BYTES.saturating_sub(answer.len());
        answer.push_str(beginning_of(text, room));
        self.emit(AgentEvent::Text { text });
    }

    pub(crate) fn start_tool(&mut self, id: &str, name: &str, summary: &ToolSummary) {
        self.state.set_working();
        self.state.tools = self.state.tools.saturating_add(1);
        self.state.next_text_is_new = true;
        self.emit(AgentEvent::ToolBegan { id, name, about: summary.0.clone() });
    }

    /// Sets the total usage.
    pub(crate) fn set_usage(&mut self, usage: TokenUsage) {
        if self.state.usage != usage {
            self.state.usage = usage;
            self.emit(AgentEvent::Usage { usage });
        }
    }

    /// Records that the agent retries a request by itself.
    pub(crate) fn note_retry(&mut self, why: &str, after: Option<Duration>) {
        self.state.last_error = Some(one_line(why));
        self.emit(AgentEvent::Retrying { why, after });
    }
}
