//! The result of one check.

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingState {
    Good,
    /// Something optional is missing.
    Fair,
    /// Something will fail.
    Bad,
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    /// The name of the check, which is stable.
    pub(crate) id: &'static str,
    pub(crate) state: FindingState,
    /// The result as text.
    pub(crate) found: String,
}

impl Finding {
    pub(crate) fn new(id: &'static str, state: FindingState, found: impl Into<String>) -> Self {
        Self { id, state, found: found.into() }
    }
}
