//! One thing that was looked at.

use serde::Serialize;

/// How good it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingState {
    /// As it should be.
    Good,
    /// Something is missing that Kennel can do without.
    Fair,
    /// Something will fail.
    Bad,
}

/// One thing that was looked at, and what was seen.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// What was looked at; stable, for programs.
    pub(crate) id: &'static str,
    /// How good it is.
    pub(crate) state: FindingState,
    /// What was seen, for people.
    pub(crate) found: String,
}

impl Finding {
    pub(crate) fn new(id: &'static str, state: FindingState, found: impl Into<String>) -> Self {
        Self { id, state, found: found.into() }
    }
}
