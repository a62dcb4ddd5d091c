//! The output of an agent that a user has described.

use std::sync::Arc;

use kennel_types::{Usage, VerdictKind};
use serde::Deserialize;
use serde_json::Value;

use super::{Description, DescriptionError};
use crate::json::{About, one_line};
use crate::judge::{Because, End, Ended};
use crate::reader::{Dialect, Noise, Refusal, Ruled, Streams, Tell, Understood, plain};
use crate::seen::{Failure, Seen, Told};

/// The part of a description about output, as it is written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OutputText {
    format: Format,
    text: Option<String>,
    conversation: Option<String>,
    error: Option<String>,
    status: Option<String>,
    usage: Option<UsageText>,
    tool: Option<MarkText>,
    done: Option<MarkText>,
}

#[derive(Deserialize, Default, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Format {
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

/// A line of a certain kind: the value there is this one; or any, if none is given.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct MarkText {
    at: String,
    is: Option<String>,
    name: Option<String>,
}

/// Where things are in the output.
#[derive(Debug)]
pub(super) struct Output {
    format: Format,
    text: Option<String>,
    conversation: Option<String>,
    error: Option<String>,
    status: Option<String>,
    usage: UsageText,
    tool: Option<MarkText>,
    done: Option<MarkText>,
}

impl Output {
    pub(super) fn check(text: OutputText) -> Result<Self, DescriptionError> {
        let usage = text.usage.unwrap_or_default();
        let at = |mark: &Option<MarkText>| mark.as_ref().map(|mark| mark.at.clone());
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
        for (place, pointer) in pointers {
            let Some(pointer) = pointer else { continue };
            if text.format == Format::Text {
                return Err(DescriptionError::NotForText { place });
            }
            if !pointer.starts_with('/') {
                return Err(DescriptionError::Pointer { place, pointer });
            }
        }
        if text.format == Format::JsonLines && text.text.is_none() {
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

/// Reads it.
pub(super) struct Described {
    description: Arc<Description>,
    /// All of standard output, for the rules.
    stdout: Noise,
}

impl Described {
    pub(super) fn new(description: Arc<Description>) -> Self {
        Self { description, stdout: Noise::default() }
    }

    fn message(output: &Output, line: &Value, seen: &mut Seen, tell: Tell<'_>) {
        let text = |at: &Option<String>| line.pointer(at.as_deref()?)?.as_str();
        if let Some(id) = text(&output.conversation) {
            seen.conversation(id, tell);
        }
        if let Some(usage) = usage(&output.usage, line) {
            seen.uses_up(usage, tell);
        }
        if let Some(mark) = &output.tool
            && let Some(name) = marked(mark, line)
        {
            seen.uses("", &name, &About::default(), tell);
        }
        if let Some(text) = text(&output.text) {
            seen.says(text, tell);
        }
        if let Some(error) = text(&output.error).filter(|error| !error.is_empty()) {
            let status = output.status.as_deref().and_then(|at| line.pointer(at)?.as_u64());
            seen.failed(Failure::read(status, error));
        } else if output.done.as_ref().is_some_and(|mark| marked(mark, line).is_some()) {
            seen.succeeded("the line that its description calls done");
        }
    }

    /// What it is to have told, if no rule says.
    fn by_default(&self, seen: &Seen, ended: &Ended) -> Option<Told> {
        let rules = &self.description.rules;
        let ruled = rules.iter().any(|rule| rule.kind == VerdictKind::Succeeded);
        let output = &self.description.output;
        let over = ended.end == End::Exited(0) && ended.because == Because::Itself;
        let whole = !seen.gaps && !seen.strange_message;
        let said = seen.answer.as_deref().is_some_and(|answer| !answer.trim().is_empty());
        let fine = over && whole && said && seen.told.is_none() && output.done.is_none() && !ruled;
        fine.then_some(Told::Success("an answer, code 0, and no word of an error"))
    }
}

impl Dialect for Described {
    fn line(&mut self, line: &[u8], seen: &mut Seen, tell: Tell<'_>) -> Understood {
        self.stdout.add(line);
        self.stdout.add(b"\n");
        let output = &self.description.output;
        match output.format {
            Format::Text => {
                let text = plain(&String::from_utf8_lossy(line));
                seen.says(&format!("{text}\n"), tell);
            }
            Format::JsonLines => {
                let Ok(line) = serde_json::from_slice::<Value>(line) else { return Understood::No };
                seen.begun = true;
                Self::message(output, &line, seen, tell);
            }
        }
        Understood::Yes
    }

    fn refusals(&self) -> &[Refusal] {
        &[]
    }

    fn rule(&self, seen: &Seen, streams: &Streams<'_>, ended: &Ended) -> Option<Ruled> {
        let stdout = self.stdout.text();
        let streams = Streams { stdout: &stdout, stderr: streams.stderr };
        let rules = self.description.rules.iter();
        let held = rules.filter_map(|rule| Some((rule.kind, rule.holds(&streams, &ended.end)?)));
        for (kind, held) in held {
            use VerdictKind as Kind;
            if kind == Kind::Succeeded {
                // An error that it told in its own format is not overruled by words.
                if seen.told.is_none() && !seen.gaps {
                    let told = Told::Success("a rule of its description");
                    return Some(Ruled { told, refused: false });
                }
                continue;
            }
            let mut failure = Failure::of(kind, &held.text);
            failure.source = held.source;
            let early = matches!(
                kind,
                Kind::StaleConversation | Kind::RefusedFlags | Kind::UntrustedFolder
            );
            let refused = early && seen.tools == 0 && seen.answer.is_none();
            return Some(Ruled { told: Told::Failure(failure), refused });
        }
        let told = self.by_default(seen, ended)?;
        Some(Ruled { told, refused: false })
    }

    fn tells_of_tools(&self) -> bool {
        self.description.output.tool.is_some()
    }
}

/// Whether the line is of this kind, and what is at the place for its name.
fn marked(mark: &MarkText, line: &Value) -> Option<String> {
    let value = line.pointer(&mark.at)?;
    let fits = match (&mark.is, value) {
        (Some(is), Value::String(text)) => text == is,
        (Some(is), other) => serde_json::from_str::<Value>(is).is_ok_and(|is| is == *other),
        (None, Value::Null) => false,
        (None, _) => true,
    };
    let name = || line.pointer(mark.name.as_deref()?)?.as_str();
    fits.then(|| one_line(name().unwrap_or("tool")))
}

fn usage(at: &UsageText, line: &Value) -> Option<Usage> {
    let number = |at: &Option<String>| line.pointer(at.as_deref()?)?.as_f64();
    let all = [&at.input, &at.cached, &at.output, &at.cost_usd].map(number);
    if all.iter().all(Option::is_none) {
        return None;
    }
    // Saturates, and makes 0 of what is negative or not a number.
    let [input, cached, output, cost] = all.map(|number| number.unwrap_or(0.0));
    Some(Usage {
        input_tokens: input as u64,
        cached_tokens: cached as u64,
        output_tokens: output as u64,
        cost_micros: (cost * 1e6).round() as u64,
    })
}
