//! What an agent tells of itself, and whether it is believed.
//!
//! Only the launch that lives now is, by its token. A report that is refused changes nothing, and nobody is
//! ended for it.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::world::World;

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

impl From<Title> for String {
    fn from(title: Title) -> Self {
        title.0
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

impl From<Percent> for u8 {
    fn from(percent: Percent) -> Self {
        percent.0
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

/// What an agent told last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    /// Whether it works.
    pub activity: Option<Activity>,
    /// What it is about.
    pub title: Option<Title>,
    /// How far it is.
    pub progress: Option<Percent>,
}

impl Reported {
    /// Whether that was news.
    pub(crate) fn take(&mut self, report: &Report) -> bool {
        let before = self.clone();
        match report {
            Report::Ready => {}
            Report::Busy => self.activity = Some(Activity::Busy),
            Report::Idle => self.activity = Some(Activity::Idle),
            Report::Title { title } => self.title = Some(title.clone()),
            Report::Progress { percent } => self.progress = Some(*percent),
        }
        before != *self
    }
}

/// What somebody presented with a report.
#[derive(Debug, Clone, Copy)]
pub struct Presented<'a> {
    /// The session's id, or that of one of its launches.
    pub session: &'a str,
    /// The launch's secret.
    pub token: Option<&'a str>,
}

/// Whether a report is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is.
    Believed {
        /// The launch that it comes from.
        session: SessionId,
    },
    /// It is not.
    Refused(Disbelief),
}

/// Why a report is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disbelief {
    /// No token.
    #[error("a report needs the token of its launch, which is in the agent's environment")]
    NoToken,
    /// There is no such session.
    #[error("there is no session {0:?}")]
    UnknownSession(String),
    /// The launch has ended, or is to end.
    #[error("the launch {launch} has ended, or is about to: it is too late for a report")]
    Spent {
        /// Whose token it is.
        launch: SessionId,
    },
    /// The launch was not let run yet.
    #[error("the launch {launch} has not begun")]
    TooEarly {
        /// Whose token it is.
        launch: SessionId,
    },
    /// The token is another session's.
    #[error("the token belongs to another session, not to {0:?}")]
    Foreign(String),
    /// The token is nobody's, or that of a session which is no longer on record.
    #[error("the token belongs to no launch that is on record")]
    UnknownToken,
}

/// Judges a report by who brings it.
pub fn judge(world: &World, presented: Presented<'_>) -> Verdict {
    let Some(token) = presented.token else { return Verdict::Refused(Disbelief::NoToken) };
    let named = presented.session;
    let Some(base) = SessionId::parse(named).ok().filter(|id| world.knows(id)) else {
        return Verdict::Refused(Disbelief::UnknownSession(named.to_owned()));
    };
    let Some(bearer) = world.sessions().find(|session| session.launch.token.is(token)) else {
        return Verdict::Refused(Disbelief::UnknownToken);
    };
    let launch = bearer.id.clone();
    if bearer.is_stop_wanted() || bearer.has_ended() {
        Verdict::Refused(Disbelief::Spent { launch })
    } else if !launch.is_kin_of(&base) {
        Verdict::Refused(Disbelief::Foreign(named.to_owned()))
    } else if !bearer.is_believed() {
        Verdict::Refused(Disbelief::TooEarly { launch })
    } else {
        Verdict::Believed { session: launch }
    }
}

#[cfg(test)]
mod tests;
