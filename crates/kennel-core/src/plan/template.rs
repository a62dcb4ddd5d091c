//! References in prompts.
//!
//! `{{input.NAME}}` is an input of the plan, `{{STAGE.AGENT}}` an answer, `{{STAGE}}` all answers
//! of a stage. `{{{{` stands for `{{`. Values are inserted unchanged: braces in an answer are not
//! references.

use std::fmt;

use kennel_types::beginning_of;
use kennel_types::plan::{AgentPath, Name};

/// The prefix of references to inputs. No stage can have this name.
pub(super) const INPUT: &str = "input";

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Text(&'a str),
    Reference(Reference),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reference {
    Input(Name),
    Stage(Name),
    Agent(AgentPath),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) => write!(f, "{INPUT}.{name}"),
            Self::Stage(name) => name.fmt(f),
            Self::Agent(path) => path.fmt(f),
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{written:?} {why}: write {{{{input.NAME}}}}, {{{{STAGE.AGENT}}}} or {{{{STAGE}}}}, or {{{{{{{{ for two braces"
)]
pub(super) struct TemplateError {
    pub(super) written: String,
    why: &'static str,
}

impl TemplateError {
    fn new(text: &str, why: &'static str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        Self { written: beginning_of(line, 60).to_owned(), why }
    }
}

pub(super) fn segments(text: &str) -> Result<Vec<Segment<'_>>, TemplateError> {
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let (before, found) = rest.split_at(at);
        let after = &found[OPEN.len()..];
        segments.push(Segment::Text(before));
        if let Some(after) = after.strip_prefix(OPEN) {
            segments.push(Segment::Text(OPEN));
            rest = after;
            continue;
        }
        let line = after.lines().next().unwrap_or_default();
        let (name, _) = line
            .split_once(CLOSE)
            .ok_or_else(|| TemplateError::new(found, "has no }} on its line"))?;
        let end = OPEN.len() + name.len() + CLOSE.len();
        let reference = Reference::parse(name)
            .ok_or_else(|| TemplateError::new(&found[..end], "is not a reference"))?;
        segments.push(Segment::Reference(reference));
        rest = &found[end..];
    }
    segments.push(Segment::Text(rest));
    Ok(segments)
}

impl Reference {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.contains('.') {
            return Name::parse(text).ok().map(Self::Stage);
        }
        let path = AgentPath::parse(text).ok()?;
        Some(if path.stage.as_str() == INPUT { Self::Input(path.agent) } else { Self::Agent(path) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Renders a template; `show` returns the value of a reference.
    fn rendered(text: &str, show: impl Fn(&Reference) -> String) -> String {
        let segments = segments(text).unwrap();
        let shown = segments.iter().map(|segment| match segment {
            Segment::Text(text) => (*text).to_owned(),
            Segment::Reference(reference) => show(reference),
        });
        shown.collect()
    }

    #[test]
    fn references_are_found_and_replaced_once() {
        for (text, expected) in [
            ("", ""),
            ("plain } text }} { here", "plain } text }} { here"),
            ("{{input.topic}}", "<input.topic>"),
            ("a {{ research }}, {{research.code-base}}b", "a <research>, <research.code-base>b"),
            ("{{a}}{{b}}", "<a><b>"),
            ("{{{{input.topic}}", "{{input.topic}}"),
            ("{{{{{{a}}", "{{<a>"),
            ("{{{{{{{{", "{{{{"),
            ("ü{{a}}ü", "ü<a>ü"),
        ] {
            assert_eq!(rendered(text, |reference| format!("<{reference}>")), expected, "{text}");
        }
    }

    #[test]
    fn braces_without_a_reference_are_refused() {
        for (text, message) in [
            (
                "a {{b",
                "\"{{b\" has no }} on its line: write {{input.NAME}}, {{STAGE.AGENT}} or {{STAGE}}, or {{{{ for two braces",
            ),
            ("{{a\n}}", "\"{{a\" has no }} on its line"),
            ("{{}}", "\"{{}}\" is not a reference"),
            ("{{a.b.c}}", "\"{{a.b.c}}\" is not a reference"),
            ("{{{a}}}", "\"{{{a}}\" is not a reference"),
            ("{{input.}}", "\"{{input.}}\" is not a reference"),
        ] {
            let error = segments(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_template_survives_a_round_trip(text in "[{} a.b\nü]{0,24}") {
            if let Ok(parsed) = segments(&text) {
                // Back to what was written, except for blanks in the braces.
                let again: String = parsed.iter().map(|segment| match segment {
                    Segment::Text(plain) => plain.replace(OPEN, "{{{{"),
                    Segment::Reference(reference) => format!("{{{{{reference}}}}}"),
                }).collect();
                prop_assert_eq!(segments(&again), Ok(parsed));
            }
        }

        /// Any text can be written, with its braces doubled.
        #[test]
        fn escaped_text_is_rendered_unchanged(text in "[{} a.b\nü]{0,24}") {
            let escaped = text.replace(OPEN, "{{{{");
            prop_assert_eq!(rendered(&escaped, |_| "?".to_owned()), text);
        }
    }
}
