//! An agent that a user describes in TOML. `docs/agents.md` documents the format.

mod output;
mod rules;
mod template;

use std::collections::BTreeMap;
use std::sync::Arc;

use kennel_types::Permissions;
use regex::Regex;
use serde::Deserialize;

use crate::agent::{AgentLaunch, AgentMode};
use crate::error::{AgentError, DescriptionError, TURNS};
use crate::invocation::Invocation;
use crate::output_format::OutputFormat;
use crate::stop_policy::{StopPolicy, StopSignal};
use output::OutputDescription;
use rules::{RuleText, VerdictRule};
use template::{ArgTemplate, ArgText, TemplateValues};

/// A description as it is written in TOML.
#[derive(Deserialize, Debug)]
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
    permissions: PermissionArgs,
    #[serde(default)]
    output: OutputDescription,
    #[serde(default)]
    verdict: Vec<RuleText>,
}

/// The arguments that grant each kind of permissions.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct PermissionArgs {
    read_only: Option<Vec<String>>,
    edit: Option<Vec<String>>,
    all: Option<Vec<String>>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct StopText {
    signal: StopSignal,
    whole_tree: bool,
}

/// A valid description.
#[derive(Debug)]
pub(crate) struct Description {
    text: DescriptionText,
    args: ArgTemplate,
    interactive: Option<ArgTemplate>,
    conversation: Option<Regex>,
    rules: Vec<VerdictRule>,
}

impl Description {
    pub(crate) fn parse(text: &str) -> Result<Self, DescriptionError> {
        let mut text: DescriptionText = toml::from_str(text)
            .map_err(|error| DescriptionError(error.to_string().trim_end().to_owned()))?;
        if text.program.trim().is_empty() {
            let error = "program: the name of the program is empty";
            return Err(DescriptionError(error.to_owned()));
        }
        text.output.check()?;
        let args = ArgTemplate::parse("args", std::mem::take(&mut text.args))?;
        let interactive = text.interactive.take();
        let interactive = interactive.map(|args| ArgTemplate::parse("interactive", args));
        let whole = |pattern| parse_pattern("conversation", &format!("^(?:{pattern})$"));
        let conversation = text.conversation.as_ref().map(whole).transpose()?;
        let rules = std::mem::take(&mut text.verdict).into_iter().enumerate();
        let rules = rules.map(|(at, rule)| VerdictRule::check(at + 1, rule));
        let rules = rules.collect::<Result<_, _>>()?;
        Ok(Self { text, args, interactive: interactive.transpose()?, conversation, rules })
    }

    pub(crate) fn program(&self) -> &str {
        &self.text.program
    }

    pub(crate) fn version_args(&self) -> Option<&[String]> {
        self.text.version_args.as_deref()
    }

    pub(crate) fn stop_policy(&self) -> StopPolicy {
        let StopText { signal, whole_tree } = self.text.stop;
        let why = "its description sets it";
        StopPolicy { signal, whole_tree, kill_after_result: false, why }
    }

    /// Returns whether the id is valid, and the form of a valid id.
    pub(crate) fn check_conversation(&self, id: &str) -> (bool, String) {
        match &self.conversation {
            Some(whole) => {
                let pattern = self.text.conversation.as_deref().unwrap_or_default();
                (whole.is_match(id), format!("a match of {pattern:?}"))
            }
            // The program could parse it as a flag.
            None => (
                !id.is_empty() && !id.starts_with('-'),
                "an id that doesn't start with -".to_owned(),
            ),
        }
    }

    pub(crate) fn command(
        &self,
        name: &str,
        launch: &AgentLaunch<'_>,
    ) -> Result<Invocation, AgentError> {
        let AgentLaunch { mode, settings, conversation } = *launch;
        let unsupported = |feature| AgentError::unsupported(name, feature);
        let template = match mode {
            AgentMode::OneShot => &self.args,
            AgentMode::Interactive => self
                .interactive
                .as_ref()
                .ok_or_else(|| unsupported("interactive use in a terminal"))?,
        };
        let wanted = [
            (settings.model.is_some(), "model", "a choice of model"),
            (settings.turns.is_some(), "turns", TURNS),
            (conversation.is_some(), "conversation", "resuming a conversation"),
        ];
        for (wanted, placeholder, feature) in wanted {
            if wanted && !template.has(placeholder) {
                return Err(unsupported(feature));
            }
        }
        let described = &self.text.permissions;
        let (permissions, flag) = match settings.permissions {
            Permissions::Default => (Some(&[][..]), ""),
            Permissions::ReadOnly => (described.read_only.as_deref(), "`--permissions read-only`"),
            Permissions::Edit => (described.edit.as_deref(), "`--permissions edit`"),
            Permissions::All => (described.all.as_deref(), "`--permissions all`"),
        };
        let permissions = permissions.ok_or_else(|| unsupported(flag))?;
        let turns = settings.turns.map(|turns| turns.to_string());
        let values = TemplateValues {
            model: settings.model.as_deref(),
            conversation,
            turns: turns.as_deref(),
            args: permissions.iter().chain(&settings.args).map(String::as_str).collect(),
        };
        let command = Invocation::of(&self.text.program).args(template.fill(&values));
        Ok(self.text.env.iter().fold(command, |command, (name, value)| command.set(name, value)))
    }

    pub(crate) fn format(description: &Arc<Self>) -> Box<dyn OutputFormat> {
        Box::new(output::DescribedFormat::new(Arc::clone(description)))
    }
}

/// Compiles the regular expression of a key.
fn parse_pattern(key: &str, pattern: &str) -> Result<Regex, DescriptionError> {
    Regex::new(pattern).map_err(|error| {
        DescriptionError(format!("{key}: invalid regular expression {pattern:?}: {error}"))
    })
}
