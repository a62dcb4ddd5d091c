//! Settling a prompt: which member answers, which conversation continues, which command asks it.

use kennel_agents::Agent;
use kennel_core::{RelaunchChanges, Session, World};
use kennel_types::{AgentSettings, AgentSpec, Permissions, SessionSpec, UsageScope, VerdictKind};

use crate::error::ApiError;
use crate::os::clock;
use crate::prompt::command::{self, AgentCommand};

/// A prompt whose command is decided.
#[derive(Debug)]
pub(crate) struct SettledPrompt {
    pub(crate) agent: AgentSpec,
    pub(crate) command: AgentCommand,
    pub(crate) folder: Option<String>,
}

impl SettledPrompt {
    /// What is recorded of a further attempt.
    pub(crate) fn changes(&self) -> RelaunchChanges {
        RelaunchChanges {
            argv: self.command.argv.clone(),
            conversation: self.agent.conversation.clone(),
        }
    }
}

/// Decides on the command of a prompt, with the current state of the member and its conversation.
pub(crate) fn settle(world: &World, agent: &AgentSpec) -> Result<SettledPrompt, ApiError> {
    let mut agent = agent.clone();
    let (mut folder, mut last) = (None, None);
    if let Some(name) = &agent.member {
        let member = world.member(name).ok_or_else(|| no_member(world, name))?;
        agent.settings = merge_settings(&member.settings, &agent.settings);
        folder = Some(member.cwd.clone());
        last = member.conversation.as_deref();
    }
    agent.conversation = command::conversation(&agent.conversation_choice, last);
    let command = command::agent_command(&agent)?;
    Ok(SettledPrompt { agent, command, folder })
}

/// Decides on the command of the next attempt; none if the session is not a prompt.
pub(crate) fn next_attempt(session: &Session) -> Result<Option<SettledPrompt>, ApiError> {
    let Some(agent) = session.spec.agent.as_deref() else { return Ok(None) };
    let mut agent = agent.clone();
    let verdict = session.judged.as_ref().map(|judged| judged.verdict.kind);
    if verdict == Some(VerdictKind::StaleConversation) {
        agent.conversation = None;
    }
    let command = command::agent_command(&agent)?;
    Ok(Some(SettledPrompt { agent, command, folder: None }))
}

pub(crate) fn no_member(world: &World, name: &str) -> ApiError {
    let refused = ApiError::not_found(format!("there is no member {name:?}"));
    refused.hint(match world.member_like(name) {
        Some(near) => format!("did you mean {near:?}? `kennel member list` lists all"),
        None => "`kennel member list` lists all, `kennel member add` adds one".to_owned(),
    })
}

/// Refuses a prompt to a member that is busy; none if it is free.
pub(crate) fn busy(
    world: &World,
    agent: &AgentSpec,
    since_ms: impl FnOnce(&Session) -> u64,
) -> Option<ApiError> {
    let name = agent.member.as_deref()?;
    let by = world.busy_with(name).or_else(|| world.waits_for(name).next())?;
    let since = clock::rfc3339(since_ms(by));
    let message = format!("member {name:?} is busy with session {} since {since}", by.id);
    Some(ApiError::busy(message).hint("queue this prompt with --queue, or stop that session"))
}

pub(crate) fn check_agent(settings: &AgentSettings) -> Result<(), ApiError> {
    let agent = Agent::of(settings).map_err(ApiError::invalid)?;
    agent.one_shot(settings, None).map_err(ApiError::invalid).map(drop)
}

pub(crate) fn usage_scope(settings: &AgentSettings) -> UsageScope {
    Agent::of(settings).map_or(UsageScope::Attempt, |agent| agent.usage_scope())
}

/// The settings of a member, overridden by those of a plan.
fn merge_settings(member: &AgentSettings, plan: &AgentSettings) -> AgentSettings {
    let mut settings = member.clone();
    settings.model = plan.model.clone().or(settings.model);
    settings.turns = plan.turns.or(settings.turns);
    if plan.permissions != Permissions::Default {
        settings.permissions = plan.permissions;
    }
    if !plan.args.is_empty() {
        settings.args.clone_from(&plan.args);
    }
    settings
}

/// Settles a request like an earlier one to the same member; none if that had another member.
pub(crate) fn settled_like(first: &SessionSpec, asked: &SessionSpec) -> Option<SessionSpec> {
    let (then, now) = (first.agent.as_deref()?, asked.agent.as_deref()?);
    if now.member.is_none() || now.member != then.member {
        return None;
    }
    let mut spec = asked.clone();
    let settings = merge_settings(&then.settings, &now.settings);
    spec.agent = Some(Box::new(AgentSpec { settings, ..now.clone() }));
    spec.stop_signal = asked.stop_signal.or(first.stop_signal);
    if asked.worktree.is_none() {
        spec.cwd.clone_from(&first.cwd);
    }
    Some(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, member: Option<&str>) -> AgentSpec {
        let settings = AgentSettings { agent: name.to_owned(), ..AgentSettings::default() };
        AgentSpec { settings, member: member.map(ToOwned::to_owned), ..AgentSpec::default() }
    }

    #[test]
    fn refuses_a_prompt_to_a_member_that_does_not_exist() {
        let refused = settle(&World::default(), &agent("", Some("ada"))).unwrap_err();
        assert_eq!(refused.problem().detail, "there is no member \"ada\"");
    }

    #[test]
    fn a_plan_overrides_only_what_it_sets() {
        let member =
            AgentSettings { model: Some("m".into()), turns: Some(3), ..AgentSettings::default() };
        let plan = AgentSettings {
            model: Some("p".into()),
            args: vec!["-x".into()],
            ..AgentSettings::default()
        };
        let merged = merge_settings(&member, &plan);
        assert_eq!((merged.model.as_deref(), merged.turns), (Some("p"), Some(3)));
        assert_eq!(merged.args, ["-x"]);
    }

    #[test]
    fn a_repeated_request_is_settled_as_the_first_one_only_for_the_same_member() {
        let spec = |member: Option<&str>| SessionSpec {
            agent: Some(Box::new(agent("claude", member))),
            cwd: format!("/{}", member.unwrap_or("none")),
            ..SessionSpec::default()
        };
        let asked = SessionSpec { cwd: "/client".into(), ..spec(Some("ada")) };
        assert_eq!(settled_like(&spec(Some("ada")), &asked).unwrap().cwd, "/ada");
        assert!(settled_like(&spec(Some("bob")), &asked).is_none());
        assert!(settled_like(&spec(None), &spec(None)).is_none());
    }
}
