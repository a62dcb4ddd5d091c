//! Durations as numbers of milliseconds, for `#[serde(with)]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration, or an optional one.
pub(crate) trait Millis: Sized {
    type Number: Serialize + for<'de> Deserialize<'de>;

    fn number(&self) -> Self::Number;
    fn from_number(number: Self::Number) -> Self;
}

impl Millis for Duration {
    type Number = u64;

    fn number(&self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }

    fn from_number(number: u64) -> Self {
        Self::from_millis(number)
    }
}

impl Millis for Option<Duration> {
    type Number = Option<u64>;

    fn number(&self) -> Option<u64> {
        self.map(|time| time.number())
    }

    fn from_number(number: Option<u64>) -> Self {
        number.map(Duration::from_millis)
    }
}

pub(crate) fn serialize<T: Millis, S: Serializer>(time: &T, to: S) -> Result<S::Ok, S::Error> {
    time.number().serialize(to)
}

pub(crate) fn deserialize<'de, T: Millis, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::Number::deserialize(from).map(T::from_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(with = "super")]
        one: Duration,
        #[serde(default, with = "super")]
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
