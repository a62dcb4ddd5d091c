//! Whether a plan can be run: everything that can be said before anything starts.
//!
//! A prompt refers to answers of earlier stages only, so that no agent can wait for itself, by whatever detour.

use std::collections::BTreeSet;

use kennel_types::check_member_name;
use kennel_types::plan::{
    AgentPath, Name, PlanAgent, PlanSpec, PlanTarget, PlanWorktree, Prompt, StageSpec,
};

use super::problem::{Complaint, PlanError, PlanProblem, Spot};
use super::template::{INPUT, Reference, Template};
use crate::slip::did_you_mean;

/// The most agents of a plan.
pub const MAX_AGENTS: usize = 200;
/// The most retries that are not a slip.
const MAX_RETRIES: u32 = 100;
/// The most bytes of a prompt, before anything is put in.
pub const MAX_PROMPT_BYTES: usize = 1 << 20;

/// Whether it can be run. What [`super::parse`] gives can; what came another way may not.
///
/// # Errors
/// It can't, with everything that is wrong.
pub fn check(plan: &PlanSpec) -> Result<(), PlanError> {
    let complaints = complaints(plan).into_iter();
    PlanError::none_of(complaints.map(|it| PlanProblem { at: None, text: it.text }).collect())
}

/// Puts in a prompt that was in a file.
///
/// # Errors
/// There is no agent at this place, or it can't be asked this.
pub fn put_prompt(plan: &mut PlanSpec, place: &AgentPath, text: &str) -> Result<(), PlanError> {
    let stages = plan.stages.iter_mut().filter(|stage| stage.name == place.stage);
    let mut agents = stages.flat_map(|stage| &mut stage.agents);
    match agents.find(|agent| agent.name == place.agent) {
        Some(agent) => agent.prompt = Prompt::Text(text.to_owned()),
        None => {
            let text = format!("there is no agent {place} in this plan");
            return Err(PlanError(vec![PlanProblem { at: None, text }]));
        }
    }
    check(plan)
}

/// Everything that is wrong with it.
pub(super) fn complaints(plan: &PlanSpec) -> Vec<Complaint> {
    let mut checking =
        Checking { plan, spot: Spot::Plan, prefix: String::new(), found: Vec::new() };
    checking.plan();
    checking.found
}

struct Checking<'a> {
    plan: &'a PlanSpec,
    /// What is looked at.
    spot: Spot,
    /// What it is called.
    prefix: String,
    found: Vec<Complaint>,
}

impl<'a> Checking<'a> {
    fn wrong(&mut self, key: &'static str, text: impl std::fmt::Display) {
        self.wrong_in(key, None, text);
    }

    fn wrong_in(
        &mut self,
        key: &'static str,
        written: Option<String>,
        text: impl std::fmt::Display,
    ) {
        let text = format!("{}{text}", self.prefix);
        self.found.push(Complaint { spot: self.spot.clone(), key, written, text });
    }

    fn plan(&mut self) {
        let plan = self.plan;
        if plan.stages.is_empty() {
            self.wrong("", "there is no stage: write [[stage]], and [[stage.agent]] below it");
        }
        let agents = plan.agents().count();
        if agents > MAX_AGENTS {
            self.wrong("", format!("there are {agents} agents, and the most is {MAX_AGENTS}"));
        }
        if plan.concurrency == Some(0) {
            self.wrong(
                "concurrency",
                "`concurrency` is 0, so that nobody could be asked; leave it out for no limit",
            );
        }
        if plan.timeout.is_some_and(|time| time.is_zero()) {
            self.wrong(
                "timeout",
                "`timeout` is 0, so that nobody could be asked; leave it out for none",
            );
        }
        let mut names = BTreeSet::new();
        for (number, stage) in plan.stages.iter().enumerate() {
            self.spot = Spot::Stage(number);
            self.prefix = format!("stage {}: ", stage.name);
            if !names.insert(&stage.name) {
                self.wrong("name", "there is another stage of this name");
            }
            self.stage(number, stage);
        }
    }

    fn stage(&mut self, number: usize, stage: &'a StageSpec) {
        if stage.name.as_str() == INPUT {
            self.wrong(
                "name",
                "a stage can't be called that: {{input.…}} is what somebody said who runs the plan",
            );
        }
        let there_are = stage.agents.len();
        match stage.need.map(|need| need as usize) {
            _ if there_are == 0 => self.wrong("", "it has no agent: write [[stage.agent]] below it"),
            Some(0) => self.wrong("need", "`need` is 0; for agents that may all fail, write on_failure = \"continue\" for each"),
            Some(need) if need > there_are => {
                self.wrong("need", format!("`need` is {need}, and it has {there_are} of them"));
            }
            None if stage.stop_rest => {
                self.wrong("stop_rest", "`stop_rest` says when the rest is not needed any more: it goes with `need`");
            }
            _ => {}
        }
        let (mut names, mut members, mut branches) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (index, agent) in stage.agents.iter().enumerate() {
            self.spot = Spot::Agent(number, index);
            self.prefix = format!("{}: ", stage.place(agent));
            if !names.insert(&agent.name) {
                self.wrong("name", "there is another agent of this name in its stage");
            }
            if let PlanTarget::Member(member) = &agent.who
                && !members.insert(member)
            {
                self.wrong("member", format!("{member:?} is asked twice in one stage, and can do one thing at a time; put one of them into a stage of its own"));
            }
            if let Some(PlanWorktree::Branch(branch)) = &agent.worktree
                && !branches.insert(branch)
            {
                self.wrong("worktree", format!("the branch {branch:?} is that of another agent in its stage, and can be checked out once only"));
            }
            self.agent(agent);
            self.prompt(number, agent);
        }
    }

    fn agent(&mut self, agent: &PlanAgent) {
        match &agent.who {
            PlanTarget::Agent(name) if name.trim().is_empty() => {
                self.wrong("agent", "`agent` is empty; write for instance \"claude\"")
            }
            PlanTarget::Member(name) => {
                if let Err(error) = check_member_name(name) {
                    self.wrong("member", error);
                }
                for (key, given) in
                    [("cwd", agent.cwd.is_some()), ("worktree", agent.worktree.is_some())]
                {
                    if given {
                        self.wrong(key, format!("a member works in its own folder: leave `{key}` out, or write `agent` in place of `member`"));
                    }
                }
            }
            PlanTarget::Agent(_) => {}
        }
        if agent.timeout.is_some_and(|time| time.is_zero()) {
            self.wrong("timeout", "`timeout` is 0; leave it out for none");
        }
        if let (Some(own), Some(all)) = (agent.timeout, self.plan.timeout)
            && own > all
        {
            self.wrong(
                "timeout",
                format!("its `timeout` of {own:?} is longer than that of the whole plan, {all:?}"),
            );
        }
        if agent.turns == Some(0) {
            self.wrong("turns", "`turns` is 0; leave it out for no limit");
        }
        if let Some(retries) = agent.retries.filter(|retries| *retries > MAX_RETRIES) {
            self.wrong("retries", format!("`retries` is {retries}, and the most is {MAX_RETRIES}"));
        }
        if agent.args.iter().any(|arg| arg.contains('\0')) {
            self.wrong("args", "an argument can't have a NUL character in it");
        }
    }

    fn prompt(&mut self, stage: usize, agent: &PlanAgent) {
        let text = match &agent.prompt {
            Prompt::Text(text) => text,
            Prompt::File(file) if file.is_empty() => {
                return self.wrong("prompt_file", "`prompt_file` is empty");
            }
            Prompt::File(_) => return,
        };
        if text.trim().is_empty() {
            return self.wrong("prompt", "its prompt is empty");
        }
        if text.len() > MAX_PROMPT_BYTES {
            let length = text.len();
            return self.wrong(
                "prompt",
                format!("its prompt has {length} bytes, and the most is {MAX_PROMPT_BYTES}"),
            );
        }
        match Template::parse(text) {
            Err(error) => self.wrong_in("prompt", Some(error.written().to_owned()), &error),
            Ok(template) => {
                let references: BTreeSet<_> = template.references().collect();
                for reference in references {
                    if let Err(why) = refer(self.plan, stage, reference) {
                        let text = format!("{{{{{reference}}}}}: {why}");
                        self.wrong_in("prompt", Some(reference.to_string()), text);
                    }
                }
            }
        }
    }
}

/// Whether a prompt of a stage may refer to this.
fn refer(plan: &PlanSpec, from: usize, reference: &Reference) -> Result<(), String> {
    match reference {
        Reference::Input(name) if plan.inputs.contains_key(name) => Ok(()),
        Reference::Input(name) => {
            let known = plan.inputs.keys().map(Name::as_str);
            let near = did_you_mean(name.as_str(), known);
            Err(format!("there is no input {name} in [inputs]{near}"))
        }
        Reference::Stage(stage) => earlier(plan, from, stage).map(drop),
        Reference::Agent(AgentPath { stage, agent }) => {
            let earlier = earlier(plan, from, stage)?;
            let known = earlier.agents.iter().map(|agent| agent.name.as_str());
            if known.clone().any(|known| known == agent.as_str()) {
                return Ok(());
            }
            let near = did_you_mean(agent.as_str(), known);
            Err(format!("there is no agent {agent} in the stage {stage}{near}"))
        }
    }
}

/// The stage of this name, if its answers are there by then.
fn earlier<'a>(plan: &'a PlanSpec, from: usize, name: &Name) -> Result<&'a StageSpec, String> {
    match plan.stages.iter().position(|stage| stage.name == *name) {
        Some(at) if at < from => Ok(&plan.stages[at]),
        Some(at) if at == from => {
            Err("it is of the same stage, and has no answer yet; only earlier stages can be referred to".into())
        }
        Some(_) => Err("it is of a later stage; only earlier stages can be referred to".into()),
        None => {
            let known = plan.stages[..from].iter().map(|stage| stage.name.as_str());
            let inputs = (!plan.inputs.is_empty()).then_some(INPUT);
            let near = did_you_mean(name.as_str(), known.chain(inputs));
            Err(format!("there is no earlier stage {name}{near}"))
        }
    }
}
