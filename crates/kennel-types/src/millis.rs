//! Durations as numbers of milliseconds, for `#[serde(with)]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

fn number(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    number(*time).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// Optional durations.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, number};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(number).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(with = "super")]
        one: Duration,
        #[serde(default, with = "super::option")]
        other: Option<Duration>,
    }

    #[test]
    fn durations_are_milliseconds() {
        let read = |text: &str| serde_json::from_str::<Both>(text).unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(read(r#"{"one": 1000}"#), Both { one: second, other: None });
        assert_eq!(read(r#"{"one": 1000, "other": null}"#), Both { one: second, other: None });
        let both = Both { one: second, other: Some(second) };
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"one":1000,"other":1000}"#);
        assert!(serde_json::from_str::<Both>(r#"{"one": -1}"#).is_err());
    }
}
