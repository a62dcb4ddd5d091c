//! What an agent does while it works on a prompt.

use std::time::Duration;

use kennel_types::TokenUsage;
use serde::{Serialize, Serializer};

/// One event in the output of an agent. Its JSON form is stable: names are added, never changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum AgentEvent<'a> {
    /// The conversation started, or changed.
    Conversation {
        id: &'a str,
    },
    /// The agent wrote a part of its answer.
    Text {
        text: &'a str,
    },
    /// The agent reported a thought.
    Thinking {
        text: &'a str,
    },
    /// The agent started a tool.
    ToolBegan {
        /// The id of this use; [`AgentEvent::ToolEnded`] has the same.
        id: &'a str,
        name: &'a str,
        /// A summary of its input, in one short line.
        about: String,
    },
    ToolEnded {
        id: &'a str,
        failed: bool,
    },
    /// The usage so far changed.
    Usage {
        usage: TokenUsage,
    },
    /// The model provider failed, and the agent retries by itself.
    Retrying {
        why: &'a str,
        #[serde(rename = "after_ms", serialize_with = "millis")]
        after: Option<Duration>,
    },
    /// The agent reported something else that a person may want to know.
    Notice {
        text: &'a str,
    },
}

impl AgentEvent<'_> {
    /// Returns the name of this kind of event in a stream.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Conversation { .. } => "conversation",
            Self::Text { .. } => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolBegan { .. } | Self::ToolEnded { .. } => "tool",
            Self::Usage { .. } => "usage",
            Self::Retrying { .. } => "retry",
            Self::Notice { .. } => "notice",
        }
    }
}

fn millis<S: Serializer>(after: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}
