//! What an agent has told so far, in the same terms for all of them.

use std::time::Duration;

use kennel_types::{EvidenceSource, Usage, VerdictKind, beginning_of};

use crate::json::About;
use crate::reader::{Happening, MOST_LINE, Noise, Tell};
use crate::words;

/// What an agent has told so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) conversation: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) turns: Option<u32>,
    pub(crate) tools: u32,
    /// What it said last.
    pub(crate) answer: Option<String>,
    /// Whether what it says next is the beginning of another text.
    pub(crate) new_text: bool,
    /// How it says that it came out; none while it is at work.
    pub(crate) told: Option<Told>,
    /// Whether it has begun to work on the prompt: no refusal of its arguments comes after that.
    pub(crate) begun: bool,
    /// Whether there was something that may have been the use of a tool.
    pub(crate) unsure: bool,
    /// What was not understood.
    pub(crate) strange: Noise,
    /// Whether some of that had the form of a message.
    pub(crate) strange_message: bool,
    /// Whether some of the output is missing.
    pub(crate) gaps: bool,
    /// Whether that was after it had told how it came out.
    pub(crate) gap_since_told: bool,
    /// How long its provider says to wait.
    pub(crate) wait: Option<Duration>,
    /// What it said to have gone wrong last, though it went on.
    pub(crate) trouble: Option<String>,
}

/// How an agent says that it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// It has done what it was asked, in these words.
    Success(&'static str),
    /// It failed.
    Failure(Failure),
}

/// A failure that an agent told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: VerdictKind,
    /// Its own words.
    pub(crate) text: String,
    pub(crate) wait: Option<Duration>,
    /// Where it told it.
    pub(crate) source: EvidenceSource,
}

impl Failure {
    /// Of this kind, told as a result.
    pub(crate) fn of(kind: VerdictKind, text: &str) -> Self {
        let wait = words::wait_in(text);
        Self { kind, text: text.to_owned(), wait, source: EvidenceSource::Result }
    }

    /// What the provider's status, if it is told, and the words say.
    pub(crate) fn read(status: Option<u64>, text: &str) -> Self {
        let by_status = status.and_then(|status| words::by_status(status, text));
        // A status that says nothing is not overruled by words that are only like another error's.
        let named = status.is_some_and(|status| (400..600).contains(&status));
        let kind = by_status.or_else(|| if named { None } else { words::by_text(text) });
        Self::of(kind.unwrap_or(VerdictKind::Unknown), text)
    }
}

impl Seen {
    /// It is this conversation. Told the first time, and when it is another one.
    pub(crate) fn conversation(&mut self, id: &str, tell: Tell<'_>) {
        if !id.is_empty() && self.conversation.as_deref() != Some(id) {
            self.conversation = Some(id.to_owned());
            tell(Happening::Conversation(id));
        }
    }

    /// It works on the prompt; whatever it told of its end before was not the end.
    pub(crate) fn works(&mut self) {
        self.begun = true;
        self.told = None;
        self.gap_since_told = false;
    }

    /// It says something, which is a part of the answer.
    pub(crate) fn says(&mut self, text: &str, tell: Tell<'_>) {
        if text.is_empty() {
            return;
        }
        let answer = self.answer.get_or_insert_default();
        if std::mem::take(&mut self.new_text) {
            answer.clear();
        }
        let room = MOST_LINE.saturating_sub(answer.len());
        answer.push_str(beginning_of(text, room));
        tell(Happening::Text(text));
    }

    /// It begins to use a tool.
    pub(crate) fn uses(&mut self, id: &str, name: &str, about: &About, tell: Tell<'_>) {
        self.works();
        self.tools = self.tools.saturating_add(1);
        self.new_text = true;
        tell(Happening::ToolBegan { id, name, about: about.0.clone() });
    }

    /// It has used up so much in all.
    pub(crate) fn uses_up(&mut self, usage: Usage, tell: Tell<'_>) {
        if self.usage != usage {
            self.usage = usage;
            tell(Happening::Usage(usage));
        }
    }

    /// It tries again by itself.
    pub(crate) fn retries(&mut self, why: &str, after: Option<Duration>, tell: Tell<'_>) {
        self.trouble = Some(crate::json::one_line(why));
        tell(Happening::Retrying { why, after });
    }

    /// It says that it has failed.
    pub(crate) fn failed(&mut self, mut failure: Failure) {
        failure.wait = failure.wait.or(self.wait);
        self.told = Some(Told::Failure(failure));
        self.gap_since_told = false;
    }

    /// It says that it has succeeded.
    pub(crate) fn succeeded(&mut self, words: &'static str) {
        self.told = Some(Told::Success(words));
        self.gap_since_told = false;
    }

    /// A line that was not understood.
    pub(crate) fn strange(&mut self, line: &[u8]) {
        self.strange_message |= line.trim_ascii_start().starts_with(b"{");
        self.unsure |= self.strange_message;
        self.strange.add(line);
        self.strange.add(b"\n");
    }

    /// Some of the output is missing.
    pub(crate) fn gap(&mut self) {
        self.gaps = true;
        self.gap_since_told = true;
    }
}
