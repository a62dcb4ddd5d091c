//! Why a request is refused.

use serde::{Deserialize, Serialize};

/// What went wrong: problem details, as RFC 9457 has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// An address for this kind of problem: `urn:kennel:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words: the same for all of its kind.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What was wrong this time, for people.
    pub detail: String,
    /// The kind for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`, `gone`, `internal`, …
    /// Stable.
    pub code: String,
    /// What to do, if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
