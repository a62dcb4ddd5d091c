//! Points in time: RFC 3339 for programs, an age for people.

use std::time::{Duration, SystemTime};

use crate::quantity::parse_time;

const DAY: i64 = 86_400;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// In RFC 3339, in UTC, with milliseconds.
pub(crate) fn format(ms: u64) -> String {
    let seconds = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// From RFC 3339, or something that begins like it: a day alone, a time without zone (then UTC).
pub(crate) fn parse(text: &str) -> Option<u64> {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, time),
        None => (text, "00:00:00Z"),
    };
    let mut parts = day.splitn(3, '-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let sound =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let (clock, zone) = split_zone(time)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = whole.splitn(3, ':').map(number);
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if !sound || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let ms = format!("{fraction:0<3}").get(..3).and_then(number)?;
    let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - zone;
    u64::try_from(seconds * 1000 + ms).ok()
}

/// A number of digits alone.
fn number(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// The clock, and how many seconds it is ahead of UTC.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let ahead = number(hours)? * 3600 + number(minutes)? * 60;
    Some((&time[..at], if time[at..].starts_with('-') { -ahead } else { ahead }))
}

/// Days since 1970 of a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March here, so that the leap day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// The inverse.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// A moment as the command line takes it: a time ago (`10m`), or RFC 3339.
pub(crate) fn parse_since(text: &str) -> Result<u64, String> {
    if let Some(ms) = parse(text) {
        return Ok(ms);
    }
    let wrong =
        || format!("{text:?} is no moment; write for instance 10m (ago) or 2026-01-31T12:00:00Z");
    let ago = parse_time(text).map_err(|_| wrong())?;
    Ok(now_ms().saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
}

/// How long ago a moment in RFC 3339 was, for people: one unit is enough.
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
    fn moments_survive_the_round_trip() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
        ] {
            assert_eq!(format(ms), text);
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        for day in (0..60_000).step_by(7) {
            assert_eq!(parse(&format(day * 86_400_000)), Some(day * 86_400_000));
        }
    }

    #[test]
    fn zones_fractions_and_days_alone_are_understood() {
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
    fn since_is_a_time_ago_or_a_moment() {
        let hour_ago = parse_since("1h").unwrap();
        assert!((3_600_000..3_700_000).contains(&(now_ms() - hour_ago)));
        assert_eq!(parse_since("1970-01-02"), Ok(86_400_000));
        assert!(parse_since("soon").unwrap_err().contains("\"soon\" is no moment"));
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
