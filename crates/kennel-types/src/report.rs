//! Reports that an agent sends about itself.

use serde::{Deserialize, Serialize};

/// The maximum number of characters in a title.
const MAX_TITLE_LENGTH: usize = 200;

/// A report from an agent, or from a hook in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "report")]
pub enum AgentReport {
    /// The agent is ready.
    Ready,
    /// The agent is working.
    Busy,
    /// The agent waits for input.
    Idle,
    /// The title of its work.
    Title {
        /// The title, as text for users.
        title: Title,
    },
    /// The progress of its work.
    Progress {
        /// The progress, in percent.
        percent: Percent,
    },
}

/// Why a report is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The title is invalid.
    #[error(
        "invalid title: expected 1 to {MAX_TITLE_LENGTH} characters without control characters, got {0}"
    )]
    Title(String),
    /// The progress is invalid.
    #[error("invalid progress {0}: expected a whole number from 0 to 100")]
    Progress(String),
}

/// A title: one line of 1 to 200 characters, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("minLength" = 1, "maxLength" = 200)))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = r"^[^\u0000-\u001f\u007f-\u009f]*$")))]
#[serde(try_from = "String", into = "String")]
pub struct Title(String);

impl TryFrom<String> for Title {
    type Error = ReportError;

    fn try_from(text: String) -> Result<Self, ReportError> {
        let length = text.chars().count();
        if text.chars().any(char::is_control) {
            return Err(ReportError::Title("control characters".to_owned()));
        }
        match length {
            1..=MAX_TITLE_LENGTH => Ok(Self(text)),
            _ => Err(ReportError::Title(format!("{length} characters"))),
        }
    }
}

impl AsRef<str> for Title {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A number from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("maximum" = 100)))]
#[serde(try_from = "u64", into = "u8")]
pub struct Percent(u8);

impl TryFrom<u64> for Percent {
    type Error = ReportError;

    fn try_from(number: u64) -> Result<Self, ReportError> {
        let percent = u8::try_from(number).ok().filter(|percent| *percent <= 100);
        percent.map(Self).ok_or_else(|| ReportError::Progress(number.to_string()))
    }
}

/// Whether an agent is working, as it reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentActivity {
    /// The agent is working.
    Busy,
    /// The agent waits for input.
    Idle,
}

impl From<Title> for String {
    fn from(title: Title) -> Self {
        title.0
    }
}

impl From<Percent> for u8 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}
