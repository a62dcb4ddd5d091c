//! A request to prompt an agent: [`CreateRequest`] with the fields that prompts need.

use serde::{Deserialize, Serialize};

use super::{CreateRequest, Environment, OsText, start};
use crate::agent::{AgentSettings, AgentSpec, ConversationChoice, Permissions};
use crate::id::SessionId;
use crate::spec::{PenKind, WorktreeSpec};

/// The default number of retries, and the default time for all attempts together.
const RETRIES: u32 = 3;
const RETRY_WITHIN_MS: u64 = 10 * 60 * 1000;

/// A prompt to a member or to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AskRequest {
    /// The prompt. It is never stored.
    pub prompt: String,
    /// The member to ask. A member has its own directory, agent, model, turns, permissions and
    /// arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The agent program to ask if no member is given: `claude`, `codex`, `gemini`, `opencode`, or
    /// the name of a described agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The description of an agent that Kennel has no code for, as TOML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model. The default is the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The maximum number of turns. The default is the agent's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// What the agent may do without asking.
    #[serde(default)]
    pub permissions: Permissions,
    /// Additional arguments, passed on unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Whether to start a new conversation.
    #[serde(default)]
    pub fresh: bool,
    /// The conversation to continue. If the agent does not know it any more, the prompt fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The absolute working directory. The default is the member's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<OsText>,
    /// The environment, as in [`CreateRequest`].
    #[serde(default = "Environment::minimal")]
    pub env: Environment,
    /// The umask of the agent.
    #[serde(default = "start::umask")]
    pub umask: u32,
    /// How many times to retry if the provider fails. The default is 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The time within which retries may start. The default is ten minutes; 0 means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_within_ms: Option<u64>,
    /// Whether to retry an attempt that may already have done some of its work.
    #[serde(default)]
    pub replay: bool,
    /// Whether to queue the prompt if the member is busy or a limit is reached.
    #[serde(default)]
    pub queue: bool,
    /// Whether the prompt continues when the client disconnects before the answer.
    #[serde(default)]
    pub detach: bool,
    /// A name for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The idempotency key: two requests with the same key are one prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The timeout of an attempt, not counting time that the machine sleeps. Unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The time between TERM and KILL in a stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// The kind of pen.
    #[serde(default)]
    pub pen: PenKind,
    /// The memory limit of the pen, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The limit on processes and threads of the pen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// The CPU limit of the pen, in thousandths of a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Create a git worktree on this branch; `""` means a new branch named for the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The session that sends the request, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The name of the caller, for the event log.
    #[serde(default)]
    pub by: String,
}

/// Why a prompt request is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Neither a member nor an agent is given.
    #[error("one of `member` and `agent` is required")]
    NoTarget,
    /// Both a member and an agent are given.
    #[error("`member` and `agent` are mutually exclusive")]
    Both,
    /// The setting belongs to the member.
    #[error("a member has its own model, turns, permissions and arguments: leave them out")]
    MembersOwn,
    /// `fresh` and `resume` are both given.
    #[error("`fresh` and `resume` are mutually exclusive")]
    Conversation,
    /// An agent needs a working directory.
    #[error("`cwd` is required with `agent`")]
    NoDirectory,
}

impl AskRequest {
    /// Converts the prompt into a request for a session.
    ///
    /// # Errors
    /// Required fields are missing, or fields contradict each other.
    pub fn into_session(self) -> Result<CreateRequest, AskError> {
        let conversation_choice = match (self.resume, self.fresh) {
            (Some(_), true) => return Err(AskError::Conversation),
            (Some(id), false) => ConversationChoice::Resume { id },
            (None, true) => ConversationChoice::Fresh,
            (None, false) => ConversationChoice::Continue,
        };
        let settings = AgentSettings {
            agent: self.agent.unwrap_or_default(),
            description: self.description,
            model: self.model,
            turns: self.turns,
            permissions: self.permissions,
            args: self.args,
        };
        match &self.member {
            None if settings.agent.is_empty() => return Err(AskError::NoTarget),
            None if self.cwd.is_none() => return Err(AskError::NoDirectory),
            Some(_) if !settings.agent.is_empty() => return Err(AskError::Both),
            Some(_) if settings != AgentSettings::default() => return Err(AskError::MembersOwn),
            _ => {}
        }
        let within = self.retry_within_ms.unwrap_or(RETRY_WITHIN_MS);
        let agent = AgentSpec {
            settings,
            member: self.member,
            conversation_choice,
            retries: self.retries.unwrap_or(RETRIES),
            retry_within_ms: (within > 0).then_some(within),
            replay: self.replay,
            cancel_on_disconnect: !self.detach,
            ..AgentSpec::default()
        };
        let mut request = CreateRequest::with_defaults();
        let spec = &mut request.spec;
        let time = std::time::Duration::from_millis;
        spec.grace = self.grace_ms.map_or(spec.grace, time);
        spec.timeout = self.timeout_ms.map(time);
        spec.worktree = self
            .worktree
            .map(|branch| WorktreeSpec::requested(Some(branch).filter(|it| !it.is_empty())));
        (spec.name, spec.key, spec.pen, spec.parent) = (self.name, self.key, self.pen, self.parent);
        (spec.memory, spec.pids, spec.cpu) = (self.memory, self.pids, self.cpu);
        spec.asked_by = self.by;
        spec.agent = Some(Box::new(agent));
        // The member's directory replaces this one.
        request.cwd = self.cwd.unwrap_or_else(|| OsText::from("/"));
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
    fn fills_in_the_defaults() {
        let asked = read(r#"{"member": "ann", "prompt": "hi"}"#).unwrap();
        let agent = asked.spec.agent.as_deref().unwrap();
        assert_eq!((agent.member.as_deref(), agent.retries), (Some("ann"), 3));
        assert_eq!(
            (agent.retry_within_ms, &agent.conversation_choice, agent.cancel_on_disconnect),
            (Some(600_000), &ConversationChoice::Continue, true)
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
        assert_eq!(
            (&*agent.settings.agent, agent.settings.model.as_deref()),
            ("claude", Some("m"))
        );
        assert_eq!(
            (agent.retry_within_ms, &agent.conversation_choice, agent.cancel_on_disconnect),
            (None, &ConversationChoice::Fresh, false)
        );
        assert_eq!(asked.spec.timeout, Some(Duration::from_millis(5)));
        assert_eq!(asked.spec.worktree, Some(WorktreeSpec::requested(None)));
        assert_eq!(asked.cwd, OsText::from("/w"));
    }

    #[test]
    fn refuses_contradictory_requests() {
        for (json, wrong) in [
            (r#"{"prompt": "hi"}"#, AskError::NoTarget),
            (r#"{"prompt": "hi", "agent": "claude"}"#, AskError::NoDirectory),
            (r#"{"prompt": "hi", "agent": "claude", "member": "a", "cwd": "/"}"#, AskError::Both),
            (
                r#"{"prompt": "hi", "member": "a", "fresh": true, "resume": "x"}"#,
                AskError::Conversation,
            ),
            (r#"{"prompt": "hi", "member": "a", "model": "m"}"#, AskError::MembersOwn),
        ] {
            assert_eq!(read(json), Err(wrong), "{json}");
        }
        assert!(serde_json::from_str::<AskRequest>(r#"{"prompt": "hi", "memer": "a"}"#).is_err());
    }
}
