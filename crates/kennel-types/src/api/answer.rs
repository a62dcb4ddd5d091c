//! The result of a prompt, for programs.

use serde::{Deserialize, Serialize};

use crate::session::{Exit, Owed, Reason};
use crate::verdict::{EvidenceSource, TokenUsage, VerdictKind};
use crate::view::SessionView;

/// A finished prompt. Field names are stable: fields are added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerView {
    /// The session id.
    pub session: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The member that was asked, if any.
    pub member: Option<String>,
    /// The agent program.
    pub agent: String,
    /// The verdict.
    pub verdict: VerdictKind,
    /// The text that the verdict is based on.
    pub evidence: String,
    /// Where that text was found.
    pub source: EvidenceSource,
    /// The agent's answer.
    pub answer: Option<String>,
    /// The conversation that the prompt belongs to.
    pub conversation: Option<String>,
    /// The tokens used, and their cost.
    pub usage: TokenUsage,
    /// The number of turns, if the agent reported it.
    pub turns: Option<u32>,
    /// The number of tools that the agent ran.
    pub tools: u32,
    /// Why the session ended.
    pub reason: Option<Reason>,
    /// How the agent's process ended.
    pub exit: Option<Exit>,
    /// Resources of the session that could not be removed so far.
    #[serde(default)]
    pub owed: Vec<Owed>,
}

impl AnswerView {
    /// Builds the view from a session and its answer. Returns none if the session is not a judged
    /// prompt.
    #[must_use]
    pub fn of(view: &SessionView, answer: Option<String>) -> Option<Self> {
        let judged = view.judged.as_ref()?;
        let spec = view.spec.agent.as_deref();
        Some(Self {
            session: view.session.clone(),
            attempts: view.launches,
            member: spec.and_then(|spec| spec.member.clone()),
            agent: spec.map(|spec| spec.settings.agent.clone()).unwrap_or_default(),
            verdict: judged.verdict.kind,
            evidence: judged.verdict.evidence.clone(),
            source: judged.verdict.source,
            answer,
            conversation: judged.conversation.clone(),
            usage: judged.usage,
            turns: judged.turns,
            tools: judged.tools,
            reason: view.reason.clone(),
            exit: view.exit.clone(),
            owed: view.owed.clone(),
        })
    }
}
