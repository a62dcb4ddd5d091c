//! The agents of a plan: their prompts, their sessions, and what is reported about them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kennel_core::plan::{AgentAnswer as PlanAnswer, AgentState, Inputs};
use kennel_core::{Session, World};
use kennel_register::PlanRecord;
use kennel_types::plan::{AgentPath, PlanSpec, PlanTarget, PlanWorktree};
use kennel_types::{
    AgentSettings, AgentSpec, ConversationChoice, Permissions, PlanPosition, SessionId,
    SessionSpec, WorktreeSpec,
};

use crate::plan::runs::PlanRun;
use crate::prompt::{command, judge};

/// How often an agent is retried by default.
const RETRIES: u32 = 3;
/// No retry begins after this long.
const RETRY_WITHIN_MS: u64 = 10 * 60 * 1000;
const OUTPUT_LIMIT: u64 = 64 << 20;

/// What the prompt of an agent is made of: the plan, its inputs, and the answers of earlier agents.
#[derive(Debug)]
pub(crate) struct PromptSources {
    place: AgentPath,
    spec: PlanSpec,
    inputs: Inputs,
    agents: Vec<AgentState>,
    /// The sessions that have an answer, with their folders.
    sessions: Vec<(AgentPath, Session, PathBuf)>,
}

impl PromptSources {
    /// Collects the sources; `folder` is where a session has its output.
    pub(crate) fn new(
        run: &PlanRun,
        place: &AgentPath,
        world: &World,
        folder: impl Fn(&SessionId) -> PathBuf,
    ) -> Self {
        let (spec, inputs) = (run.record.spec.clone(), run.record.inputs.clone());
        let agents = run.record.state.agents.clone();
        let succeeded = agents.iter().filter(|agent| agent.phase.has_succeeded());
        let session = |agent: &AgentState| {
            let newest = world.newest(agent.phase.session()?)?;
            Some((agent.place.clone(), newest.clone(), folder(&newest.id)))
        };
        let sessions = succeeded.filter_map(session).collect();
        Self { place: place.clone(), spec, inputs, agents, sessions }
    }

    /// Writes the prompt. Blocks: the answers are read from the output of the sessions.
    pub(crate) fn write(self) -> Result<String, String> {
        let answers: BTreeMap<AgentPath, String> = self
            .sessions
            .into_iter()
            .filter_map(|(place, session, folder)| Some((place, judge::answer(&session, &folder)?)))
            .collect();
        let answer = |of: &AgentPath| match answers.get(of) {
            Some(text) => PlanAnswer::Given(text.as_str().into()),
            None => {
                let state = self.agents.iter().find(|agent| agent.place == *of);
                let why = state.map_or("there is no such agent", |agent| {
                    agent.phase.verdict().map_or("it was not asked", |verdict| verdict.name())
                });
                PlanAnswer::Missing(why.into())
            }
        };
        kennel_core::plan::prompt(&self.spec, &self.place, &self.inputs, &answer)
            .map_err(|error| error.to_string())
    }
}

pub(crate) fn session_of<'a>(
    world: &'a World,
    plan: &SessionId,
    place: &AgentPath,
    ask: u32,
) -> Option<&'a Session> {
    let (plan, name) = (plan.as_str(), place.to_string());
    let ours = |session: &&Session| {
        let position = session.spec.agent.as_ref().and_then(|agent| agent.plan.as_ref());
        position.is_some_and(|at| at.plan == plan && at.name == name && at.ask == ask)
    };
    world.sessions().rev().find(ours)
}

pub(crate) fn session_spec(
    record: &PlanRecord,
    place: &AgentPath,
    ask: u32,
    prompt: &str,
) -> Option<SessionSpec> {
    let agent = record.spec.agent(place)?;
    let (name, member, conversation_choice) = match &agent.who {
        PlanTarget::Agent(name) => (name.clone(), None, ConversationChoice::Fresh),
        // The plan overrides what the member is configured with.
        PlanTarget::Member(name) => {
            (String::new(), Some(name.clone()), ConversationChoice::Continue)
        }
    };
    let settings = AgentSettings {
        agent: name,
        description: None,
        model: agent.model.clone(),
        turns: agent.turns,
        permissions: agent.permissions.unwrap_or(Permissions::Default),
        args: agent.args.clone(),
    };
    let cwd = match &agent.cwd {
        Some(cwd) => std::path::Path::new(&record.cwd).join(cwd).to_str()?.to_owned(),
        None => record.cwd.clone(),
    };
    let spec = AgentSpec {
        settings,
        member,
        conversation_choice,
        prompt_sum: command::checksum(prompt),
        retries: agent.retries.unwrap_or(RETRIES),
        retry_within_ms: Some(RETRY_WITHIN_MS),
        plan: Some(PlanPosition { plan: record.id.to_string(), name: place.to_string(), ask }),
        ..AgentSpec::default()
    };
    Some(SessionSpec {
        cwd,
        pen: record.pen,
        linger: Duration::from_secs(2),
        lease: Some(Duration::from_secs(15 * 60)),
        output_limit: OUTPUT_LIMIT,
        asked_by: format!("plan {} ({place})", record.id),
        key: Some(place.ask_key(record.id.as_str(), ask)),
        timeout: agent.timeout,
        worktree: agent.worktree.as_ref().map(|wish| match wish {
            PlanWorktree::Own => WorktreeSpec::requested(None),
            PlanWorktree::Branch(branch) => WorktreeSpec::requested(Some(branch.clone())),
        }),
        agent: Some(Box::new(spec)),
        ..SessionSpec::default()
    })
}
