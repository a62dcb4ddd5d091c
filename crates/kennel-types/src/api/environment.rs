//! The environment of a command, in JSON.

use std::ffi::OsString;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::OsText;

/// The default `PATH`.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An exact, ordered environment: an object of names and values, or a list of pairs if a name or
/// value is not valid UTF-8 or a name occurs twice. `Debug` does not show the values, which may be
/// secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(pub Vec<(OsText, OsText)>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} variables", self.0.len())
    }
}

impl FromIterator<(OsText, OsText)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsText, OsText)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        let text = |text: OsString| OsText::from(text.as_os_str());
        variables.into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }
}

impl IntoIterator for Environment {
    type Item = (OsText, OsText);
    type IntoIter = std::vec::IntoIter<(OsText, OsText)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Environment {
    /// Returns the default environment of a request: only a `PATH` for the programs of the system.
    pub(crate) fn minimal() -> Self {
        Self(vec![(OsText::Plain("PATH".to_owned()), OsText::Plain(SYSTEM_PATH.to_owned()))])
    }

    /// Returns the pairs if an object can hold them: all are UTF-8, and no name occurs twice.
    fn plain(&self) -> Option<Vec<(&str, &str)>> {
        let pairs = self.0.iter().map(|pair| match pair {
            (OsText::Plain(name), OsText::Plain(value)) => Some((name.as_str(), value.as_str())),
            _ => None,
        });
        pairs.collect::<Option<_>>().filter(|_| self.repeated().is_none())
    }

    /// Returns a name that occurs twice.
    fn repeated(&self) -> Option<&str> {
        let names = self.0.iter().filter_map(|(name, _)| match name {
            OsText::Plain(name) => Some(name.as_str()),
            OsText::Bytes { .. } => None,
        });
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names.windows(2).find(|two| two[0] == two[1]).map(|two| two[0])
    }
}

impl Serialize for Environment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some(pairs) = self.plain() else { return self.0.serialize(to) };
        let mut map = to.serialize_map(Some(pairs.len()))?;
        for (name, value) in pairs {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Environment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(EnvironmentVisitor)
    }
}

struct EnvironmentVisitor;

impl<'de> Visitor<'de> for EnvironmentVisitor {
    type Value = Environment;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of names and values, or a list of pairs of them")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Environment, A::Error> {
        let mut all: Vec<(OsText, OsText)> =
            Vec::with_capacity(map.size_hint().unwrap_or(0).min(4096));
        while let Some((name, value)) = map.next_entry::<String, OsText>()? {
            all.push((OsText::Plain(name), value));
        }
        let read = Environment(all);
        match read.repeated() {
            Some(name) => Err(A::Error::custom(format!("duplicate variable {name:?} in env"))),
            None => Ok(read),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Environment, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pairs: &[(&str, &str)]) -> Environment {
        let text = |text: &str| OsText::Plain(text.to_owned());
        pairs.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn prefers_an_object_and_survives_a_round_trip() {
        let odd =
            Environment(vec![(OsText::Plain("A".into()), OsText::Bytes { hex: "ff".into() })]);
        for (env, json) in [
            (plain(&[("B", "1"), ("A", "")]), r#"{"B":"1","A":""}"#),
            (plain(&[("A", "1"), ("A", "2")]), r#"[["A","1"],["A","2"]]"#),
            (odd, r#"[["A",{"hex":"ff"}]]"#),
            (plain(&[]), "{}"),
        ] {
            assert_eq!(serde_json::to_string(&env).unwrap(), json);
            assert_eq!(serde_json::from_str::<Environment>(json).unwrap(), env);
        }
    }

    #[test]
    fn refuses_a_duplicate_name_and_hides_values() {
        let error = serde_json::from_str::<Environment>(r#"{"A":"x","A":"y"}"#).unwrap_err();
        assert!(error.to_string().contains("duplicate variable \"A\" in env"), "{error}");
        assert!(serde_json::from_str::<Environment>("3").is_err());
        assert_eq!(format!("{:?}", plain(&[("KEY", "hunter2")])), "1 variables");
    }
}
