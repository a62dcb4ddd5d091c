//! Prompts as they are asked: with what somebody said, and with the answers so far.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kennel_types::plan::{AgentPath, Name, PlanSpec, Prompt, StageSpec};

use super::problem::{PlanError, PlanProblem};
use super::template::{NoValue, Reference, Template, TemplateError, beginning};
use crate::slip::did_you_mean;

/// The most bytes of an answer that go into a prompt.
pub const MAX_ANSWER_BYTES: usize = 256 << 10;

/// What somebody said who runs a plan: a value for each of its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Inputs(BTreeMap<Name, String>);

/// What an agent of an earlier stage has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAnswer<'a> {
    /// This.
    Given(Cow<'a, str>),
    /// Nothing, and why.
    Missing(Cow<'a, str>),
}

/// Why a prompt can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// Nobody is there.
    #[error("there is no agent {0} in this plan")]
    NoAgent(AgentPath),
    /// It is in a file.
    #[error("the prompt of {place} is in the file {file:?}, which was not read")]
    NotRead {
        /// Whose.
        place: AgentPath,
        /// Which.
        file: String,
    },
    /// It was not checked.
    #[error("the prompt of {place}: {error}")]
    Template {
        /// Whose.
        place: AgentPath,
        /// What is wrong.
        #[source]
        error: TemplateError,
    },
    /// Nobody said.
    #[error("the prompt of {place}: {error}")]
    NoValue {
        /// Whose.
        place: AgentPath,
        /// For what.
        #[source]
        error: NoValue,
    },
}

/// A value for each input: what was said, else its default.
///
/// # Errors
/// Something was said that the plan has no use for, or nothing where it must be.
pub fn fill_inputs(plan: &PlanSpec, said: &BTreeMap<String, String>) -> Result<Inputs, PlanError> {
    let mut problems = Vec::new();
    let mut wrong = |text| problems.push(PlanProblem { at: None, text });
    for name in said.keys() {
        if !plan.inputs.keys().any(|known| known.as_str() == name) {
            let near = did_you_mean(name, plan.inputs.keys().map(Name::as_str));
            wrong(format!("the plan {} has no input {name:?}{near}", plan.name));
        }
    }
    let mut inputs = BTreeMap::new();
    for (name, input) in &plan.inputs {
        match said.get(name.as_str()).or(input.default.as_ref()) {
            Some(value) => drop(inputs.insert(name.clone(), value.clone())),
            None => {
                let about = input.about.as_ref().map(|about| format!(" ({about})"));
                let about = about.unwrap_or_default();
                wrong(format!(
                    "the plan {} needs the input {name}{about}: say --set {name}=…",
                    plan.name
                ));
            }
        }
    }
    PlanError::none_of(problems)?;
    Ok(Inputs(inputs))
}

/// What the agent at this place is asked. An answer that is missing is no error: the plan goes on without it, or it
/// would have failed. In its place is `[no answer from STAGE.AGENT: why]`.
///
/// # Errors
/// There is no such agent, or the plan was not checked.
pub fn prompt<'a>(
    plan: &PlanSpec,
    place: &AgentPath,
    inputs: &Inputs,
    answer: &dyn Fn(&AgentPath) -> AgentAnswer<'a>,
) -> Result<String, PromptError> {
    let agent = plan.agent(place).ok_or_else(|| PromptError::NoAgent(place.clone()))?;
    let text = match &agent.prompt {
        Prompt::Text(text) => text,
        Prompt::File(file) => {
            return Err(PromptError::NotRead { place: place.clone(), file: file.clone() });
        }
    };
    let template = Template::parse(text)
        .map_err(|error| PromptError::Template { place: place.clone(), error })?;
    let value = |reference: &Reference| match reference {
        Reference::Input(name) => inputs.0.get(name).map(|said| Cow::Owned(said.clone())),
        Reference::Agent(place) => plan.agent(place).map(|_| told(place, answer(place)).into()),
        Reference::Stage(name) => {
            let stage = plan.stages.iter().find(|stage| stage.name == *name)?;
            Some(all_told(stage, answer).into())
        }
    };
    template.render(&value).map_err(|error| PromptError::NoValue { place: place.clone(), error })
}

/// All answers of a stage, each below its name.
fn all_told<'a>(stage: &StageSpec, answer: &dyn Fn(&AgentPath) -> AgentAnswer<'a>) -> String {
    let answers = stage.agents.iter().map(|agent| {
        let place = stage.place(agent);
        format!("## {}\n\n{}\n", agent.name, told(&place, answer(&place)).trim_end())
    });
    answers.collect::<Vec<_>>().join("\n")
}

fn told(place: &AgentPath, answer: AgentAnswer<'_>) -> String {
    match answer {
        AgentAnswer::Missing(why) => format!("[no answer from {place}: {why}]"),
        AgentAnswer::Given(text) if text.len() <= MAX_ANSWER_BYTES => text.into_owned(),
        AgentAnswer::Given(text) => {
            let kept = beginning(&text, MAX_ANSWER_BYTES);
            let left_out = text.len() - kept.len();
            format!("{kept}\n[{left_out} more bytes from {place} are left out]")
        }
    }
}
