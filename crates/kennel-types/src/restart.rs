//! The restart policy of a session.

use serde::{Deserialize, Serialize};

/// What to do when a launch failed. Written as `never`, `on-failure`, `on-failure:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "policy")]
pub enum Restart {
    /// Nothing.
    #[default]
    Never,
    /// Launch the session again.
    OnFailure {
        /// The maximum number of restarts. Null: no limit.
        most: Option<u32>,
    },
}

/// A text that is not a restart policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid restart policy {0:?}: expected never, on-failure or on-failure:N with N from 1")]
pub struct RestartError(String);

impl std::str::FromStr for Restart {
    type Err = RestartError;

    fn from_str(text: &str) -> Result<Self, RestartError> {
        let wrong = || RestartError(text.to_owned());
        match text.split_once(':') {
            None if text == "never" => Ok(Self::Never),
            None if text == "on-failure" => Ok(Self::OnFailure { most: None }),
            Some(("on-failure", most)) if most.bytes().all(|byte| byte.is_ascii_digit()) => {
                let most = most.parse().ok().filter(|most| *most > 0).ok_or_else(wrong)?;
                Ok(Self::OnFailure { most: Some(most) })
            }
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::OnFailure { most: None } => f.write_str("on-failure"),
            Self::OnFailure { most: Some(most) } => write!(f, "on-failure:{most}"),
        }
    }
}

/// Whether another launch follows the latest one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "relaunch")]
pub enum RelaunchState {
    /// Not decided yet.
    #[default]
    Undecided,
    /// Another launch follows after a pause.
    Pending,
    /// Another launch was started.
    Launched,
    /// A stop cancelled the restart, regardless of the policy.
    CalledOff {
        /// The name of the caller, or the cause.
        by: String,
    },
}
