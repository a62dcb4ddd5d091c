//! The reports of an agent about itself, and whether they are authentic.
//!
//! Only the token of the live launch is accepted. A refused report changes nothing.

use kennel_types::{AgentActivity, AgentReport, Percent, SessionId, Title};
use serde::{Deserialize, Serialize};

use crate::world::World;

#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    pub activity: Option<AgentActivity>,
    pub title: Option<Title>,
    pub progress: Option<Percent>,
}

impl Reported {
    /// Stores a report. Returns whether it changed anything.
    pub(crate) fn update(&mut self, report: &AgentReport) -> bool {
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

#[derive(Debug, Clone, Copy)]
pub struct ReportCredentials<'a> {
    /// The session's id, or that of one of its launches.
    pub session: &'a str,
    pub token: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportRefusal {
    #[error("a report needs the token of its launch, which is in the agent's environment")]
    NoToken,
    #[error("there is no session {0:?}")]
    UnknownSession(String),
    #[error("the launch {launch} has ended or is being stopped: it is too late for a report")]
    Spent { launch: SessionId },
    #[error("the launch {launch} has not begun")]
    TooEarly { launch: SessionId },
    #[error("the token belongs to another session, not to {0:?}")]
    Foreign(String),
    #[error("the token belongs to no launch that is on record")]
    UnknownToken,
}

/// Returns the launch that a report comes from, if that is live and the report is authentic.
pub fn judge(world: &World, presented: ReportCredentials<'_>) -> Result<SessionId, ReportRefusal> {
    let token = presented.token.ok_or(ReportRefusal::NoToken)?;
    let named = presented.session;
    let known = SessionId::parse(named).ok().filter(|id| world.knows(id));
    let base = known.ok_or_else(|| ReportRefusal::UnknownSession(named.to_owned()))?;
    let bearer = world.sessions().find(|session| session.launch.token.is(token));
    let bearer = bearer.ok_or(ReportRefusal::UnknownToken)?;
    let launch = bearer.id.clone();
    if bearer.is_stop_wanted() || bearer.has_ended() {
        Err(ReportRefusal::Spent { launch })
    } else if !launch.is_same_session(&base) {
        Err(ReportRefusal::Foreign(named.to_owned()))
    } else if !bearer.accepts_reports() {
        Err(ReportRefusal::TooEarly { launch })
    } else {
        Ok(launch)
    }
}

#[cfg(test)]
mod tests;
