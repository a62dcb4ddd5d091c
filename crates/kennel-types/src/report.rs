//! What an agent tells of itself.

use serde::{Deserialize, Serialize};

/// The most characters of a title.
const LONGEST_TITLE: usize = 200;

/// Something that an agent, or a hook in it, tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "report")]
pub enum Report {
    /// It is up.
    Ready,
    /// It works.
    Busy,
    /// It waits for somebody.
    Idle,
    /// What it is about.
    Title {
        /// For people.
        title: Title,
    },
    /// How far it is.
    Progress {
        /// Of 100.
        percent: Percent,
    },
}

/// Text that can't be reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// No title.
    #[error(
        "a title has 1 to {LONGEST_TITLE} characters, and no control characters: this one has {0}"
    )]
    Title(String),
    /// No progress.
    #[error("progress is a whole number from 0 to 100, not {0}")]
    Progress(String),
}

/// A line for people.
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
            return Err(ReportError::Title("some".to_owned()));
        }
        match length {
            1..=LONGEST_TITLE => Ok(Self(text)),
            _ => Err(ReportError::Title(format!("{length} characters"))),
        }
    }
}

impl AsRef<str> for Title {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// From 0 to 100.
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

/// Whether an agent works, by its own word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It works.
    Busy,
    /// It waits for somebody.
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
