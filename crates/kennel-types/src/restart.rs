//! Whether a session that has ended is launched again by itself.

use serde::{Deserialize, Serialize};

/// What is wanted when a launch has failed. Written as `never`, `on-failure`, `on-failure:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "policy")]
pub enum Restart {
    /// Nothing.
    #[default]
    Never,
    /// Another launch.
    OnFailure {
        /// So often at most, however long it ran in between; none: for ever.
        most: Option<u32>,
    },
}

/// Text that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no restart policy: say never, on-failure or on-failure:N, with N from 1 on")]
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

/// How the next launch of a session stands, in its newest one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "relaunch")]
pub enum RelaunchState {
    /// Nothing was decided.
    #[default]
    Undecided,
    /// It will be, after a pause.
    Pending,
    /// It was.
    Launched,
    /// Somebody wanted the end: it will not, whatever the policy says.
    CalledOff {
        /// Who, or what.
        by: String,
    },
}
