//! What an agent tells of itself, and whether it is believed.
//!
//! Only the launch that lives now is, by its token. A report that is refused changes nothing, and nobody is
//! ended for it.

use kennel_types::{AgentActivity, AgentReport, Percent, SessionId, Title};
use serde::{Deserialize, Serialize};

use crate::world::World;

/// What an agent told last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    /// Whether it works.
    pub activity: Option<AgentActivity>,
    /// What it is about.
    pub title: Option<Title>,
    /// How far it is.
    pub progress: Option<Percent>,
}

impl Reported {
    /// Whether that was news.
    pub(crate) fn take(&mut self, report: &AgentReport) -> bool {
        let before = self.clone();
        match report {
            AgentReport::Ready => {}
            AgentReport::Busy => self.activity = Some(AgentActivity::Busy),
            AgentReport::Idle => self.activity = Some(AgentActivity::Idle),
            AgentReport::Title { title } => self.title = Some(title.clone()),
            AgentReport::Progress { percent } => self.progress = Some(*percent),
        }
        before != *self
    }
}

/// What somebody presented with a report.
#[derive(Debug, Clone, Copy)]
pub struct ReportCredentials<'a> {
    /// The session's id, or that of one of its launches.
    pub session: &'a str,
    /// The launch's secret.
    pub token: Option<&'a str>,
}

/// Whether a report is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ReportDecision {
    /// It is.
    Believed {
        /// The launch that it comes from.
        session: SessionId,
    },
    /// It is not.
    Refused(ReportRefusal),
}

/// Why a report is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportRefusal {
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
pub fn judge(world: &World, presented: ReportCredentials<'_>) -> ReportDecision {
    let Some(token) = presented.token else {
        return ReportDecision::Refused(ReportRefusal::NoToken);
    };
    let named = presented.session;
    let Some(base) = SessionId::parse(named).ok().filter(|id| world.knows(id)) else {
        return ReportDecision::Refused(ReportRefusal::UnknownSession(named.to_owned()));
    };
    let Some(bearer) = world.sessions().find(|session| session.launch.token.is(token)) else {
        return ReportDecision::Refused(ReportRefusal::UnknownToken);
    };
    let launch = bearer.id.clone();
    if bearer.is_stop_wanted() || bearer.has_ended() {
        ReportDecision::Refused(ReportRefusal::Spent { launch })
    } else if !launch.is_same_session(&base) {
        ReportDecision::Refused(ReportRefusal::Foreign(named.to_owned()))
    } else if !bearer.is_believed() {
        ReportDecision::Refused(ReportRefusal::TooEarly { launch })
    } else {
        ReportDecision::Believed { session: launch }
    }
}

#[cfg(test)]
mod tests;
