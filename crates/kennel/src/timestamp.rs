//! Timestamps: RFC 3339 for programs, an age for people.

use std::time::{Duration, SystemTime};

use kennel_types::timestamp::parse_rfc3339;
pub(crate) use kennel_types::timestamp::rfc3339 as format;

use crate::quantity::parse_time;

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Parses RFC 3339, or a part of it: a day alone, or a time without a zone (UTC) or seconds.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let (day, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00:00"));
    let (clock, ahead) = split_zone(time)?;
    let seconds = if clock.matches(':').count() == 1 { ":00" } else { "" };
    let ms = parse_rfc3339(&format!("{day}T{clock}{seconds}Z")).ok()?;
    u64::try_from(i64::try_from(ms).ok()? - ahead * 1000).ok()
}

/// Splits a time into clock and offset from UTC in seconds.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let ahead =
        i64::from(hours.parse::<u8>().ok()?) * 3600 + i64::from(minutes.parse::<u8>().ok()?) * 60;
    Some((&time[..at], if time[at..].starts_with('-') { -ahead } else { ahead }))
}

/// Parses a time on the command line: an age (`10m`), or RFC 3339.
pub(crate) fn parse_since(text: &str) -> Result<u64, String> {
    if let Some(ms) = parse(text) {
        return Ok(ms);
    }
    let wrong =
        || format!("invalid time {text:?}: expected for example 10m (ago) or 2026-01-31T12:00:00Z");
    let ago = parse_time(text).map_err(|_| wrong())?;
    Ok(now_ms().saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
}

/// Formats the age of an RFC 3339 time with one unit.
pub(crate) fn age(text: &str, now: u64) -> String {
    let Some(then) = parse(text) else { return "?".to_owned() };
    let seconds = Duration::from_millis(now.saturating_sub(then)).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_survive_a_round_trip() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
        ] {
            assert_eq!(format(ms), text);
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn parses_zones_fractions_and_days() {
        let noon = parse("2026-01-31T12:00:00Z");
        assert!(noon.is_some());
        for text in [
            "2026-01-31T14:00:00+02:00",
            "2026-01-31t06:30:00.000000-05:30",
            "2026-01-31 12:00",
            "2026-01-31T12:00:00",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        assert_eq!(parse("2026-01-31"), noon.map(|ms| ms - 43_200_000));
        assert_eq!(parse("2026-01-31T12:00:00.5Z"), noon.map(|ms| ms + 500));
        for text in [
            "",
            "yesterday",
            "2026",
            "2026-13-01",
            "2026-01-01T25:00:00Z",
            "1969-01-01",
            "-1-1-1",
            "2026-01-01T1:+2:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn since_is_an_age_or_a_timestamp() {
        let hour_ago = parse_since("1h").unwrap();
        assert!((3_600_000..3_700_000).contains(&(now_ms() - hour_ago)));
        assert_eq!(parse_since("1970-01-02"), Ok(86_400_000));
        assert!(parse_since("soon").unwrap_err().contains("invalid time \"soon\""));
    }

    #[test]
    fn an_age_has_one_unit() {
        let now = 1_000_000_000_000;
        let age = |seconds: u64| age(&format(now - seconds * 1000), now);
        assert_eq!(
            [0, 59, 60, 3599, 3600, 172_799, 172_800].map(age),
            ["0s", "59s", "1m", "59m", "1h", "47h", "2d"]
        );
        assert_eq!(super::age("nonsense", now), "?");
        assert_eq!(super::age(&format(now + 5000), now), "0s", "clocks differ");
    }
}
