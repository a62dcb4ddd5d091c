//! What became of a prompt, for programs.

use serde::{Deserialize, Serialize};

use crate::session::{Exit, Owed, Reason};
use crate::verdict::{EvidenceSource, Usage, VerdictKind};
use crate::view::SessionView;

/// A prompt that is over. Field names are stable: added to, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerView {
    /// The session.
    pub session: String,
    /// How many attempts there were.
    pub attempts: u32,
    /// The member that was asked, if one was.
    pub member: Option<String>,
    /// The agent.
    pub agent: String,
    /// What became of it.
    pub verdict: VerdictKind,
    /// By what that is known.
    pub evidence: String,
    /// Where that was seen.
    pub source: EvidenceSource,
    /// What it answered.
    pub answer: Option<String>,
    /// The conversation that it belongs to.
    pub conversation: Option<String>,
    /// What it has used up; what it cost is in there.
    pub usage: Usage,
    /// How many turns it took, if it told.
    pub turns: Option<u32>,
    /// How many tools it ran.
    pub tools: u32,
    /// Why it ended.
    pub reason: Option<Reason>,
    /// How its process ended.
    pub exit: Option<Exit>,
    /// What of it could not be removed so far.
    #[serde(default)]
    pub owed: Vec<Owed>,
}

impl AnswerView {
    /// Of a session that is a prompt, with what it answered; none if it was not judged.
    #[must_use]
    pub fn of(view: &SessionView, answer: Option<String>) -> Option<Self> {
        let judged = view.judged.as_ref()?;
        let spec = view.spec.agent.as_deref();
        Some(Self {
            session: view.session.clone(),
            attempts: view.launches,
            member: spec.and_then(|spec| spec.member.clone()),
            agent: spec.map(|spec| spec.seat.agent.clone()).unwrap_or_default(),
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
