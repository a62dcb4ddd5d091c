//! The output format of an agent that a user describes.

use std::sync::Arc;

use kennel_types::{TokenUsage, VerdictKind};
use serde::Deserialize;
use serde_json::Value;

use super::Description;
use crate::agent_event::EventSink;
use crate::attempt_end::{AttemptEnd, EndedBy, ProcessEnd};
use crate::error::DescriptionError;
use crate::excerpt::{Excerpt, without_colors};
use crate::json::{ToolSummary, one_line};
use crate::output_format::{KeptOutput, OutcomeOverride, OutputFormat, ParsedLine, StartFailure};
use crate::parse_state::{AgentFailure, ParseState, ReportedOutcome};

/// The `output` table of a description as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OutputText {
    format: OutputEncoding,
    text: Option<String>,
    conversation: Option<String>,
    error: Option<String>,
    status: Option<String>,
    usage: Option<UsageText>,
    tool: Option<LineMarker>,
    done: Option<LineMarker>,
}

#[derive(Deserialize, Default, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum OutputEncoding {
    #[default]
    Text,
    JsonLines,
}

#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields, default)]
struct UsageText {
    input: Option<String>,
    cached: Option<String>,
    output: Option<String>,
    cost_usd: Option<String>,
}

/// Recognizes a line: the value at this pointer equals `is`, or exists if `is` is not set.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct LineMarker {
    at: String,
    is: Option<String>,
    name: Option<String>,
}

/// A valid `output` table: the JSON pointers of everything that is read.
#[derive(Debug)]
pub(super) struct OutputDescription {
    format: OutputEncoding,
    text: Option<String>,
    conversation: Option<String>,
    error: Option<String>,
    status: Option<String>,
    usage: UsageText,
    tool: Option<LineMarker>,
    done: Option<LineMarker>,
}

impl OutputDescription {
    pub(super) fn check(text: OutputText) -> Result<Self, DescriptionError> {
        let usage = text.usage.unwrap_or_default();
        let at = |mark: &Option<LineMarker>| mark.as_ref().map(|mark| mark.at.clone());
        let name = text.tool.as_ref().and_then(|tool| tool.name.clone());
        let pointers = [
            ("text", text.text.clone()),
            ("conversation", text.conversation.clone()),
            ("error", text.error.clone()),
            ("status", text.status.clone()),
            ("usage", usage.input.clone()),
            ("usage", usage.cached.clone()),
            ("usage", usage.output.clone()),
            ("usage", usage.cost_usd.clone()),
            ("tool", at(&text.tool)),
            ("tool", name),
            ("done", at(&text.done)),
        ];
        for (key, pointer) in pointers {
            let Some(pointer) = pointer else { continue };
            if text.format == OutputEncoding::Text {
                return Err(DescriptionError::NotForText { key });
            }
            if !pointer.starts_with('/') {
                return Err(DescriptionError::Pointer { key, pointer });
            }
        }
        if text.format == OutputEncoding::JsonLines && text.text.is_none() {
            return Err(DescriptionError::NoText);
        }
        Ok(Self {
            format: text.format,
            text: text.text,
            conversation: text.conversation,
            error: text.error,
            status: text.status,
            usage,
            tool: text.tool,
            done: text.done,
        })
    }
}

pub(super) struct DescribedFormat {
    description: Arc<Description>,
    /// Standard output, for the rules.
    stdout: Excerpt,
}

impl DescribedFormat {
    pub(super) fn new(description: Arc<Description>) -> Self {
        Self { description, stdout: Excerpt::default() }
    }

    fn message(
        output: &OutputDescription,
        line: &Value,
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) {
        let text = |at: &Option<String>| line.pointer(at.as_deref()?)?.as_str();
        if let Some(id) = text(&output.conversation) {
            state.set_conversation(id, emit);
        }
        if let Some(usage) = usage(&output.usage, line) {
            state.set_usage(usage, emit);
        }
        if let Some(mark) = &output.tool
            && let Some(name) = marked(mark, line)
        {
            state.start_tool("", &name, &ToolSummary::default(), emit);
        }
        if let Some(text) = text(&output.text) {
            state.add_text(text, emit);
        }
        if let Some(error) = text(&output.error).filter(|error| !error.is_empty()) {
            let status = output.status.as_deref().and_then(|at| line.pointer(at)?.as_u64());
            state.fail(AgentFailure::classify(status, error));
        } else if output.done.as_ref().is_some_and(|mark| marked(mark, line).is_some()) {
            state.succeed("the line that its description marks as done");
        }
    }

    /// Returns the outcome if no rule applies.
    fn default_outcome(&self, state: &ParseState, end: &AttemptEnd) -> Option<ReportedOutcome> {
        let rules = &self.description.rules;
        let ruled = rules.iter().any(|rule| rule.kind == VerdictKind::Succeeded);
        let output = &self.description.output;
        let exited = end.end == ProcessEnd::Exited(0) && end.ended_by == EndedBy::Itself;
        let complete = !state.gaps && !state.unknown_message;
        let answered = state.answer.as_deref().is_some_and(|answer| !answer.trim().is_empty());
        let unreported = state.outcome.is_none() && output.done.is_none() && !ruled;
        (exited && complete && answered && unreported)
            .then_some(ReportedOutcome::Success("an answer, exit code 0, and no error"))
    }
}

impl OutputFormat for DescribedFormat {
    fn parse_line(
        &mut self,
        line: &[u8],
        state: &mut ParseState,
        emit: EventSink<'_>,
    ) -> ParsedLine {
        self.stdout.add(line);
        self.stdout.add(b"\n");
        let output = &self.description.output;
        match output.format {
            OutputEncoding::Text => {
                let text = without_colors(&String::from_utf8_lossy(line));
                state.add_text(&format!("{text}\n"), emit);
            }
            OutputEncoding::JsonLines => {
                let Ok(line) = serde_json::from_slice::<Value>(line) else {
                    return ParsedLine::Unknown;
                };
                state.started = true;
                Self::message(output, &line, state, emit);
            }
        }
        ParsedLine::Known
    }

    fn start_failures(&self) -> &[StartFailure] {
        &[]
    }

    fn override_outcome(
        &self,
        state: &ParseState,
        output: &KeptOutput<'_>,
        end: &AttemptEnd,
    ) -> Option<OutcomeOverride> {
        let stdout = self.stdout.text();
        let output = KeptOutput { stdout: &stdout, stderr: output.stderr };
        let rules = self.description.rules.iter();
        let matches = rules.filter_map(|rule| Some((rule.kind, rule.apply(&output, &end.end)?)));
        for (kind, found) in matches {
            use VerdictKind as Kind;
            if kind == Kind::Succeeded {
                // A rule must not override an error that the agent reported in its own format.
                if state.outcome.is_none() && !state.gaps {
                    let outcome = ReportedOutcome::Success("a rule of its description");
                    return Some(OutcomeOverride { outcome, failed_start: false });
                }
                continue;
            }
            let mut failure = AgentFailure::new(kind, &found.text);
            failure.source = found.source;
            let early = matches!(
                kind,
                Kind::StaleConversation | Kind::RefusedFlags | Kind::UntrustedFolder
            );
            let failed_start = early && state.tools == 0 && state.answer.is_none();
            let outcome = ReportedOutcome::Failure(failure);
            return Some(OutcomeOverride { outcome, failed_start });
        }
        let outcome = self.default_outcome(state, end)?;
        Some(OutcomeOverride { outcome, failed_start: false })
    }

    fn reports_tools(&self) -> bool {
        self.description.output.tool.is_some()
    }
}

/// Returns the name in a line that the marker recognizes.
fn marked(marker: &LineMarker, line: &Value) -> Option<String> {
    let value = line.pointer(&marker.at)?;
    let matches = match (&marker.is, value) {
        (Some(is), Value::String(text)) => text == is,
        (Some(is), other) => serde_json::from_str::<Value>(is).is_ok_and(|is| is == *other),
        (None, Value::Null) => false,
        (None, _) => true,
    };
    let name = || line.pointer(marker.name.as_deref()?)?.as_str();
    matches.then(|| one_line(name().unwrap_or("tool")))
}

fn usage(at: &UsageText, line: &Value) -> Option<TokenUsage> {
    let number = |at: &Option<String>| line.pointer(at.as_deref()?)?.as_f64();
    let all = [&at.input, &at.cached, &at.output, &at.cost_usd].map(number);
    if all.iter().all(Option::is_none) {
        return None;
    }
    // Saturates, and converts negative numbers and NaN to 0.
    let [input, cached, output, cost] = all.map(|number| number.unwrap_or(0.0));
    Some(TokenUsage {
        input_tokens: input as u64,
        cached_tokens: cached as u64,
        output_tokens: output as u64,
        cost_micros: (cost * 1e6).round() as u64,
    })
}
