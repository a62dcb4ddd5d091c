//! Error responses.

use serde::{Deserialize, Serialize};

/// An error response: problem details as in RFC 9457.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProblemDetails {
    /// The type of the problem: `urn:kennel:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short description of the type, the same for all problems of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong in this request, for people.
    pub detail: String,
    /// The type for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`,
    /// `gone`, `internal`, … Stable.
    pub code: String,
    /// What to do about it, if there is a suggestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
