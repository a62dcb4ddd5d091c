//! Prompts with references in them.
//!
//! `{{input.NAME}}` is what somebody said who runs the plan, `{{STAGE.AGENT}}` an answer, `{{STAGE}}` all answers of a
//! stage. `{{{{` is `{{` itself. What is put in is not looked at again: braces in an answer are braces.

use std::borrow::Cow;
use std::fmt;

use kennel_types::plan::{AgentPath, Name};

/// What inputs are referred to by; so no stage can be called that.
pub(super) const INPUT: &str = "input";

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A prompt, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Reference(Reference),
}

/// What a prompt refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    /// What somebody said.
    Input(Name),
    /// All answers of a stage.
    Stage(Name),
    /// The answer of an agent.
    Agent(AgentPath),
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) => write!(f, "{INPUT}.{name}"),
            Self::Stage(name) => name.fmt(f),
            Self::Agent(place) => place.fmt(f),
        }
    }
}

/// Text that is no template. Each has what was written, braces and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// Two braces, and no two others.
    Open(String),
    /// Something else than a reference in the braces.
    NoReference(String),
}

impl TemplateError {
    /// What was written.
    #[must_use]
    pub fn written(&self) -> &str {
        match self {
            Self::Open(written) | Self::NoReference(written) => written,
        }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.written();
        match self {
            Self::Open(_) => write!(f, "{written:?} has no {CLOSE} on its line")?,
            Self::NoReference(_) => write!(f, "{written:?} refers to nothing")?,
        }
        write!(
            f,
            ": write {{{{input.NAME}}}}, {{{{STAGE.AGENT}}}} or {{{{STAGE}}}}, or {{{{{{{{ for two braces"
        )
    }
}

impl std::error::Error for TemplateError {}

/// A reference without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no value for {{{{{0}}}}}")]
pub struct NoValue(pub Reference);

impl Template {
    /// Takes a prompt apart.
    ///
    /// # Errors
    /// There are braces in it that mean nothing.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(OPEN) {
            plain.push_str(&rest[..at]);
            let after = &rest[at + OPEN.len()..];
            if let Some(after) = after.strip_prefix(OPEN) {
                plain.push_str(OPEN);
                rest = after;
                continue;
            }
            let line = after.lines().next().unwrap_or_default();
            let Some(length) = line.find(CLOSE) else {
                return Err(TemplateError::Open(shown(&rest[at..])));
            };
            let end = at + OPEN.len() + length + CLOSE.len();
            let reference = Reference::parse(&line[..length])
                .ok_or_else(|| TemplateError::NoReference(shown(&rest[at..end])))?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Reference(reference));
            rest = &rest[end..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self { parts })
    }

    /// What it refers to, in order; what it refers to twice, twice.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Reference(reference) => Some(reference),
            Part::Text(_) => None,
        })
    }

    /// Puts in the values.
    ///
    /// # Errors
    /// There is no value for a reference.
    pub fn render<'a>(
        &self,
        value: &dyn Fn(&Reference) -> Option<Cow<'a, str>>,
    ) -> Result<String, NoValue> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Reference(reference) => {
                    text.push_str(&value(reference).ok_or_else(|| NoValue(reference.clone()))?);
                }
            }
        }
        Ok(text)
    }
}

impl Reference {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some((first, _)) = text.split_once('.') else {
            return Name::parse(text).ok().map(Self::Stage);
        };
        let place = AgentPath::parse(text).ok()?;
        Some(if first == INPUT { Self::Input(place.agent) } else { Self::Agent(place) })
    }
}

/// The beginning of a line, for people.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    beginning(text.lines().next().unwrap_or_default(), MOST).to_owned()
}

/// At most so many bytes of a text, up to the border of a character.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(text: &str) -> String {
        let template = Template::parse(text).unwrap();
        template.render(&|reference| Some(format!("<{reference}>").into())).unwrap()
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
            assert_eq!(rendered(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        let template = Template::parse("{{a}}").unwrap();
        assert_eq!(template.render(&|_| Some("{{b}} {{{{".into())).unwrap(), "{{b}} {{{{");
    }

    #[test]
    fn braces_that_mean_nothing_are_refused_with_what_was_written() {
        for (text, message) in [
            (
                "a {{b",
                "\"{{b\" has no }} on its line: write {{input.NAME}}, {{STAGE.AGENT}} or {{STAGE}}, or {{{{ for two braces",
            ),
            ("{{a\n}}", "\"{{a\" has no }} on its line"),
            ("{{}}", "\"{{}}\" refers to nothing"),
            ("{{a.b.c}}", "\"{{a.b.c}}\" refers to nothing"),
            ("{{{a}}}", "\"{{{a}}\" refers to nothing"),
            ("{{input.}}", "\"{{input.}}\" refers to nothing"),
        ] {
            let told = Template::parse(text).unwrap_err().to_string();
            assert!(told.starts_with(message), "{told}");
        }
    }

    #[test]
    fn a_reference_without_a_value_is_an_error() {
        let template = Template::parse("{{a}} {{input.b}}").unwrap();
        let only_a = |it: &Reference| (it.to_string() == "a").then(|| "x".into());
        let error = template.render(&only_a).unwrap_err();
        assert_eq!(error.to_string(), "there is no value for {{input.b}}");
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "[{} a.b\nü]{0,24}") {
            if let Ok(template) = Template::parse(&text) {
                // Back to what was written, but for blanks in the braces.
                let again: String = template.parts.iter().map(|part| match part {
                    Part::Text(plain) => plain.replace(OPEN, "{{{{"),
                    Part::Reference(reference) => format!("{{{{{reference}}}}}"),
                }).collect();
                prop_assert_eq!(Template::parse(&again), Ok(template));
            }
        }

        /// Any text can be said: with its braces doubled.
        #[test]
        fn what_is_escaped_comes_out_as_it_was(text in "[{} a.b\nü]{0,24}") {
            let escaped = text.replace(OPEN, "{{{{");
            let template = Template::parse(&escaped).unwrap();
            prop_assert_eq!(template.render(&|_| None).unwrap(), text);
        }
    }
}
