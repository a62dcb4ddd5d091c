//! Names in a plan.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most characters of a name: the key of an ask has two of them in it.
const LONGEST: usize = 40;

/// The name of a plan, a stage, an agent in it, or an input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name: that is 1 to {LONGEST} letters, digits, - or _, and starts with a letter or digit"
)]
pub struct NameError(String);

impl Name {
    /// Takes a name.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        if starts_well && text.len() <= LONGEST && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError(text.to_owned()))
        }
    }

    /// As text.
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

/// Where an agent is in its plan: written `STAGE.AGENT`, which no other agent of the plan is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Place {
    /// The stage.
    pub stage: Name,
    /// The agent in it.
    pub agent: Name,
}

/// Text that is no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no place in a plan: that is a stage and an agent, written STAGE.AGENT")]
pub struct PlaceError(String);

impl Place {
    /// Takes a place.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let wrong = || PlaceError(text.to_owned());
        let (stage, agent) = text.split_once('.').ok_or_else(wrong)?;
        let name = |text| Name::parse(text).map_err(|_| wrong());
        Ok(Self { stage: name(stage)?, agent: name(agent)? })
    }

    /// The key under which the agent is asked for the nth time: whoever asks twice, since nobody knows whether the first
    /// request arrived, gets the same session.
    #[must_use]
    pub fn ask_key(&self, plan: &str, ask: u32) -> String {
        format!("plan:{plan}:{self}:{ask}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.stage, self.agent))
    }
}

impl TryFrom<String> for Place {
    type Error = PlaceError;

    fn try_from(text: String) -> Result<Self, PlaceError> {
        Self::parse(&text)
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::check_key;

    #[test]
    fn a_name_is_short_and_plain() {
        for right in ["a", "code-base_2", "7", &"x".repeat(40)] {
            assert_eq!(Name::parse(right).unwrap().as_str(), right);
        }
        for wrong in ["", "-a", "_a", "a.b", "a b", "ü", "a\n", "{{", &"x".repeat(41)] {
            let message = Name::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("is no name: that is 1 to 40 letters"), "{message}");
        }
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let place = Place::parse("research.code-base").unwrap();
        assert_eq!(place.to_string(), "research.code-base");
        let json = serde_json::to_string(&place).unwrap();
        assert_eq!(json, "\"research.code-base\"");
        assert_eq!(serde_json::from_str::<Place>(&json).unwrap(), place);
        for wrong in ["", "a", ".a", "a.", "a.b.c", "a. b"] {
            assert!(Place::parse(wrong).is_err(), "{wrong}");
            assert!(serde_json::from_str::<Place>(&format!("{wrong:?}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_ask_has_a_key_of_its_own() {
        let place = Place::parse(&format!("{0}.{0}", "x".repeat(40))).unwrap();
        let keys = [1, u32::MAX].map(|ask| place.ask_key("0smkht2797kx", ask));
        assert!(keys[0] != keys[1] && keys.iter().all(|key| check_key(key).is_ok()), "{keys:?}");
    }
}
