//! A prompt, as a program asks it: [`CreateRequest`] in the words of prompts.

use serde::{Deserialize, Serialize};

use super::{CreateRequest, Environment, Text, start};
use crate::agent::{AgentSpec, Permissions, Seat, Wish};
use crate::id::SessionId;
use crate::spec::{PenKind, WorktreeSpec};

/// How often a prompt is tried again by itself, and for how long, if nobody says otherwise.
const RETRIES: u32 = 3;
const RETRY_WITHIN_MS: u64 = 10 * 60 * 1000;

/// A prompt to a member, or to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// What is asked. Never written down.
    pub prompt: String,
    /// Which member is asked. It has its own folder, agent, model, turns, permissions and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Which agent is asked, if no member is: `claude`, `codex`, `gemini`, `opencode`, or one that is described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The description of an agent that Kennel has no code for, as TOML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Which model; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many turns it may take; the agent's own choice if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// What it may do without asking.
    #[serde(default)]
    pub permissions: Permissions,
    /// Further arguments, as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// In a new conversation.
    #[serde(default)]
    pub fresh: bool,
    /// In this conversation, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The folder it works in: absolute; a member's own if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
    /// As in [`CreateRequest`].
    #[serde(default = "Environment::of_nobody")]
    pub env: Environment,
    /// The client's umask.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// How often it may be tried again by itself, if the provider is to blame; 3 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long it may take in all before no further try is begun; ten minutes if not given, 0: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_within_ms: Option<u64>,
    /// Whether an attempt that did work, or may have, is tried again as well.
    #[serde(default)]
    pub replay: bool,
    /// Whether it waits in line if the member is busy or there is no room.
    #[serde(default)]
    pub queue: bool,
    /// Whether it goes on if whoever asks goes before it is answered.
    #[serde(default)]
    pub detach: bool,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The same key twice is the same prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How long an attempt may take, awake; none: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How long a stop waits before KILL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Which pen.
    #[serde(default)]
    pub pen: PenKind,
    /// The most memory of its pen, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The most processes and threads of its pen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// The most CPU of its pen, in thousandths of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// A worktree that is made for it, on this branch; `""`: on one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The session that asks, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// Who asks, for the event log.
    #[serde(default)]
    pub by: String,
}

/// A prompt that can't be asked so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody is asked.
    #[error("neither member nor agent says who is asked")]
    Nobody,
    /// Two are.
    #[error("member and agent both say who is asked")]
    Both,
    /// It is not the member's to choose.
    #[error("a member has its own {0}")]
    MembersOwn(&'static str),
    /// It says two things.
    #[error("fresh and resume say two things of the conversation")]
    Conversation,
    /// An agent needs a folder.
    #[error("cwd is missing: an agent works in a folder")]
    NoFolder,
}

impl AskRequest {
    /// As the session that it becomes.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn into_session(self) -> Result<CreateRequest, AskError> {
        let wish = match (self.resume, self.fresh) {
            (Some(_), true) => return Err(AskError::Conversation),
            (Some(id), false) => Wish::Resume { id },
            (None, true) => Wish::Fresh,
            (None, false) => Wish::Continue,
        };
        let plain = Seat::default();
        let seat = Seat {
            agent: self.agent.unwrap_or_default(),
            description: self.description,
            model: self.model,
            turns: self.turns,
            permissions: self.permissions,
            args: self.args,
        };
        match &self.member {
            None if seat.agent.is_empty() => return Err(AskError::Nobody),
            None if self.cwd.is_none() => return Err(AskError::NoFolder),
            Some(_) if !seat.agent.is_empty() => return Err(AskError::Both),
            Some(_) if seat != plain => {
                return Err(AskError::MembersOwn("model, turns, permissions and arguments"));
            }
            _ => {}
        }
        let within = self.retry_within_ms.unwrap_or(RETRY_WITHIN_MS);
        let agent = AgentSpec {
            seat,
            member: self.member,
            wish,
            retries: self.retries.unwrap_or(RETRIES),
            retry_within_ms: (within > 0).then_some(within),
            replay: self.replay,
            tied: !self.detach,
            ..AgentSpec::default()
        };
        let mut request = CreateRequest::as_usual();
        let spec = &mut request.spec;
        let time = std::time::Duration::from_millis;
        spec.grace = self.grace_ms.map_or(spec.grace, time);
        spec.timeout = self.timeout_ms.map(time);
        spec.worktree = self
            .worktree
            .map(|branch| WorktreeSpec::asked(Some(branch).filter(|it| !it.is_empty())));
        (spec.name, spec.key, spec.pen, spec.parent) = (self.name, self.key, self.pen, self.parent);
        (spec.memory, spec.pids, spec.cpu) = (self.memory, self.pids, self.cpu);
        spec.asked_by = self.by;
        spec.agent = Some(Box::new(agent));
        // A member's folder takes its place.
        request.cwd = self.cwd.unwrap_or_else(|| Text::from("/"));
        (request.env, request.umask, request.queue) = (self.env, self.umask, self.queue);
        request.prompt = Some(self.prompt);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(json: &str) -> Result<CreateRequest, AskError> {
        serde_json::from_str::<AskRequest>(json).unwrap().into_session()
    }

    #[test]
    fn a_prompt_and_whom_it_is_for_are_enough() {
        let asked = read(r#"{"member": "ann", "prompt": "hi"}"#).unwrap();
        let agent = asked.spec.agent.as_deref().unwrap();
        assert_eq!((agent.member.as_deref(), agent.retries), (Some("ann"), 3));
        assert_eq!(
            (agent.retry_within_ms, &agent.wish, agent.tied),
            (Some(600_000), &Wish::Continue, true)
        );
        assert_eq!(
            (asked.prompt.as_deref(), asked.spec.grace),
            (Some("hi"), Duration::from_secs(10))
        );
        let asked = read(
            r#"{"agent": "claude", "prompt": "hi", "cwd": "/w", "model": "m", "fresh": true,
                "retry_within_ms": 0, "timeout_ms": 5, "worktree": "", "detach": true}"#,
        );
        let asked = asked.unwrap();
        let agent = asked.spec.agent.as_deref().unwrap();
        assert_eq!((&*agent.seat.agent, agent.seat.model.as_deref()), ("claude", Some("m")));
        assert_eq!((agent.retry_within_ms, &agent.wish, agent.tied), (None, &Wish::Fresh, false));
        assert_eq!(asked.spec.timeout, Some(Duration::from_millis(5)));
        assert_eq!(asked.spec.worktree, Some(WorktreeSpec::asked(None)));
        assert_eq!(asked.cwd, Text::from("/w"));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (json, wrong) in [
            (r#"{"prompt": "hi"}"#, AskError::Nobody),
            (r#"{"prompt": "hi", "agent": "claude"}"#, AskError::NoFolder),
            (r#"{"prompt": "hi", "agent": "claude", "member": "a", "cwd": "/"}"#, AskError::Both),
            (
                r#"{"prompt": "hi", "member": "a", "fresh": true, "resume": "x"}"#,
                AskError::Conversation,
            ),
            (
                r#"{"prompt": "hi", "member": "a", "model": "m"}"#,
                AskError::MembersOwn("model, turns, permissions and arguments"),
            ),
        ] {
            assert_eq!(read(json), Err(wrong), "{json}");
        }
        assert!(serde_json::from_str::<AskRequest>(r#"{"prompt": "hi", "memer": "a"}"#).is_err());
    }
}
