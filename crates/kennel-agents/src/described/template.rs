//! Command-line arguments with placeholders.

use serde::Deserialize;

use crate::error::DescriptionError;

/// The value of `{prompt_file}`: standard input as a file, so that no prompt is written to a disk.
const PROMPT_FILE: &str = "/dev/stdin";

/// An argument, or a group of arguments, as it is written in TOML.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings that are omitted together")]
pub(super) enum ArgText {
    One(String),
    Group(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placeholder {
    Model,
    Conversation,
    Turns,
    PromptFile,
    Args,
}

impl Placeholder {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "model" => Self::Model,
            "conversation" => Self::Conversation,
            "turns" => Self::Turns,
            "prompt_file" => Self::PromptFile,
            "args" => Self::Args,
            _ => return None,
        })
    }
}

/// The values of the placeholders.
pub(super) struct TemplateValues<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) conversation: Option<&'a str>,
    pub(super) turns: Option<&'a str>,
    pub(super) args: Vec<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Placeholder(Placeholder),
}

type TemplateWord = Vec<TemplatePiece>;

/// Arguments, in groups that are omitted if one of their placeholders has no value.
#[derive(Debug)]
pub(super) struct ArgTemplate(Vec<Vec<TemplateWord>>);

impl ArgTemplate {
    pub(super) fn parse(key: &'static str, args: Vec<ArgText>) -> Result<Self, DescriptionError> {
        let mut groups = Vec::new();
        for arg in args {
            let words = match arg {
                ArgText::One(word) => vec![word],
                ArgText::Group(words) => words,
            };
            let alone = words.len() == 1;
            let words = words.iter().map(|word| pieces(key, word));
            let words: Vec<TemplateWord> = words.collect::<Result<_, _>>()?;
            let args = TemplatePiece::Placeholder(Placeholder::Args);
            let has_args = words.iter().any(|word| word.contains(&args));
            if has_args && !(alone && words[0].len() == 1) {
                return Err(DescriptionError::Args { key });
            }
            groups.push(words);
        }
        Ok(Self(groups))
    }

    pub(super) fn has(&self, placeholder: Placeholder) -> bool {
        let piece = TemplatePiece::Placeholder(placeholder);
        self.0.iter().flatten().any(|word| word.contains(&piece))
    }

    /// Returns the arguments. Additional ones replace `{args}`, or are appended if there is no
    /// `{args}`.
    pub(super) fn fill(&self, values: &TemplateValues<'_>) -> Vec<String> {
        let args = || values.args.iter().map(|arg| (*arg).to_owned());
        let mut all = Vec::new();
        for group in &self.0 {
            if group
                .iter()
                .any(|word| word.contains(&TemplatePiece::Placeholder(Placeholder::Args)))
            {
                all.extend(args());
            } else {
                let words: Option<Vec<String>> =
                    group.iter().map(|word| fill_word(word, values)).collect();
                all.extend(words.into_iter().flatten());
            }
        }
        if !self.has(Placeholder::Args) {
            all.extend(args());
        }
        all
    }
}

fn fill_word(word: &TemplateWord, values: &TemplateValues<'_>) -> Option<String> {
    let mut text = String::new();
    for piece in word {
        text.push_str(match piece {
            TemplatePiece::Text(text) => text,
            TemplatePiece::Placeholder(Placeholder::Model) => values.model?,
            TemplatePiece::Placeholder(Placeholder::Conversation) => values.conversation?,
            TemplatePiece::Placeholder(Placeholder::Turns) => values.turns?,
            TemplatePiece::Placeholder(Placeholder::PromptFile) => PROMPT_FILE,
            TemplatePiece::Placeholder(Placeholder::Args) => "",
        });
    }
    Some(text)
}

/// Parses an argument. A lower-case name in braces is a placeholder; other braces are text.
fn pieces(key: &'static str, word: &str) -> Result<TemplateWord, DescriptionError> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = word;
    while let Some(open) = rest.find('{') {
        let inner = &rest[open + 1..];
        let length = inner.bytes().take_while(|b| b.is_ascii_lowercase() || *b == b'_').count();
        if length == 0 || !inner[length..].starts_with('}') {
            text.push_str(&rest[..=open]);
            rest = inner;
            continue;
        }
        text.push_str(&rest[..open]);
        let name = &inner[..length];
        let placeholder = Placeholder::named(name)
            .ok_or_else(|| DescriptionError::Placeholder { key, name: name.to_owned() })?;
        if !text.is_empty() {
            pieces.push(TemplatePiece::Text(std::mem::take(&mut text)));
        }
        pieces.push(TemplatePiece::Placeholder(placeholder));
        rest = &inner[length + 1..];
    }
    text.push_str(rest);
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(TemplatePiece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(args: &[&[&str]]) -> Result<ArgTemplate, DescriptionError> {
        let group = |words: &&[&str]| match words {
            [word] => ArgText::One((*word).to_owned()),
            words => ArgText::Group(words.iter().map(|word| (*word).to_owned()).collect()),
        };
        ArgTemplate::parse("args", args.iter().map(group).collect())
    }

    const NOTHING: TemplateValues<'_> =
        TemplateValues { model: None, conversation: None, turns: None, args: Vec::new() };

    #[test]
    fn omits_a_group_without_its_value() {
        let template = template(&[
            &["run"],
            &["--model", "{model}"],
            &["--turns={turns}"],
            &["{args}"],
            &["-"],
        ])
        .unwrap();
        assert_eq!(template.fill(&NOTHING), ["run", "-"]);
        let values =
            TemplateValues { model: Some("m"), turns: Some("3"), args: vec!["a", "b"], ..NOTHING };
        assert_eq!(template.fill(&values), ["run", "--model", "m", "--turns=3", "a", "b", "-"]);
    }

    #[test]
    fn appends_arguments_and_keeps_other_braces() {
        let template =
            template(&[&[r#"{"json":1}"#], &["{}"], &["f{prompt_file}"], &[""]]).unwrap();
        let values = TemplateValues { args: vec!["x"], ..NOTHING };
        assert_eq!(template.fill(&values), [r#"{"json":1}"#, "{}", "f/dev/stdin", "", "x"]);
    }

    #[test]
    fn refuses_unknown_placeholders() {
        let error = template(&[&["{modell}"]]).unwrap_err();
        assert!(error.to_string().contains("unknown placeholder {modell}"), "{error}");
        for bad in [&["x{args}"][..], &["--", "{args}"]] {
            assert_eq!(template(&[bad]).unwrap_err(), DescriptionError::Args { key: "args" });
        }
    }
}
