//! A member: a named agent with a directory and a conversation of its own.

use kennel_types::{
    AgentSettings, Judged, SessionId, TokenUsage, UsageScope, VerdictKind, is_unset,
};
use serde::{Deserialize, Serialize};

/// A named agent. Whether it is busy is not recorded: it is busy while one of its sessions is live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub settings: AgentSettings,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub conversation: Option<String>,
    /// The usage of all its prompts so far.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub usage: TokenUsage,
    /// The latest usage that the agent reported. If it reports the whole conversation, only the
    /// increase counts.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub reported_usage: TokenUsage,
    #[serde(default, skip_serializing_if = "is_unset")]
    pub attempts: u64,
    /// The verdict of the latest attempt.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub last: Option<LastVerdict>,
    /// Sessions that are counted here, but whose verdict may not be recorded yet.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub counted: Vec<SessionId>,
    /// When it was added, in milliseconds since 1970.
    pub created_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastVerdict {
    pub session: SessionId,
    pub kind: VerdictKind,
    /// When it was judged, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Member {
    /// Forgets the sessions whose verdicts are recorded by now, which can't be counted twice.
    pub(crate) fn forget_recorded(&mut self, unrecorded: impl Fn(&SessionId) -> bool) {
        self.counted.retain(unrecorded);
    }

    /// Counts a judged attempt. Its conversation becomes the member's. If the conversation was gone
    /// and was the member's own, the member forgets it.
    pub(crate) fn count_attempt(
        &mut self,
        session: &SessionId,
        asked: Option<&str>,
        judged: &Judged,
        scope: UsageScope,
        at_ms: u64,
    ) {
        // If a daemon dies before it records the verdict, the next one judges the session again.
        let last = self.last.as_ref().is_some_and(|last| last.session == *session);
        if last || self.counted.contains(session) {
            return;
        }
        self.counted.push(session.clone());
        let kind = judged.verdict.kind;
        let continues = asked.is_some() && self.conversation.as_deref() == asked;
        self.usage += match scope {
            UsageScope::Conversation if continues => judged.usage.beyond(&self.reported_usage),
            UsageScope::Conversation | UsageScope::Attempt => judged.usage,
        };
        // An attempt without a report does not reset the count.
        if judged.usage != TokenUsage::default() {
            self.reported_usage = judged.usage;
        }
        self.attempts = self.attempts.saturating_add(1);
        self.last = Some(LastVerdict { session: session.clone(), kind, at_ms });
        match kind {
            VerdictKind::StaleConversation => {
                if continues {
                    self.conversation = None;
                }
            }
            // An agent that was refused has no conversation to continue.
            VerdictKind::Auth | VerdictKind::RefusedFlags | VerdictKind::UntrustedFolder => {}
            _ => {
                if let Some(id) = &judged.conversation {
                    self.conversation = Some(id.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kennel_types::{EvidenceSource, Verdict, Work};

    fn member(conversation: Option<&str>) -> Member {
        Member {
            name: "a".into(),
            settings: AgentSettings::default(),
            cwd: "/".into(),
            conversation: conversation.map(ToOwned::to_owned),
            usage: TokenUsage::default(),
            reported_usage: TokenUsage::default(),
            attempts: 0,
            last: None,
            counted: Vec::new(),
            created_ms: 0,
        }
    }

    fn judged(kind: VerdictKind, conversation: Option<&str>) -> Judged {
        Judged {
            verdict: Verdict::new(kind, EvidenceSource::Result, ""),
            conversation: conversation.map(ToOwned::to_owned),
            usage: TokenUsage { input_tokens: 2, ..TokenUsage::default() },
            work: Work::None,
            turns: None,
            tools: 0,
        }
    }

    fn after(before: Option<&str>, asked: Option<&str>, judged: &Judged) -> Option<String> {
        let mut member = member(before);
        let id = SessionId::parse("0c3k5d9wq2fa").unwrap();
        member.count_attempt(&id, asked, judged, UsageScope::Attempt, 1);
        assert_eq!((member.attempts, member.usage.input_tokens), (1, 2));
        assert_eq!(member.last.unwrap().kind, judged.verdict.kind);
        member.conversation
    }

    #[test]
    fn a_member_continues_its_latest_conversation() {
        let answered = judged(VerdictKind::Succeeded, Some("new"));
        assert_eq!(after(None, None, &answered).as_deref(), Some("new"));
        assert_eq!(after(Some("old"), Some("old"), &answered).as_deref(), Some("new"));
        let crashed = judged(VerdictKind::Crashed, None);
        assert_eq!(after(Some("old"), Some("old"), &crashed).as_deref(), Some("old"));
    }

    #[test]
    fn a_stale_conversation_is_forgotten_if_it_is_the_members_own() {
        let stale = judged(VerdictKind::StaleConversation, Some("old"));
        assert_eq!(after(Some("old"), Some("old"), &stale), None);
        assert_eq!(after(Some("old"), Some("other"), &stale).as_deref(), Some("old"));
        assert_eq!(after(Some("old"), None, &stale).as_deref(), Some("old"));
    }

    #[test]
    fn a_refused_prompt_leaves_no_conversation() {
        let refused = judged(VerdictKind::Auth, Some("new"));
        assert_eq!(after(Some("old"), Some("old"), &refused).as_deref(), Some("old"));
    }

    #[test]
    fn the_usage_of_a_whole_conversation_counts_once() {
        let mut member = member(None);
        let mut prompt = |number: u32, asked: Option<&str>, tokens, conversation| {
            let usage = TokenUsage { input_tokens: tokens, ..TokenUsage::default() };
            let judged = Judged { usage, ..judged(VerdictKind::Succeeded, Some(conversation)) };
            let id = SessionId::parse(&format!("0c3k5d9wq2f{number}")).unwrap();
            member.count_attempt(&id, asked, &judged, UsageScope::Conversation, 1);
            member.usage.input_tokens
        };
        assert_eq!(prompt(1, None, 10, "a"), 10);
        assert_eq!(prompt(2, Some("a"), 25, "a"), 25);
        assert_eq!(prompt(3, Some("a"), 0, "a"), 25, "it reported no usage");
        assert_eq!(prompt(4, Some("a"), 30, "a"), 30);
        assert_eq!(prompt(5, None, 7, "b"), 37, "another conversation");
    }
}
