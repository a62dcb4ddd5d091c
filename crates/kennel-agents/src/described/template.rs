//! Command-line arguments with placeholders.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

use crate::error::DescriptionError;

/// The value of `{prompt_file}`: standard input as a file, so that no prompt is written to a disk.
const PROMPT_FILE: &str = "/dev/stdin";

const ARGS: &str = "{args}";

/// A lower-case name in braces is a placeholder; other braces are text.
static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{([a-z_]+)\}").expect("a valid regular expression"));

/// An argument, or a group of arguments, as it is written in TOML.
#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a string, or a list of strings that are omitted together")]
pub(super) enum ArgText {
    One(String),
    Group(Vec<String>),
}

/// The values of the placeholders.
pub(super) struct TemplateValues<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) conversation: Option<&'a str>,
    pub(super) turns: Option<&'a str>,
    pub(super) args: Vec<&'a str>,
}

/// Arguments, in groups that are omitted if one of their placeholders has no value.
#[derive(Debug)]
pub(super) struct ArgTemplate(Vec<Vec<String>>);

impl ArgTemplate {
    pub(super) fn parse(key: &'static str, args: Vec<ArgText>) -> Result<Self, DescriptionError> {
        const KNOWN: [&str; 5] = ["model", "conversation", "turns", "prompt_file", "args"];
        let groups = args.into_iter().map(|arg| match arg {
            ArgText::One(word) => vec![word],
            ArgText::Group(words) => words,
        });
        let template = Self(groups.collect());
        if let Some(name) = template.placeholders().find(|name| !KNOWN.contains(name)) {
            return Err(DescriptionError(format!(
                "{key}: unknown placeholder {{{name}}}: expected {{model}}, {{conversation}}, \
                 {{turns}}, {{prompt_file}} or {{args}}"
            )));
        }
        let has_args = |group: &&Vec<String>| group.iter().any(|word| word.contains(ARGS));
        if template.0.iter().filter(has_args).any(|group| *group != [ARGS]) {
            return Err(DescriptionError(format!(
                "{key}: {ARGS} stands for any number of arguments, so it must be an argument of \
                 its own"
            )));
        }
        Ok(template)
    }

    fn placeholders(&self) -> impl Iterator<Item = &str> {
        let words = self.0.iter().flatten();
        words
            .flat_map(|word| PLACEHOLDER.captures_iter(word))
            .map(|found| found.extract::<1>().1[0])
    }

    pub(super) fn has(&self, placeholder: &str) -> bool {
        self.placeholders().any(|name| name == placeholder)
    }

    /// Returns the arguments. Additional ones replace `{args}`, or are appended if there is no
    /// `{args}`.
    pub(super) fn fill(&self, values: &TemplateValues<'_>) -> Vec<String> {
        let args = || values.args.iter().map(|arg| (*arg).to_owned());
        let mut all = Vec::new();
        for group in &self.0 {
            if *group == [ARGS] {
                all.extend(args());
            } else {
                let words: Option<Vec<String>> =
                    group.iter().map(|word| fill_word(word, values)).collect();
                all.extend(words.into_iter().flatten());
            }
        }
        if !self.has("args") {
            all.extend(args());
        }
        all
    }
}

/// Returns `None` if a placeholder has no value.
fn fill_word(word: &str, values: &TemplateValues<'_>) -> Option<String> {
    let mut complete = true;
    let filled = PLACEHOLDER.replace_all(word, |found: &Captures<'_>| {
        let value = match &found[1] {
            "model" => values.model,
            "conversation" => values.conversation,
            "turns" => values.turns,
            _ => Some(PROMPT_FILE),
        };
        complete &= value.is_some();
        value.unwrap_or_default()
    });
    complete.then(|| filled.into_owned())
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
            let error = template(&[bad]).unwrap_err().to_string();
            assert!(error.contains("args: {args} stands for any number of arguments"), "{error}");
        }
    }
}
