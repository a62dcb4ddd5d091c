//! Prompts with the values of their references.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kennel_types::beginning_of;
use kennel_types::plan::{AgentPath, Name, PlanSpec, Prompt, StageSpec};
use kennel_types::suggestion::did_you_mean;

use super::problem::{PlanError, PlanProblem};
use super::template::{Reference, Segment, segments};

pub const MAX_ANSWER_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Inputs(BTreeMap<Name, String>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAnswer<'a> {
    Given(Cow<'a, str>),
    Missing(Cow<'a, str>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt of {place}: {why}")]
pub struct PromptError {
    place: AgentPath,
    why: String,
}

/// Returns a value for each input: the one that was set, or else its default.
pub fn fill_inputs(plan: &PlanSpec, given: &BTreeMap<String, String>) -> Result<Inputs, PlanError> {
    let mut problems = Vec::new();
    let mut wrong = |text| problems.push(PlanProblem { at: None, text });
    for name in given.keys() {
        if !plan.inputs.keys().any(|known| known.as_str() == name) {
            let near = did_you_mean(name, plan.inputs.keys().map(Name::as_str));
            wrong(format!("the plan {} has no input {name:?}{near}", plan.name));
        }
    }
    let mut inputs = BTreeMap::new();
    for (name, input) in &plan.inputs {
        match given.get(name.as_str()).or(input.default.as_ref()) {
            Some(value) => drop(inputs.insert(name.clone(), value.clone())),
            None => {
                let about = input.about.as_ref().map(|about| format!(" ({about})"));
                let about = about.unwrap_or_default();
                wrong(format!(
                    "the plan {} requires the input {name}{about}: pass --set {name}=VALUE",
                    plan.name
                ));
            }
        }
    }
    PlanError::none_of(problems)?;
    Ok(Inputs(inputs))
}

/// Renders the prompt of an agent. A missing answer is not an error, because the plan allows the
/// failure: the prompt contains `[no answer from STAGE.AGENT: why]` instead.
pub fn prompt<'a>(
    plan: &PlanSpec,
    place: &AgentPath,
    inputs: &Inputs,
    answer: &dyn Fn(&AgentPath) -> AgentAnswer<'a>,
) -> Result<String, PromptError> {
    let error = |why: String| PromptError { place: place.clone(), why };
    let agent = plan.agent(place).ok_or_else(|| error("the plan has no such agent".to_owned()))?;
    let text = match &agent.prompt {
        Prompt::Text(text) => text,
        Prompt::File(file) => return Err(error(format!("the file {file:?} was not loaded"))),
    };
    let value = |reference: &Reference| match reference {
        Reference::Input(name) => inputs.0.get(name).cloned(),
        Reference::Agent(place) => plan.agent(place).map(|_| answer_text(place, answer(place))),
        Reference::Stage(name) => {
            let stage = plan.stages.iter().find(|stage| stage.name == *name)?;
            Some(stage_text(stage, answer))
        }
    };
    let mut rendered = String::new();
    for segment in segments(text).map_err(|wrong| error(wrong.to_string()))? {
        match segment {
            Segment::Text(text) => rendered.push_str(text),
            Segment::Reference(reference) => {
                let value = value(&reference);
                let missing = || error(format!("there is no value for {{{{{reference}}}}}"));
                rendered.push_str(&value.ok_or_else(missing)?);
            }
        }
    }
    Ok(rendered)
}

/// Formats all answers of a stage, each below the name of its agent.
fn stage_text<'a>(stage: &StageSpec, answer: &dyn Fn(&AgentPath) -> AgentAnswer<'a>) -> String {
    let answers = stage.agents.iter().map(|agent| {
        let place = stage.path_of(agent);
        format!("## {}\n\n{}\n", agent.name, answer_text(&place, answer(&place)).trim_end())
    });
    answers.collect::<Vec<_>>().join("\n")
}

fn answer_text(place: &AgentPath, answer: AgentAnswer<'_>) -> String {
    match answer {
        AgentAnswer::Missing(why) => format!("[no answer from {place}: {why}]"),
        AgentAnswer::Given(text) if text.len() <= MAX_ANSWER_BYTES => text.into_owned(),
        AgentAnswer::Given(text) => {
            let kept = beginning_of(&text, MAX_ANSWER_BYTES);
            let left_out = text.len() - kept.len();
            format!("{kept}\n[{left_out} more bytes from {place} are left out]")
        }
    }
}
