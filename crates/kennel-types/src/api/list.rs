//! Lists of sessions, a page at a time.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::session::Phase;
use crate::view::SessionView;

/// The longest page, and how long it is if nobody says so.
const LONGEST_PAGE: usize = 1000;

/// Which sessions to list: those of which everything holds that is said here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Also those that are over.
    pub all: bool,
    /// In this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Asked for under this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Prompts of this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Parts of this plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Started by this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Which come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// At most so many: 1 to 1,000, which it is if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub limit: Option<usize>,
    /// Those that come after this one: what the page before has as `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionId>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Those that were asked for first.
    Oldest,
    /// Those that were asked for last.
    Newest,
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// Where the next page goes on: its `after`. None: that was the last.
    pub next: Option<SessionId>,
}

/// A page that nobody can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("limit {0} is none: a page has 1 to {LONGEST_PAGE} sessions")]
pub struct LimitError(usize);

impl ListRequest {
    /// Whether it makes sense.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), LimitError> {
        match self.limit {
            Some(limit) if !(1..=LONGEST_PAGE).contains(&limit) => Err(LimitError(limit)),
            _ => Ok(()),
        }
    }

    /// How many sessions the page has at most.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.limit.unwrap_or(LONGEST_PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_1_to_1000_sessions() {
        for (limit, fine) in [(0, false), (1, true), (1000, true), (1001, false)] {
            let request = ListRequest { limit: Some(limit), ..ListRequest::default() };
            assert_eq!(request.check().is_ok(), fine, "{limit}");
        }
    }
}
