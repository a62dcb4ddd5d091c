//! Points in time on the wire: RFC 3339 in UTC, from and to milliseconds since 1970.

use std::time::{Duration, UNIX_EPOCH};

/// 9999-12-31T23:59:59.999Z: RFC 3339 has four digits for the year.
const LAST_MS: u64 = 253_402_300_799_999;

/// A text that is not a valid time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid time {0:?}: expected for example 2026-03-01T14:05:09.250Z")]
pub struct ParseTimeError(String);

/// Formats a time as RFC 3339 in UTC with milliseconds: `2026-03-01T14:05:09.250Z`. A time after
/// the year 9999 becomes the last millisecond of that year.
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(ms.min(LAST_MS));
    humantime::format_rfc3339_millis(time).to_string()
}

/// Parses the result of [`rfc3339`], with any number of digits after the second, or none. Only UTC,
/// written as `Z`.
///
/// # Errors
/// The text is not such a time, or the time is before 1970.
pub fn parse_rfc3339(text: &str) -> Result<u64, ParseTimeError> {
    let wrong = || ParseTimeError(text.to_owned());
    // humantime also accepts `+00:00`, an empty fraction and a leap second.
    if !text.ends_with('Z') || text.ends_with(".Z") || text.get(17..19) == Some("60") {
        return Err(wrong());
    }
    let time = humantime::parse_rfc3339(text).map_err(|_| wrong())?;
    let since_1970 = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?;
    u64::try_from(since_1970.as_millis()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formats_and_parses_known_times() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (1_767_225_600_000, "2026-01-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(ms), text);
            assert_eq!(parse_rfc3339(text), Ok(ms));
        }
        assert_eq!(rfc3339(u64::MAX), rfc3339(LAST_MS));
    }

    #[test]
    fn digits_after_the_second_may_be_many_or_none() {
        let whole = parse_rfc3339("2026-03-01T14:05:09Z").unwrap();
        assert_eq!(parse_rfc3339("2026-03-01T14:05:09.2Z"), Ok(whole + 200));
        assert_eq!(parse_rfc3339("2026-03-01T14:05:09.123456Z"), Ok(whole + 123));
    }

    #[test]
    fn refuses_invalid_times() {
        for text in [
            "",
            "now",
            "2026-03-01",
            "2026-03-01T14:05:09",
            "2026-03-01T14:05:09+01:00",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "+026-01-01T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-01-01-01T00:00:00Z",
            "2026-ü1-01T00:00:00Z",
        ] {
            assert!(parse_rfc3339(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_time_survives_a_round_trip(ms in 0..=LAST_MS) {
            prop_assert_eq!(parse_rfc3339(&rfc3339(ms)), Ok(ms));
        }

        #[test]
        fn later_sorts_later(a in 0..=LAST_MS, b in 0..=LAST_MS) {
            prop_assert_eq!(rfc3339(a).cmp(&rfc3339(b)), a.cmp(&b));
        }
    }
}
