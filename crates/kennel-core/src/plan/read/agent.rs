//! The agents of a stage.

use kennel_types::Permissions;
use kennel_types::plan::{OnFailure, PlanAgent, PlanTarget, PlanWorktree, Prompt};
use toml::de::DeValue;

use super::{Part, Reader};
use crate::plan::problem::Spot;
use crate::slip::did_you_mean;

const KEYS: [&str; 14] = [
    "name",
    "agent",
    "member",
    "prompt",
    "prompt_file",
    "model",
    "turns",
    "permissions",
    "args",
    "cwd",
    "timeout",
    "worktree",
    "on_failure",
    "retries",
];

const PERMISSIONS: [(&str, Permissions); 4] = [
    ("default", Permissions::Default),
    ("read_only", Permissions::ReadOnly),
    ("edit", Permissions::Edit),
    ("all", Permissions::All),
];

const ON_FAILURE: [(&str, OnFailure); 2] =
    [("fail_plan", OnFailure::FailPlan), ("continue", OnFailure::Continue)];

impl Reader<'_> {
    pub(super) fn agents(&mut self, stage: &Part<'_, '_>, number: usize) -> Vec<PlanAgent> {
        let title = "[[stage.agent]]";
        let tables = self.tables(stage, "agent", title);
        let agents = tables.into_iter().enumerate().filter_map(|(index, (table, at))| {
            let spot = Spot::Agent(number, index);
            self.agent(&Part { table, spot, title: title.to_owned(), at })
        });
        agents.collect()
    }

    fn agent(&mut self, part: &Part<'_, '_>) -> Option<PlanAgent> {
        self.keys(part, &KEYS);
        let (name, who, prompt) = (self.name(part), self.who(part), self.prompt(part));
        let agent = PlanAgent {
            model: self.string(part, "model"),
            turns: self.number(part, "turns"),
            permissions: self.one_of(part, "permissions", &PERMISSIONS),
            args: self.strings(part, "args"),
            cwd: self.string(part, "cwd"),
            timeout: self.time(part, "timeout"),
            worktree: self.worktree(part),
            on_failure: self.one_of(part, "on_failure", &ON_FAILURE),
            retries: self.number(part, "retries"),
            name: name?,
            who: who?,
            prompt: prompt?,
        };
        Some(agent)
    }

    fn who(&mut self, part: &Part<'_, '_>) -> Option<PlanTarget> {
        match (self.string(part, "agent"), self.string(part, "member")) {
            (Some(agent), None) => Some(PlanTarget::Agent(agent)),
            (None, Some(member)) => Some(PlanTarget::Member(member)),
            (Some(_), Some(_)) => {
                self.wrong(
                    part.at,
                    "it has both `agent` and `member`; a member has its agent already",
                );
                None
            }
            // Of another type, which is told already.
            (None, None) if part.table.get("agent").or(part.table.get("member")).is_some() => None,
            (None, None) => {
                self.wrong(part.at, "it has neither `agent` nor `member`: write agent = \"claude\", or the name of a member");
                None
            }
        }
    }

    fn prompt(&mut self, part: &Part<'_, '_>) -> Option<Prompt> {
        match (self.string(part, "prompt"), self.string(part, "prompt_file")) {
            (Some(text), None) => Some(Prompt::Text(text)),
            (None, Some(file)) => Some(Prompt::File(file)),
            (Some(_), Some(_)) => {
                self.wrong(part.at, "it has both `prompt` and `prompt_file`; leave one out");
                None
            }
            (None, None)
                if part.table.get("prompt").or(part.table.get("prompt_file")).is_some() =>
            {
                None
            }
            (None, None) => {
                self.wrong(part.at, "it has no `prompt`, nor a `prompt_file`");
                None
            }
        }
    }

    fn worktree(&mut self, part: &Part<'_, '_>) -> Option<PlanWorktree> {
        let value = part.table.get("worktree")?;
        match value.get_ref() {
            DeValue::Boolean(true) => Some(PlanWorktree::Own),
            DeValue::Boolean(false) => None,
            DeValue::String(branch) if !branch.trim().is_empty() => {
                Some(PlanWorktree::Branch(branch.to_string()))
            }
            _ => {
                self.wrong(
                    value.span().start,
                    "`worktree` is true for a branch of its own, or the name of a branch",
                );
                None
            }
        }
    }

    fn one_of<T: Copy>(
        &mut self,
        part: &Part<'_, '_>,
        key: &str,
        known: &[(&str, T)],
    ) -> Option<T> {
        let text = self.string(part, key)?;
        let found = known.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let at = part.table.get(key).map_or(part.at, |value| value.span().start);
            let near = did_you_mean(&text, known.iter().map(|(name, _)| *name));
            self.wrong(at, format!("`{key}` can't be {text:?}{near}"));
        }
        found.map(|(_, value)| *value)
    }
}
