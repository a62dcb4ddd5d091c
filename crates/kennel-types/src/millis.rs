//! Times as numbers of milliseconds, for `#[serde(with)]`.
//!
//! Rows of earlier versions have them as `{"secs": 1, "nanos": 0}`, which is read as well.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Milliseconds(u64),
    Parts { secs: u64, nanos: u32 },
}

impl Written {
    fn time(self) -> Duration {
        match self {
            Self::Milliseconds(number) => Duration::from_millis(number),
            // As many nanoseconds as there may be are no more than a few seconds.
            Self::Parts { secs, nanos } => {
                Duration::from_secs(secs).saturating_add(Duration::from_nanos(nanos.into()))
            }
        }
    }
}

fn number(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    number(*time).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    Written::deserialize(from).map(Written::time)
}

/// The same for a time that may be none.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, Written, number};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(number).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Written>::deserialize(from)?.map(Written::time))
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
    fn times_are_milliseconds_and_those_of_earlier_rows_are_read_too() {
        let read = |text: &str| serde_json::from_str::<Both>(text).unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(read(r#"{"one": 1000}"#), Both { one: second, other: None });
        assert_eq!(read(r#"{"one": 1000, "other": null}"#), Both { one: second, other: None });
        let parts =
            r#"{"one": {"secs": 1, "nanos": 0}, "other": {"secs": 0, "nanos": 1000000000}}"#;
        let both = read(parts);
        assert_eq!(both, Both { one: second, other: Some(second) });
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"{"one":1000,"other":1000}"#);
        assert!(serde_json::from_str::<Both>(r#"{"one": -1}"#).is_err());
    }
}
