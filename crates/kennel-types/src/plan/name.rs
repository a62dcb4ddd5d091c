//! The names in a plan.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The maximum length of a name. The idempotency key of an ask contains two names.
const MAX_LENGTH: usize = 40;

/// The name of a plan, a stage, an agent or an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// A text that is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid name {0:?}: expected 1 to {MAX_LENGTH} letters, digits, - or _, starting with a letter or digit"
)]
pub struct NameError(String);

impl Name {
    /// Parses a name.
    ///
    /// # Errors
    /// The text is not valid.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        if starts_well && text.len() <= MAX_LENGTH && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError(text.to_owned()))
        }
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// The path of an agent in its plan, written `STAGE.AGENT`. It is unique in the plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct AgentPath {
    /// The stage.
    pub stage: Name,
    /// The agent in the stage.
    pub agent: Name,
}

/// A text that is not the path of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid agent {0:?}: expected a stage and an agent, written STAGE.AGENT")]
pub struct AgentPathError(String);

impl AgentPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The text is not valid.
    pub fn parse(text: &str) -> Result<Self, AgentPathError> {
        let wrong = || AgentPathError(text.to_owned());
        let (stage, agent) = text.split_once('.').ok_or_else(wrong)?;
        let name = |text| Name::parse(text).map_err(|_| wrong());
        Ok(Self { stage: name(stage)?, agent: name(agent)? })
    }

    /// Returns the idempotency key of the nth ask of this agent. A repeated request gets the same
    /// session.
    #[must_use]
    pub fn ask_key(&self, plan: &str, ask: u32) -> String {
        format!("plan:{plan}:{self}:{ask}")
    }
}

impl fmt::Display for AgentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.stage, self.agent))
    }
}

impl TryFrom<String> for AgentPath {
    type Error = AgentPathError;

    fn try_from(text: String) -> Result<Self, AgentPathError> {
        Self::parse(&text)
    }
}

impl From<AgentPath> for String {
    fn from(path: AgentPath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::check_key;

    #[test]
    fn accepts_only_short_plain_names() {
        for right in ["a", "code-base_2", "7", &"x".repeat(40)] {
            assert_eq!(Name::parse(right).unwrap().as_str(), right);
        }
        for wrong in ["", "-a", "_a", "a.b", "a b", "ü", "a\n", "{{", &"x".repeat(41)] {
            let message = Name::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("expected 1 to 40 letters"), "{message}");
        }
    }

    #[test]
    fn a_path_survives_a_round_trip() {
        let path = AgentPath::parse("research.code-base").unwrap();
        assert_eq!(path.to_string(), "research.code-base");
        let json = serde_json::to_string(&path).unwrap();
        assert_eq!(json, "\"research.code-base\"");
        assert_eq!(serde_json::from_str::<AgentPath>(&json).unwrap(), path);
        for wrong in ["", "a", ".a", "a.", "a.b.c", "a. b"] {
            assert!(AgentPath::parse(wrong).is_err(), "{wrong}");
            assert!(serde_json::from_str::<AgentPath>(&format!("{wrong:?}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_ask_has_its_own_key() {
        let path = AgentPath::parse(&format!("{0}.{0}", "x".repeat(40))).unwrap();
        let keys = [1, u32::MAX].map(|ask| path.ask_key("0smkht2797kx", ask));
        assert!(keys[0] != keys[1] && keys.iter().all(|key| check_key(key).is_ok()), "{keys:?}");
    }
}
