//! Paginated lists of sessions.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::session::Phase;
use crate::view::SessionView;

/// The maximum and default number of sessions on a page.
const MAX_PAGE_SIZE: usize = 1000;

/// Selects the sessions to list. A session must match every given field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Whether to include sessions that have ended.
    pub all: bool,
    /// Only sessions in this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Only sessions with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only sessions with this idempotency key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Only prompts to this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Only sessions of this plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Only sessions that this session started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The order of the list. The default is `oldest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<ListOrder>,
    /// The maximum number of sessions on a page, from 1 to 1,000. The default is 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub limit: Option<usize>,
    /// Only sessions after this one: the `next` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionId>,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ListOrder {
    /// The oldest sessions first.
    Oldest,
    /// The newest sessions first.
    Newest,
}

/// One page of a list of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionView>,
    /// The `after` of the next page. Null on the last page.
    pub next: Option<SessionId>,
}

/// A page size that is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid limit {0}: expected 1 to {MAX_PAGE_SIZE}")]
pub struct PageLimitError(usize);

impl ListRequest {
    /// Checks the page size.
    ///
    /// # Errors
    /// It is out of range.
    pub fn check(&self) -> Result<(), PageLimitError> {
        match self.limit {
            Some(limit) if !(1..=MAX_PAGE_SIZE).contains(&limit) => Err(PageLimitError(limit)),
            _ => Ok(()),
        }
    }

    /// Returns the maximum number of sessions on the page.
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.limit.unwrap_or(MAX_PAGE_SIZE)
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
