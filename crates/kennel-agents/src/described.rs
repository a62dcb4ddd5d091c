//! An agent that a user has described, so that Kennel needs no code for it. `docs/agents.md` has the format.

mod output;
mod rules;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use kennel_types::{Permissions, Seat};
use regex::Regex;
use serde::Deserialize;

use crate::agent::{AgentError, Part};
use crate::invocation::Invocation;
use crate::manners::{Manners, PoliteSignal};
use crate::reader::Dialect;
use output::{Output, OutputText};
use rules::{Rule, RuleText};
use template::{ArgText, Placeholder, Template, Values};

/// What is wrong with a description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// It is no TOML, or has something in it that is no part of a description.
    #[error("{0}")]
    Toml(String),
    /// A placeholder that there is none of.
    #[error(
        "{place}: there is no placeholder {{{name}}}; there are {{model}}, {{conversation}}, {{turns}}, {{prompt_file}} and {{args}}"
    )]
    Placeholder {
        /// Where it is.
        place: &'static str,
        /// What is in the braces.
        name: String,
    },
    /// `{args}` is a part of something.
    #[error("{place}: {{args}} stands for any number of arguments, and has to be one of its own")]
    Args {
        /// Where it is.
        place: &'static str,
    },
    /// It names no program.
    #[error("program: an empty name is none of a program")]
    NoProgram,
    /// A pattern is wrong.
    #[error("{place}: {pattern:?} is no pattern: {why}")]
    Pattern {
        /// Where it is.
        place: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A pointer is wrong.
    #[error("output.{place}: {pointer:?} is no JSON pointer, such as \"/message/text\"")]
    Pointer {
        /// Where it is.
        place: &'static str,
        /// The pointer.
        pointer: String,
    },
    /// Something that only lines of JSON have, in text.
    #[error(
        "output.{place} is for lines of JSON; set output.format = \"json_lines\", or leave it out"
    )]
    NotForText {
        /// What.
        place: &'static str,
    },
    /// Lines of JSON, but it isn't said where the answer is.
    #[error("output.text is missing: where in a line of JSON is what the agent says?")]
    NoText,
    /// A rule that always holds.
    #[error("verdict {number}: a rule needs one of contains, matches and exit")]
    EmptyRule {
        /// Which rule, from 1.
        number: usize,
    },
    /// A rule with two texts.
    #[error("verdict {number}: either contains or matches, not both")]
    TwoTexts {
        /// Which rule, from 1.
        number: usize,
    },
    /// A verdict that is not for a rule.
    #[error("verdict {number}: only Kennel itself says {kind:?}")]
    NotForRules {
        /// Which rule, from 1.
        number: usize,
        /// The verdict.
        kind: &'static str,
    },
}

/// A description as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    program: String,
    #[serde(default)]
    args: Vec<ArgText>,
    interactive: Option<Vec<ArgText>>,
    version_args: Option<Vec<String>>,
    conversation: Option<String>,
    #[serde(default)]
    stop: StopText,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    permissions: BTreeMap<PermissionName, Vec<String>>,
    #[serde(default)]
    output: OutputText,
    #[serde(default)]
    verdict: Vec<RuleText>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
enum PermissionName {
    ReadOnly,
    Edit,
    All,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct StopText {
    signal: SignalName,
    whole_tree: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum SignalName {
    #[default]
    Term,
    Int,
    None,
}

/// A description that was found to be right.
#[derive(Debug)]
pub(crate) struct Description {
    program: String,
    args: Template,
    interactive: Option<Template>,
    version_args: Vec<String>,
    conversation: Option<Regex>,
    manners: Manners,
    env: BTreeMap<String, String>,
    permissions: BTreeMap<PermissionName, Vec<String>>,
    output: Output,
    rules: Vec<Rule>,
}

impl Description {
    pub(crate) fn parse(text: &str) -> Result<Self, DescriptionError> {
        let text: Text = toml::from_str(text)
            .map_err(|error| DescriptionError::Toml(error.to_string().trim_end().to_owned()))?;
        if text.program.trim().is_empty() {
            return Err(DescriptionError::NoProgram);
        }
        let interactive = text.interactive.map(|args| Template::parse("interactive", args));
        let whole = |pattern: String| {
            Regex::new(&format!("^(?:{pattern})$")).map_err(|error| DescriptionError::Pattern {
                place: "conversation".to_owned(),
                pattern,
                why: error.to_string(),
            })
        };
        let rules = text.verdict.into_iter().enumerate();
        Ok(Self {
            program: text.program,
            args: Template::parse("args", text.args)?,
            interactive: interactive.transpose()?,
            version_args: text.version_args.unwrap_or_else(|| vec!["--version".to_owned()]),
            conversation: text.conversation.map(whole).transpose()?,
            manners: Manners {
                signal: match text.stop.signal {
                    SignalName::Term => PoliteSignal::Term,
                    SignalName::Int => PoliteSignal::Int,
                    SignalName::None => PoliteSignal::None,
                },
                whole_tree: text.stop.whole_tree,
                kill_once_told: false,
                why: "its description says so",
            },
            env: text.env,
            permissions: text.permissions,
            output: Output::check(text.output)?,
            rules: rules.map(|(at, rule)| Rule::check(at + 1, rule)).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    pub(crate) fn version_args(&self) -> &[String] {
        &self.version_args
    }

    pub(crate) fn manners(&self) -> Manners {
        self.manners
    }

    /// Whether it can be one, and what one looks like.
    pub(crate) fn check_conversation(&self, id: &str) -> (bool, String) {
        match &self.conversation {
            Some(pattern) => {
                let inner = pattern.as_str();
                let inner = inner.strip_prefix("^(?:").and_then(|it| it.strip_suffix(")$"));
                (pattern.is_match(id), format!("such as match {:?}", inner.unwrap_or_default()))
            }
            // It could be read as a flag.
            None => {
                (!id.is_empty() && !id.starts_with('-'), "not empty, nor begin with -".to_owned())
            }
        }
    }

    pub(crate) fn one_shot(
        &self,
        name: &str,
        seat: &Seat,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.fill(&self.args, name, seat, conversation)
    }

    pub(crate) fn interactive(
        &self,
        name: &str,
        seat: &Seat,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        let template = self.interactive.as_ref();
        let template = template.ok_or_else(|| AgentError::unsupported(name, Part::Terminal))?;
        self.fill(template, name, seat, conversation)
    }

    fn fill(
        &self,
        template: &Template,
        name: &str,
        seat: &Seat,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        let wanted = [
            (seat.model.is_some(), Placeholder::Model, Part::Model),
            (seat.turns.is_some(), Placeholder::Turns, Part::Turns),
            (conversation.is_some(), Placeholder::Conversation, Part::Conversation),
        ];
        for (wanted, placeholder, part) in wanted {
            if wanted && !template.has(placeholder) {
                return Err(AgentError::unsupported(name, part));
            }
        }
        let permissions = match seat.permissions {
            Permissions::Default => None,
            Permissions::ReadOnly => Some(PermissionName::ReadOnly),
            Permissions::Edit => Some(PermissionName::Edit),
            Permissions::All => Some(PermissionName::All),
        };
        let permissions = match permissions {
            None => &[][..],
            Some(wanted) => self
                .permissions
                .get(&wanted)
                .ok_or_else(|| AgentError::unsupported(name, Part::Permissions))?,
        };
        let turns = seat.turns.map(|turns| turns.to_string());
        let values = Values {
            model: seat.model.as_deref(),
            conversation,
            turns: turns.as_deref(),
            args: permissions.iter().chain(&seat.args).map(String::as_str).collect(),
        };
        let start = Invocation::of(&self.program).args(template.fill(&values));
        Ok(self.env.iter().fold(start, |start, (name, value)| start.set(name, value)))
    }

    pub(crate) fn dialect(description: &Arc<Self>) -> Box<dyn Dialect> {
        Box::new(output::Described::new(Arc::clone(description)))
    }
}
