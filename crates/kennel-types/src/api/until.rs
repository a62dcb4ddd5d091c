//! How long a client waits for a new session.

use serde::{Deserialize, Serialize};

/// How far a session must be before the daemon responds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Until {
    /// It is on record, and queued or running.
    Accepted,
    /// It runs.
    #[default]
    Started,
    /// It is ready, if readiness is checked; or it has ended.
    Ready,
    /// It has ended.
    Over,
}

impl Until {
    /// Returns the name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
