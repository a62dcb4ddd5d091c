//! Durations as users write them.

use std::time::Duration;

/// The longest duration: 100 years. More is a typing error, and overflows clocks.
const LONGEST: Duration = Duration::from_secs(36_500 * 86_400);

/// A text that is not a valid duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The text has another form.
    #[error("invalid duration {0:?}: expected for example 500ms, 10s, 2m, 1h or 7d")]
    NotATime(String),
    /// The duration is too long.
    #[error("invalid duration {0:?}: the maximum is 36500d (100 years)")]
    TooLong(String),
}

/// Parses a duration: `10`, `10s`, `500ms`, `2m`, `1h`, `7d`, `1.5s`; or several, the largest unit
/// first: `1h30m`.
///
/// # Errors
/// The text has another form, or the duration is too long.
pub fn parse_time(text: &str) -> Result<Duration, TimeError> {
    let wrong = || TimeError::NotATime(text.to_owned());
    let mut total = 0.0;
    let mut rest = text;
    let mut last = f64::INFINITY;
    loop {
        let (number, after) = split(rest);
        let (unit, next) = after.split_at(after.find(is_numeric).unwrap_or(after.len()));
        let seconds = match unit {
            "" if rest.len() == text.len() => 1.0,
            "s" => 1.0,
            "ms" => 0.001,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        if seconds >= last {
            return Err(wrong());
        }
        total += number.parse::<f64>().map_err(|_| wrong())? * seconds;
        if next.is_empty() {
            break;
        }
        (rest, last) = (next, seconds);
    }
    match Duration::try_from_secs_f64(total) {
        Ok(time) if time <= LONGEST => Ok(time),
        _ => Err(TimeError::TooLong(text.to_owned())),
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !is_numeric(c)).unwrap_or(text.len()))
}

fn is_numeric(c: char) -> bool {
    c == '.' || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_durations_with_and_without_units() {
        for (text, milliseconds) in [
            ("10", 10_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1.5s", 1500),
            ("0", 0),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("36500d", 3_153_600_000_000),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1", "1y", "10 s", "1e9", "..", "1h30", "30m1h", "1m1m"] {
            assert_eq!(parse_time(text), Err(TimeError::NotATime(text.to_owned())));
        }
        for text in ["99999999999999999999h", "36501d", "36500d1s"] {
            assert_eq!(parse_time(text), Err(TimeError::TooLong(text.to_owned())));
        }
    }
}
