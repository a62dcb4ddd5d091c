//! Points in time on the wire: RFC 3339 in UTC, from and to milliseconds since 1970.

const DAY_MS: u64 = 86_400_000;
/// 9999-12-31T23:59:59.999Z: RFC 3339 has four digits for the year.
const LAST_MS: u64 = 253_402_300_799_999;
/// Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that the leap day is the last.
const DAYS_BEFORE_1970: u64 = 719_468;
const DAYS_IN_400_YEARS: u64 = 146_097;

/// Text that is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no time: that looks like 2026-03-01T14:05:09.250Z")]
pub struct ParseTimeError(String);

/// As RFC 3339 in UTC with milliseconds: `2026-03-01T14:05:09.250Z`. What is too late for four digits of
/// a year becomes the last moment that is not.
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    let ms = ms.min(LAST_MS);
    let (year, month, day) = date_of(ms / DAY_MS);
    let rest = ms % DAY_MS;
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Takes what [`rfc3339`] gives, with any number of digits after the second, or none. Only UTC, `Z`.
///
/// # Errors
/// It is no such time, or one before 1970.
pub fn parse_rfc3339(text: &str) -> Result<u64, ParseTimeError> {
    parse(text).ok_or_else(|| ParseTimeError(text.to_owned()))
}

fn parse(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (time, milli) = match time.split_once('.') {
        Some((time, fraction)) => (time, milliseconds(fraction)?),
        None => (time, 0),
    };
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let right = year >= 1970 && hour < 24 && minute < 60 && second < 60;
    let days = if right { days_of(year, month, day)? } else { return None };
    Some(days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli)
}

/// Three numbers, each with exactly so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (place, digits) in found.iter_mut().zip(digits) {
        let part = parts.next().filter(|part| part.len() == digits)?;
        *place = number(part)?;
    }
    parts.next().is_none().then_some(found)
}

fn number(text: &str) -> Option<u64> {
    // `parse` alone would take a sign.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The first three digits of a fraction of a second.
fn milliseconds(fraction: &str) -> Option<u64> {
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let three = fraction.bytes().chain(*b"00").take(3);
    digits.then(|| three.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0')))
}

/// Year, month and day, this many days after 1970-01-01.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (era, day) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / (DAYS_IN_400_YEARS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March on have 153 days, and so have the next five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// The other way; nothing if there is no such day.
fn days_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (from_march, march_year) =
        if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let (era, of_era) = (march_year / 400, march_year % 400);
    let days = (153 * from_march + 2) / 5 + day - 1;
    let days = era * DAYS_IN_400_YEARS + 365 * of_era + of_era / 4 - of_era / 100 + days;
    let days = days - DAYS_BEFORE_1970;
    // The 31st of a month with 30 days would be the 1st of the next.
    (date_of(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_are_told_rightly() {
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
    fn what_is_no_time_is_refused() {
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
        fn any_moment_survives_the_round_trip(ms in 0..=LAST_MS) {
            prop_assert_eq!(parse_rfc3339(&rfc3339(ms)), Ok(ms));
        }

        #[test]
        fn later_sorts_later(a in 0..=LAST_MS, b in 0..=LAST_MS) {
            prop_assert_eq!(rfc3339(a).cmp(&rfc3339(b)), a.cmp(&b));
        }
    }
}
