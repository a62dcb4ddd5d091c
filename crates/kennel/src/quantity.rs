//! Parses and formats durations, sizes and names.

use std::time::Duration;

use kennel_keeper::journal::MIN_LIMIT;

/// Parses a duration: `10`, `10s`, `500ms`, `2m`, `1h`, `7d`, `1.5s`, or several units: `1h30m`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    kennel_types::parse_time(text).map_err(|error| error.to_string())
}

/// Parses a lease: a duration, or `off` for none.
pub(crate) fn parse_lease(text: &str) -> Result<Lease, String> {
    match text {
        "off" => Ok(Lease(None)),
        text => parse_time(text)
            .map(|time| Lease(Some(time)))
            .map_err(|error| format!("{error}; use off for no limit")),
    }
}

/// How long a session keeps running without a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease(pub(crate) Option<Duration>);

/// Parses a size: `1000`, `64K`, `64M`, `1.5G`, optionally followed by `B` or `iB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("invalid size {text:?}: expected for example 512K, 64M or 1G");
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let power = match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(wrong()),
    };
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * 1024_f64.powi(power);
    if bytes >= 9e18 {
        return Err(format!("invalid size {text:?}: it is too large, the limit is 8000000T"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    Ok(bytes as u64)
}

/// Parses a memory limit. 0 is refused because it could mean no memory or no limit.
pub(crate) fn parse_memory(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        0 => Err(format!(
            "invalid memory limit {text:?}: expected for example 512M or 4G; omit the flag for no limit"
        )),
        bytes => Ok(bytes),
    }
}

pub(crate) fn parse_pids(text: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        format!(
            "invalid process limit {text:?}: expected a number of at least 1, for example 500; omit the \
             flag for no limit"
        )
    })
}

/// Parses a limit on the output; a journal needs a minimum.
pub(crate) fn parse_output_limit(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        bytes if bytes < MIN_LIMIT => Err(format!(
            "invalid output limit {text:?}: it must be at least {} ({MIN_LIMIT} bytes)",
            size(MIN_LIMIT)
        )),
        bytes => Ok(bytes),
    }
}

/// Parses a number of cores (`0.5`, `2`) into thousandths.
pub(crate) fn parse_cores(text: &str) -> Result<u32, String> {
    let wrong = || {
        format!(
            "invalid CPU limit {text:?}: expected a number of cores, for example 0.5 or 2; omit the flag \
             for no limit"
        )
    };
    let cores = text.parse::<f64>().map_err(|_| wrong())? * 1000.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    if (1.0..=1e9).contains(&cores) { Ok(cores.round() as u32) } else { Err(wrong()) }
}

pub(crate) fn parse_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let valid_start = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) && valid_start {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 64 letters, digits, - _ or ., starting with a letter or digit".into())
    }
}

/// Parses the name of a new session, which must not look like an id.
pub(crate) fn parse_new_name(text: &str) -> Result<String, String> {
    if kennel_types::looks_like_id(text) {
        return Err("this looks like a session id; choose another name".into());
    }
    parse_name(text)
}

/// Parses a reference to a session: a name, an id, or a prefix of an id.
pub(crate) fn parse_session(text: &str) -> Result<String, String> {
    parse_name(text).map_err(|_| format!("invalid session {text:?}: expected a name or an id"))
}

pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
    let mut number = bytes as f64;
    while number >= 1024.0 && unit + 1 < UNITS.len() {
        number /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{number:.1} {}", UNITS[unit]),
    }
}

/// Formats a duration with at most two units.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds == 0 && time.subsec_millis() > 0 {
        return format!("{}ms", time.subsec_millis());
    }
    if seconds < 10 && time.subsec_millis() > 0 {
        return format!("{:.1}s", time.as_secs_f64());
    }
    let units = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let first = units.iter().position(|(number, _)| *number > 0).unwrap_or(units.len() - 1);
    let shown = units.iter().skip(first).take(2).enumerate();
    let shown = shown.filter(|(at, (number, _))| *at == 0 || *number > 0);
    shown.map(|(_, (number, unit))| format!("{number}{unit}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_an_output_limit_below_the_minimum() {
        assert_eq!(parse_output_limit("128K"), Ok(MIN_LIMIT));
        assert_eq!(parse_output_limit("64M"), Ok(64 << 20));
        for text in ["0", "1K", "127.9K", "131071"] {
            let error = parse_output_limit(text).unwrap_err();
            assert!(error.contains(text) && error.contains("128.0 KiB (131072 bytes)"), "{error}");
        }
        assert!(parse_output_limit("lots").unwrap_err().contains("invalid size"));
    }

    #[test]
    fn parses_durations() {
        for (text, milliseconds) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1.5s", 1500),
            ("0", 0),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("36500d", 3_153_600_000_000),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in
            ["", "s", "-1", "-1s", "1y", "10 s", "1e9", "..", "1h30", "30m1h", "1m1m", "1h m"]
        {
            let error = parse_time(text).unwrap_err();
            assert!(error.contains(&format!("invalid duration {text:?}")), "{error}");
        }
        for text in ["99999999999999999999", "99999999999999999999h", "36501d", "36500d1s"] {
            let error = parse_time(text).unwrap_err();
            assert!(error.contains("the maximum is 36500d"), "{error}");
        }
        assert_eq!(parse_lease("off"), Ok(Lease(None)));
        assert_eq!(parse_lease("1m"), Ok(Lease(Some(Duration::from_secs(60)))));
        assert!(parse_lease("never").unwrap_err().ends_with("7d; use off for no limit"));
    }

    #[test]
    fn parses_sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("1000", 1000),
            ("64K", 65536),
            ("64kb", 65536),
            ("1.5MiB", 1_572_864),
            ("1g", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "-1", "1X", "1 M", "1e3", "99999999999T", "i", "5ibb"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_size("99999999999T").unwrap_err().contains("too large"));
    }

    #[test]
    fn refuses_a_limit_of_zero_with_an_example() {
        let refusals = ["0", "0M", "-3", "x"].map(parse_memory).map(Result::unwrap_err);
        let refusals = refusals
            .into_iter()
            .chain(["0", "-3", "1.5", ""].map(parse_pids).map(Result::unwrap_err));
        let refusals = refusals.chain(["0", "-1", "x"].map(parse_cores).map(Result::unwrap_err));
        for error in refusals {
            assert!(error.contains("expected"), "{error}");
        }
        assert_eq!(parse_memory("1M"), Ok(1 << 20));
        assert_eq!(parse_pids("500"), Ok(500));
        assert_eq!(parse_cores("0.5"), Ok(500));
    }

    #[test]
    fn refuses_invalid_names() {
        assert_eq!(parse_name("fix-login.2"), Ok("fix-login.2".to_owned()));
        for text in ["", "a/b", "a b", "-x", ".", "ü"] {
            assert!(parse_name(text).is_err(), "{text}");
            assert!(parse_session(text).is_err(), "{text}");
        }
    }

    #[test]
    fn formats_sizes_and_durations() {
        let sizes = [0, 1023, 1024, 1_572_864, u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "16777216.0 TiB"]);
        let spans =
            [0, 300, 9_900, 10_500, 60_000, 90_000, 3_600_000, 5_400_000, 86_400_000, 100_000_000];
        assert_eq!(
            spans.map(|ms| span(Duration::from_millis(ms))),
            ["0s", "300ms", "9.9s", "10s", "1m", "1m 30s", "1h", "1h 30m", "1d", "1d 3h"]
        );
    }
}
