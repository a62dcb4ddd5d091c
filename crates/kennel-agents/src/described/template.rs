//! Arguments with placeholders.

use serde::Deserialize;

use super::DescriptionError;

/// What a program is given for `{prompt_file}`: its standard input, as a file. So no prompt is on any disk.
const PROMPT_FILE: &str = "/dev/stdin";

/// An argument as it is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an argument is a text, or a list of texts that are left out together"
)]
pub(super) enum ArgText {
    One(String),
    Group(Vec<String>),
}

/// What stands for something.
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

/// What stands in the place of the placeholders.
pub(super) struct Values<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) conversation: Option<&'a str>,
    pub(super) turns: Option<&'a str>,
    pub(super) args: Vec<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

type Word = Vec<Piece>;

/// Arguments, in groups that are left out if one of their placeholders has no value.
#[derive(Debug)]
pub(super) struct Template(Vec<Vec<Word>>);

impl Template {
    pub(super) fn parse(place: &'static str, args: Vec<ArgText>) -> Result<Self, DescriptionError> {
        let mut groups = Vec::new();
        for arg in args {
            let words = match arg {
                ArgText::One(word) => vec![word],
                ArgText::Group(words) => words,
            };
            let alone = words.len() == 1;
            let words = words.iter().map(|word| pieces(place, word));
            let words: Vec<Word> = words.collect::<Result<_, _>>()?;
            let args = Piece::Placeholder(Placeholder::Args);
            let has_args = words.iter().any(|word| word.contains(&args));
            if has_args && !(alone && words[0].len() == 1) {
                return Err(DescriptionError::Args { place });
            }
            groups.push(words);
        }
        Ok(Self(groups))
    }

    pub(super) fn has(&self, placeholder: Placeholder) -> bool {
        let piece = Piece::Placeholder(placeholder);
        self.0.iter().flatten().any(|word| word.contains(&piece))
    }

    /// The arguments. Further ones are where `{args}` is, or behind all others.
    pub(super) fn fill(&self, values: &Values<'_>) -> Vec<String> {
        let args = || values.args.iter().map(|arg| (*arg).to_owned());
        let mut all = Vec::new();
        for group in &self.0 {
            if group.iter().any(|word| word.contains(&Piece::Placeholder(Placeholder::Args))) {
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

fn fill_word(word: &Word, values: &Values<'_>) -> Option<String> {
    let mut text = String::new();
    for piece in word {
        text.push_str(match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(Placeholder::Model) => values.model?,
            Piece::Placeholder(Placeholder::Conversation) => values.conversation?,
            Piece::Placeholder(Placeholder::Turns) => values.turns?,
            Piece::Placeholder(Placeholder::PromptFile) => PROMPT_FILE,
            Piece::Placeholder(Placeholder::Args) => "",
        });
    }
    Some(text)
}

/// A word of letters in braces is a placeholder; braces around anything else are braces.
fn pieces(place: &'static str, word: &str) -> Result<Word, DescriptionError> {
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
            .ok_or_else(|| DescriptionError::Placeholder { place, name: name.to_owned() })?;
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Placeholder(placeholder));
        rest = &inner[length + 1..];
    }
    text.push_str(rest);
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(args: &[&[&str]]) -> Result<Template, DescriptionError> {
        let group = |words: &&[&str]| match words {
            [word] => ArgText::One((*word).to_owned()),
            words => ArgText::Group(words.iter().map(|word| (*word).to_owned()).collect()),
        };
        Template::parse("args", args.iter().map(group).collect())
    }

    const NOTHING: Values<'_> =
        Values { model: None, conversation: None, turns: None, args: Vec::new() };

    #[test]
    fn a_group_is_left_out_without_its_value() {
        let template = template(&[
            &["run"],
            &["--model", "{model}"],
            &["--turns={turns}"],
            &["{args}"],
            &["-"],
        ])
        .unwrap();
        assert_eq!(template.fill(&NOTHING), ["run", "-"]);
        let values = Values { model: Some("m"), turns: Some("3"), args: vec!["a", "b"], ..NOTHING };
        assert_eq!(template.fill(&values), ["run", "--model", "m", "--turns=3", "a", "b", "-"]);
    }

    #[test]
    fn further_arguments_come_last_and_other_braces_stay() {
        let template =
            template(&[&[r#"{"json":1}"#], &["{}"], &["f{prompt_file}"], &[""]]).unwrap();
        let values = Values { args: vec!["x"], ..NOTHING };
        assert_eq!(template.fill(&values), [r#"{"json":1}"#, "{}", "f/dev/stdin", "", "x"]);
    }

    #[test]
    fn unknown_placeholders_are_told() {
        let error = template(&[&["{modell}"]]).unwrap_err();
        assert!(error.to_string().contains("no placeholder {modell}"), "{error}");
        for bad in [&["x{args}"][..], &["--", "{args}"]] {
            assert_eq!(template(&[bad]).unwrap_err(), DescriptionError::Args { place: "args" });
        }
    }
}
