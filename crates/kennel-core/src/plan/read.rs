//! Plans in TOML. Every error has the line and column of the text that it is about.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use kennel_types::plan::{
    InputSpec, Name, OnFailure, PlanAgent, PlanSpec, PlanTarget, PlanWorktree, Prompt, StageSpec,
};
use kennel_types::{Permissions, parse_time, suggestion};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::de::{DeTable, DeValue, Error as TomlError};
use toml::{Spanned, Value};

use super::check::complaints;
use super::problem::{PlanError, PlanPart, PlanProblem};

/// Parses a plan and checks it.
///
/// # Errors
/// If the text is not a plan, the first error. If the plan can't be run, all reasons, in the order
/// of the text.
pub fn parse(text: &str) -> Result<PlanSpec, PlanError> {
    let document = DeTable::parse(text)
        .map_err(|error| shape_error(text, &error, error.message().to_owned()))?;
    let plan = PlanText::deserialize(toml::Deserializer::from(document.clone()))
        .map_err(|error| shape_error(text, &error, error.to_string()))?;
    let plan = PlanSpec::from(plan);
    let root = Spanned::new(document.span(), DeValue::Table(document.into_inner()));
    let mut problems: Vec<_> = complaints(&plan)
        .into_iter()
        .map(|complaint| {
            let span = span_of(&root, complaint.part, complaint.key).unwrap_or_default();
            let inside = complaint
                .written
                .and_then(|written| text.get(span.clone()).and_then(|text| text.find(&written)));
            (span.start + inside.unwrap_or(0), complaint.text)
        })
        .collect();
    problems.sort();
    let problems = problems
        .into_iter()
        .map(|(at, problem)| PlanProblem { at: Some(position(text, at)), text: problem });
    PlanError::none_of(problems.collect())?;
    Ok(plan)
}

/// Describes an error of the TOML parser or of serde, with a suggestion.
fn shape_error(text: &str, error: &TomlError, shown: String) -> PlanError {
    let mut shown = shown.trim_end().replace('\n', " ");
    // serde puts the name that was written and all expected names in backticks.
    let mut names = error.message().split('`').skip(1).step_by(2);
    if error.message().starts_with("unknown ")
        && let Some(written) = names.next()
        && let Some(nearest) = suggestion::nearest(written, names)
    {
        shown += &format!("; did you mean {nearest}?");
    }
    if error.message() == "invalid type: map, expected a sequence" {
        shown += "; write it with two brackets, as in [[stage]]";
    }
    let at = error.span().map_or(0, |span| span.start);
    PlanError(vec![PlanProblem { at: Some(position(text, at)), text: shown }])
}

/// Returns the line and column of a byte, from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Returns where the value of a key is written, or else where its table begins.
fn span_of(root: &Spanned<DeValue<'_>>, part: PlanPart, key: &str) -> Option<Range<usize>> {
    let stage = |number: usize| root.get_ref().get("stage")?.get_ref().get(number);
    let table = match part {
        PlanPart::Plan => root,
        PlanPart::Stage(number) => stage(number)?,
        PlanPart::Agent(number, agent) => {
            stage(number)?.get_ref().get("agent")?.get_ref().get(agent)?
        }
    };
    Some(table.get_ref().get(key).unwrap_or(table).span())
}

/// A plan as it is written in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    name: Name,
    about: Option<String>,
    #[serde(default, deserialize_with = "duration")]
    timeout: Option<Duration>,
    concurrency: Option<u32>,
    #[serde(default)]
    inputs: BTreeMap<Name, InputText>,
    #[serde(default)]
    stage: Vec<StageText>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { default = \"…\" }, or {} for a required input"
)]
struct InputText {
    default: Option<String>,
    about: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageText {
    name: Name,
    need: Option<u32>,
    #[serde(default)]
    stop_rest: bool,
    #[serde(default)]
    agent: Vec<CheckedAgent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentText {
    name: Name,
    agent: Option<String>,
    member: Option<String>,
    prompt: Option<String>,
    prompt_file: Option<String>,
    model: Option<String>,
    turns: Option<u32>,
    permissions: Option<Permissions>,
    #[serde(default)]
    args: Vec<String>,
    cwd: Option<String>,
    #[serde(default, deserialize_with = "duration")]
    timeout: Option<Duration>,
    #[serde(default, deserialize_with = "worktree")]
    worktree: Option<PlanWorktree>,
    on_failure: Option<OnFailure>,
    retries: Option<u32>,
}

/// An agent that has one target and one prompt.
#[derive(Deserialize)]
#[serde(try_from = "AgentText")]
struct CheckedAgent(PlanAgent);

impl TryFrom<AgentText> for CheckedAgent {
    type Error = &'static str;

    fn try_from(text: AgentText) -> Result<Self, Self::Error> {
        let who = match (text.agent, text.member) {
            (Some(agent), None) => PlanTarget::Agent(agent),
            (None, Some(member)) => PlanTarget::Member(member),
            (Some(_), Some(_)) => {
                return Err(
                    "`agent` and `member` are mutually exclusive: a member already has an agent",
                );
            }
            (None, None) => {
                return Err(
                    "missing `agent` or `member`: write agent = \"claude\", or the name of a member",
                );
            }
        };
        let prompt = match (text.prompt, text.prompt_file) {
            (Some(text), None) => Prompt::Text(text),
            (None, Some(file)) => Prompt::File(file),
            (Some(_), Some(_)) => return Err("`prompt` and `prompt_file` are mutually exclusive"),
            (None, None) => return Err("missing `prompt` or `prompt_file`"),
        };
        Ok(Self(PlanAgent {
            name: text.name,
            who,
            model: text.model,
            turns: text.turns,
            permissions: text.permissions,
            args: text.args,
            cwd: text.cwd,
            timeout: text.timeout,
            worktree: text.worktree,
            on_failure: text.on_failure,
            retries: text.retries,
            prompt,
        }))
    }
}

impl From<PlanText> for PlanSpec {
    fn from(text: PlanText) -> Self {
        let input = |input: InputText| InputSpec { default: input.default, about: input.about };
        let stage = |stage: StageText| StageSpec {
            name: stage.name,
            need: stage.need,
            stop_rest: stage.stop_rest,
            agents: stage.agent.into_iter().map(|agent| agent.0).collect(),
        };
        Self {
            name: text.name,
            about: text.about,
            timeout: text.timeout,
            concurrency: text.concurrency,
            inputs: text.inputs.into_iter().map(|(name, it)| (name, input(it))).collect(),
            stages: text.stage.into_iter().map(stage).collect(),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Integer(seconds) => seconds.to_string(),
        other => {
            let kind = other.type_str();
            return Err(D::Error::custom(format!(
                "expected a duration such as \"20m\", found {kind}"
            )));
        }
    };
    parse_time(&text).map(Some).map_err(D::Error::custom)
}

fn worktree<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PlanWorktree>, D::Error> {
    match Value::deserialize(from)? {
        Value::Boolean(own) => Ok(own.then_some(PlanWorktree::Own)),
        Value::String(branch) if !branch.trim().is_empty() => {
            Ok(Some(PlanWorktree::Branch(branch)))
        }
        other => {
            let found =
                other.as_str().map_or(other.type_str().to_owned(), |text| format!("{text:?}"));
            let expected = "true for a new branch, or the name of a branch";
            Err(D::Error::custom(format!("expected {expected}, found {found}")))
        }
    }
}
