//! What an agent does, for programs.

use kennel_types::Usage;
use serde::Serialize;

use crate::reader::Happening;

/// A [`Happening`], for programs. Names are stable: added to, never changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Doing<'a> {
    /// Which conversation it is.
    Conversation {
        /// Its id.
        id: &'a str,
    },
    /// It says something.
    Text {
        /// What.
        text: &'a str,
    },
    /// It thinks something.
    Thinking {
        /// What.
        text: &'a str,
    },
    /// It begins to use a tool.
    ToolBegan {
        /// By what its end is known.
        id: &'a str,
        /// The tool's name.
        name: &'a str,
        /// What it is about.
        about: &'a str,
    },
    /// A tool came to its end.
    ToolEnded {
        /// Which use of a tool.
        id: &'a str,
        /// Whether it failed.
        failed: bool,
    },
    /// What it has used up so far.
    Usage {
        /// That.
        usage: Usage,
    },
    /// Its provider failed, and it tries again by itself.
    Retrying {
        /// What went wrong.
        why: &'a str,
        /// When it tries again.
        after_ms: Option<u64>,
    },
    /// Something else that a person may want to know.
    Notice {
        /// What.
        text: &'a str,
    },
}

impl Doing<'_> {
    /// What kind of thing it is: the name of its event in a stream.
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

impl<'a> From<&'a Happening<'_>> for Doing<'a> {
    fn from(happening: &'a Happening<'_>) -> Self {
        match happening {
            Happening::Conversation(id) => Self::Conversation { id },
            Happening::Text(text) => Self::Text { text },
            Happening::Thinking(text) => Self::Thinking { text },
            Happening::ToolBegan { id, name, about } => Self::ToolBegan { id, name, about },
            Happening::ToolEnded { id, failed } => Self::ToolEnded { id, failed: *failed },
            Happening::Usage(usage) => Self::Usage { usage: *usage },
            Happening::Retrying { why, after } => {
                let after_ms =
                    after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
                Self::Retrying { why, after_ms }
            }
            Happening::Notice(text) => Self::Notice { text },
        }
    }
}
