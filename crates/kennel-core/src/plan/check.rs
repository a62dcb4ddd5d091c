//! Checks of a plan before anything starts.
//!
//! A prompt refers only to answers of earlier stages, so no agent can wait for itself.

use std::collections::BTreeSet;

use kennel_types::check_member_name;
use kennel_types::plan::{
    AgentPath, Name, PlanAgent, PlanSpec, PlanTarget, PlanWorktree, Prompt, StageSpec,
};
use kennel_types::suggestion::did_you_mean;

use super::problem::{Complaint, PlanError, PlanPart, PlanProblem};
use super::template::{INPUT, Reference, Segment, segments};

pub const MAX_AGENTS: usize = 200;
/// The maximum number of retries. More is a typing error.
const MAX_RETRIES: u32 = 100;
/// The maximum size of a prompt in bytes, before values are inserted.
pub const MAX_PROMPT_BYTES: usize = 1 << 20;

/// Returns all reasons why a plan can't be run. A plan from [`super::parse`] is already checked.
pub fn check(plan: &PlanSpec) -> Result<(), PlanError> {
    let complaints = complaints(plan).into_iter();
    PlanError::none_of(complaints.map(|it| PlanProblem { at: None, text: it.text }).collect())
}

/// Sets a prompt that was loaded from a file.
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

pub(super) fn complaints(plan: &PlanSpec) -> Vec<Complaint> {
    let mut checking =
        Checking { plan, part: PlanPart::Plan, prefix: String::new(), found: Vec::new() };
    checking.plan();
    checking.found
}

struct Checking<'a> {
    plan: &'a PlanSpec,
    /// The part that is being checked.
    part: PlanPart,
    /// The name of the part, for messages.
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
        self.found.push(Complaint { part: self.part, key, written, text });
    }

    fn plan(&mut self) {
        let plan = self.plan;
        if plan.stages.is_empty() {
            self.wrong("", "the plan has no stage: write [[stage]], and [[stage.agent]] below it");
        }
        let agents = plan.agents().count();
        if agents > MAX_AGENTS {
            self.wrong("", format!("the plan has {agents} agents: the maximum is {MAX_AGENTS}"));
        }
        if plan.concurrency == Some(0) {
            self.wrong(
                "concurrency",
                "`concurrency` is 0, so no agent could be asked; leave it out for no limit",
            );
        }
        if plan.timeout.is_some_and(|time| time.is_zero()) {
            self.wrong(
                "timeout",
                "`timeout` is 0, so no agent could be asked; leave it out for no limit",
            );
        }
        let mut names = BTreeSet::new();
        for (number, stage) in plan.stages.iter().enumerate() {
            self.part = PlanPart::Stage(number);
            self.prefix = format!("stage {}: ", stage.name);
            if !names.insert(&stage.name) {
                self.wrong("name", "another stage has the same name");
            }
            self.stage(number, stage);
        }
    }

    fn stage(&mut self, number: usize, stage: &'a StageSpec) {
        if stage.name.as_str() == INPUT {
            self.wrong(
                "name",
                "this name is reserved: {{input.NAME}} refers to an input of the plan",
            );
        }
        let count = stage.agents.len();
        match stage.need.map(|need| need as usize) {
            _ if count == 0 => {
                self.wrong("", "the stage has no agent: write [[stage.agent]] below it")
            }
            Some(0) => self.wrong(
                "need",
                "`need` is 0; if all agents may fail, write on_failure = \"continue\" for each",
            ),
            Some(need) if need > count => {
                self.wrong("need", format!("`need` is {need}: the maximum is {count}, the number of agents of the stage"));
            }
            None if stage.stop_rest => {
                self.wrong(
                    "stop_rest",
                    "`stop_rest` requires `need`, which defines when the other agents are stopped",
                );
            }
            _ => {}
        }
        let (mut names, mut members, mut branches) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (index, agent) in stage.agents.iter().enumerate() {
            self.part = PlanPart::Agent(number, index);
            self.prefix = format!("{}: ", stage.path_of(agent));
            if !names.insert(&agent.name) {
                self.wrong("name", "another agent of the stage has the same name");
            }
            if let PlanTarget::Member(member) = &agent.who
                && !members.insert(member)
            {
                self.wrong("member", format!("the member {member:?} is asked twice in one stage, but answers one prompt at a time; move one of them to another stage"));
            }
            if let Some(PlanWorktree::Branch(branch)) = &agent.worktree
                && !branches.insert(branch)
            {
                self.wrong("worktree", format!("another agent of the stage has the branch {branch:?}, which can be checked out only once"));
            }
            self.agent(agent);
            self.prompt(number, agent);
        }
    }

    fn agent(&mut self, agent: &PlanAgent) {
        match &agent.who {
            PlanTarget::Agent(name) if name.trim().is_empty() => {
                self.wrong("agent", "`agent` is empty: expected for example \"claude\"")
            }
            PlanTarget::Member(name) => {
                if let Err(error) = check_member_name(name) {
                    self.wrong("member", error);
                }
                for (key, given) in
                    [("cwd", agent.cwd.is_some()), ("worktree", agent.worktree.is_some())]
                {
                    if given {
                        self.wrong(key, format!("a member works in its own directory: leave `{key}` out, or write `agent` instead of `member`"));
                    }
                }
            }
            PlanTarget::Agent(_) => {}
        }
        if agent.timeout.is_some_and(|time| time.is_zero()) {
            self.wrong("timeout", "`timeout` is 0; leave it out for no limit");
        }
        if let (Some(own), Some(all)) = (agent.timeout, self.plan.timeout)
            && own > all
        {
            self.wrong(
                "timeout",
                format!("its `timeout` of {own:?} is longer than the timeout of the plan, {all:?}"),
            );
        }
        if agent.turns == Some(0) {
            self.wrong("turns", "`turns` is 0; leave it out for no limit");
        }
        if let Some(retries) = agent.retries.filter(|retries| *retries > MAX_RETRIES) {
            self.wrong("retries", format!("`retries` is {retries}: the maximum is {MAX_RETRIES}"));
        }
        if agent.args.iter().any(|arg| arg.contains('\0')) {
            self.wrong("args", "`args` contains a NUL character");
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
            return self.wrong("prompt", "`prompt` is empty");
        }
        if text.len() > MAX_PROMPT_BYTES {
            let length = text.len();
            return self.wrong(
                "prompt",
                format!("`prompt` has {length} bytes: the maximum is {MAX_PROMPT_BYTES}"),
            );
        }
        match segments(text) {
            Err(error) => self.wrong_in("prompt", Some(error.written.clone()), &error),
            Ok(segments) => {
                let references = segments.iter().filter_map(|segment| match segment {
                    Segment::Reference(reference) => Some(reference),
                    Segment::Text(_) => None,
                });
                for reference in references.collect::<BTreeSet<_>>() {
                    if let Err(why) = check_reference(self.plan, stage, reference) {
                        let text = format!("{{{{{reference}}}}}: {why}");
                        self.wrong_in("prompt", Some(reference.to_string()), text);
                    }
                }
            }
        }
    }
}

/// Checks whether a prompt of a stage may contain a reference.
fn check_reference(plan: &PlanSpec, from: usize, reference: &Reference) -> Result<(), String> {
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

/// Returns the stage of this name, if it is before the stage with number `from`.
fn earlier<'a>(plan: &'a PlanSpec, from: usize, name: &Name) -> Result<&'a StageSpec, String> {
    match plan.stages.iter().position(|stage| stage.name == *name) {
        Some(at) if at < from => Ok(&plan.stages[at]),
        Some(at) if at == from => {
            Err("it is in the same stage and has no answer yet; a prompt can refer only to earlier stages".into())
        }
        Some(_) => Err("it is in a later stage; a prompt can refer only to earlier stages".into()),
        None => {
            let known = plan.stages[..from].iter().map(|stage| stage.name.as_str());
            let inputs = (!plan.inputs.is_empty()).then_some(INPUT);
            let near = did_you_mean(name.as_str(), known.chain(inputs));
            Err(format!("there is no earlier stage {name}{near}"))
        }
    }
}
