//! The output format of an agent that a user describes.

use std::sync::Arc;

use kennel_types::{TokenUsage, VerdictKind};
use serde::Deserialize;
use serde_json::Value;

use super::Description;
use crate::attempt_end::{AttemptEnd, EndedBy, ProcessEnd};
use crate::error::DescriptionError;
use crate::excerpt::{Excerpt, without_colors};
use crate::json::{ToolSummary, cost_micros, one_line};
use crate::output_format::{KeptOutput, OutcomeOverride, OutputFormat, UnknownLine};
use crate::parse_state::{AgentFailure, ParseState, Recorder, ReportedOutcome};

/// The `output` table of a description: the JSON pointers of everything that is read.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
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

impl OutputDescription {
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        let (usage, tool) = (&self.usage, self.tool.as_ref());
        let pointers = [
            ("text", self.text.as_ref()),
            ("conversation", self.conversation.as_ref()),
            ("error", self.error.as_ref()),
            ("status", self.status.as_ref()),
            ("usage", usage.input.as_ref()),
            ("usage", usage.cached.as_ref()),
            ("usage", usage.output.as_ref()),
            ("usage", usage.cost_usd.as_ref()),
            ("tool", tool.map(|tool| &tool.at)),
            ("tool", tool.and_then(|tool| tool.name.as_ref())),
            ("done", self.done.as_ref().map(|done| &done.at)),
        ];
        for (key, pointer) in pointers {
            let Some(pointer) = pointer else { continue };
            if self.format == OutputEncoding::Text {
                return Err(DescriptionError(format!(
                    "output.{key} needs output.format = \"json_lines\"; set it, or omit output.{key}"
                )));
            }
            if !pointer.starts_with('/') {
                return Err(DescriptionError(format!(
                    "output.{key}: invalid JSON pointer {pointer:?}: expected one such as \
                     \"/message/text\""
                )));
            }
        }
        if self.format == OutputEncoding::JsonLines && self.text.is_none() {
            let error = "output.text is missing: set it to the JSON pointer of the agent's text";
            return Err(DescriptionError(error.to_owned()));
        }
        Ok(())
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

    fn message(output: &OutputDescription, line: &Value, recorder: &mut Recorder<'_>) {
        let text = |at: &Option<String>| line.pointer(at.as_deref()?)?.as_str();
        if let Some(id) = text(&output.conversation) {
            recorder.set_conversation(id);
        }
        if let Some(usage) = usage(&output.usage, line) {
            recorder.set_usage(usage);
        }
        if let Some(mark) = &output.tool
            && let Some(name) = marked(mark, line)
        {
            recorder.start_tool("", &name, &ToolSummary::default());
        }
        if let Some(text) = text(&output.text) {
            recorder.add_text(text);
        }
        if let Some(error) = text(&output.error).filter(|error| !error.is_empty()) {
            let status = output.status.as_deref().and_then(|at| line.pointer(at)?.as_u64());
            recorder.state.fail(AgentFailure::classify(status, error));
        } else if output.done.as_ref().is_some_and(|mark| marked(mark, line).is_some()) {
            recorder.state.succeed("the line that its description marks as done");
        }
    }

    /// Returns the outcome if no rule applies.
    fn default_outcome(&self, state: &ParseState, end: &AttemptEnd) -> Option<ReportedOutcome> {
        let rules = &self.description.rules;
        let ruled = rules.iter().any(|rule| rule.kind == VerdictKind::Succeeded);
        let output = &self.description.text.output;
        let exited = end.end == ProcessEnd::Exited(0) && end.ended_by == EndedBy::Itself;
        let complete = !state.gaps && !state.unknown_message;
        let answered = state.answer.as_deref().is_some_and(|answer| !answer.trim().is_empty());
        let unreported = state.outcome.is_none() && output.done.is_none() && !ruled;
        (exited && complete && answered && unreported)
            .then_some(ReportedOutcome::Success("an answer, exit code 0, and no error"))
    }
}

impl OutputFormat for DescribedFormat {
    fn parse_line(&mut self, line: &[u8], recorder: &mut Recorder<'_>) -> Result<(), UnknownLine> {
        self.stdout.add(line);
        self.stdout.add(b"\n");
        let output = &self.description.text.output;
        match output.format {
            OutputEncoding::Text => {
                let text = without_colors(&String::from_utf8_lossy(line));
                recorder.add_text(&format!("{text}\n"));
            }
            OutputEncoding::JsonLines => {
                let line = serde_json::from_slice(line)?;
                recorder.state.started = true;
                Self::message(output, &line, recorder);
            }
        }
        Ok(())
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
        self.description.text.output.tool.is_some()
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
    let [input_tokens, cached_tokens, output_tokens, _] =
        all.map(|number| number.unwrap_or(0.0) as u64);
    let cost_micros = cost_micros(all[3]);
    Some(TokenUsage { input_tokens, cached_tokens, output_tokens, cost_micros })
}
