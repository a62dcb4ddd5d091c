//! An agent that a user describes in TOML. `docs/agents.md` documents the format.

mod output;
mod rules;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use kennel_types::{AgentSettings, Permissions};
use regex::Regex;
use serde::Deserialize;

use crate::error::{AgentError, AgentFeature, DescriptionError};
use crate::invocation::Invocation;
use crate::output_format::OutputFormat;
use crate::stop_policy::{StopPolicy, StopSignal};
use output::{OutputDescription, OutputText};
use rules::{RuleText, VerdictRule};
use template::{ArgTemplate, ArgText, Placeholder, TemplateValues};

/// A description as it is written in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescriptionText {
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

/// A valid description.
#[derive(Debug)]
pub(crate) struct Description {
    program: String,
    args: ArgTemplate,
    interactive: Option<ArgTemplate>,
    version_args: Vec<String>,
    conversation: Option<Regex>,
    stop_policy: StopPolicy,
    env: BTreeMap<String, String>,
    permissions: BTreeMap<PermissionName, Vec<String>>,
    output: OutputDescription,
    rules: Vec<VerdictRule>,
}

impl Description {
    pub(crate) fn parse(text: &str) -> Result<Self, DescriptionError> {
        let text: DescriptionText = toml::from_str(text)
            .map_err(|error| DescriptionError::Toml(error.to_string().trim_end().to_owned()))?;
        if text.program.trim().is_empty() {
            return Err(DescriptionError::NoProgram);
        }
        let interactive = text.interactive.map(|args| ArgTemplate::parse("interactive", args));
        let whole = |pattern: String| {
            Regex::new(&format!("^(?:{pattern})$")).map_err(|error| DescriptionError::Pattern {
                key: "conversation".to_owned(),
                pattern,
                why: error.to_string(),
            })
        };
        let rules = text.verdict.into_iter().enumerate();
        Ok(Self {
            program: text.program,
            args: ArgTemplate::parse("args", text.args)?,
            interactive: interactive.transpose()?,
            version_args: text.version_args.unwrap_or_else(|| vec!["--version".to_owned()]),
            conversation: text.conversation.map(whole).transpose()?,
            stop_policy: StopPolicy {
                signal: match text.stop.signal {
                    SignalName::Term => StopSignal::Term,
                    SignalName::Int => StopSignal::Int,
                    SignalName::None => StopSignal::None,
                },
                whole_tree: text.stop.whole_tree,
                kill_after_result: false,
                why: "its description sets it",
            },
            env: text.env,
            permissions: text.permissions,
            output: OutputDescription::check(text.output)?,
            rules: rules
                .map(|(at, rule)| VerdictRule::check(at + 1, rule))
                .collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    pub(crate) fn version_args(&self) -> &[String] {
        &self.version_args
    }

    pub(crate) fn stop_policy(&self) -> StopPolicy {
        self.stop_policy
    }

    /// Returns whether the id is valid, and the form of a valid id.
    pub(crate) fn check_conversation(&self, id: &str) -> (bool, String) {
        match &self.conversation {
            Some(pattern) => {
                let inner = pattern.as_str();
                let inner = inner.strip_prefix("^(?:").and_then(|it| it.strip_suffix(")$"));
                (pattern.is_match(id), format!("a match of {:?}", inner.unwrap_or_default()))
            }
            // The program could parse it as a flag.
            None => (
                !id.is_empty() && !id.starts_with('-'),
                "an id that doesn't start with -".to_owned(),
            ),
        }
    }

    pub(crate) fn one_shot(
        &self,
        name: &str,
        seat: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        self.fill(&self.args, name, seat, conversation)
    }

    pub(crate) fn interactive(
        &self,
        name: &str,
        seat: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        let template = self.interactive.as_ref();
        let template =
            template.ok_or_else(|| AgentError::unsupported(name, AgentFeature::Terminal))?;
        self.fill(template, name, seat, conversation)
    }

    fn fill(
        &self,
        template: &ArgTemplate,
        name: &str,
        seat: &AgentSettings,
        conversation: Option<&str>,
    ) -> Result<Invocation, AgentError> {
        let wanted = [
            (seat.model.is_some(), Placeholder::Model, AgentFeature::Model),
            (seat.turns.is_some(), Placeholder::Turns, AgentFeature::Turns),
            (conversation.is_some(), Placeholder::Conversation, AgentFeature::Conversation),
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
                .ok_or_else(|| AgentError::unsupported(name, AgentFeature::Permissions))?,
        };
        let turns = seat.turns.map(|turns| turns.to_string());
        let values = TemplateValues {
            model: seat.model.as_deref(),
            conversation,
            turns: turns.as_deref(),
            args: permissions.iter().chain(&seat.args).map(String::as_str).collect(),
        };
        let start = Invocation::of(&self.program).args(template.fill(&values));
        Ok(self.env.iter().fold(start, |start, (name, value)| start.set(name, value)))
    }

    pub(crate) fn format(description: &Arc<Self>) -> Box<dyn OutputFormat> {
        Box::new(output::DescribedFormat::new(Arc::clone(description)))
    }
}
