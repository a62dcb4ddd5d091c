//! How the mock handles a request.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What the mock does with the requests that name this scenario.
///
/// In its text form it is the path segment after `/s/`. A suffix `@TAG` is allowed on each and
/// means nothing to the mock; it is logged, so that concurrent runs can distinguish their requests.
///
/// | text | meaning |
/// |---|---|
/// | `ok` | answer with a line of text and stop |
/// | `numbered` | the same, and each time with another number |
/// | `bash:NAME` | request the shell tool with this [command](crate::Commands), then answer |
/// | `bashbg:NAME` | the same as a background task, where the tool has such a thing |
/// | `err:CODE`, `err:CODE:raN` | always fail with this HTTP status (and `retry-after: N`) |
/// | `failN:TIMES:CODE` | fail that many times, then be `ok` |
/// | `hang` | take the request and never answer |
/// | `stall` | begin to stream an answer and never finish |
/// | `drop` | begin to stream an answer and close the connection |
/// | `slow:SECONDS` | wait, then be `ok` |
///
/// `stall` and `drop` are about streams: a request for an answer in one piece gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum Scenario {
    /// Answer with text.
    Ok,
    /// Answer with text that no other answer has.
    Numbered,
    /// Ask for the shell tool, then answer with text.
    Shell {
        /// The name of the command to run.
        command: String,
        /// Whether to ask for it as a background task.
        background: bool,
    },
    /// Fail every time.
    Error {
        /// The HTTP status to fail with.
        status: u16,
        /// The value of a `retry-after` header, in seconds.
        retry_after: Option<u32>,
    },
    /// Fail the first few times.
    FailFirst {
        /// How many requests fail.
        times: u32,
        /// The HTTP status to fail with.
        status: u16,
    },
    /// Never answer.
    Hang,
    /// Never finish answering.
    Stall,
    /// Close the connection in the middle of the answer.
    Drop,
    /// Answer late.
    Slow(Duration),
}

impl FromStr for Scenario {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Self, ParseScenarioError> {
        let bad = || ParseScenarioError(text.to_owned());
        let untagged = text.split_once('@').map_or(text, |(before, _)| before);
        let parts: Vec<&str> = untagged.split(':').collect();
        match parts[..] {
            ["ok"] => Some(Scenario::Ok),
            ["numbered"] => Some(Scenario::Numbered),
            ["bash", name] => shell(name, false),
            ["bashbg", name] => shell(name, true),
            ["err", code] => {
                status(code).map(|status| Scenario::Error { status, retry_after: None })
            }
            ["err", code, after] => status(code).and_then(|status| {
                let seconds = after.strip_prefix("ra")?.parse().ok()?;
                Some(Scenario::Error { status, retry_after: Some(seconds) })
            }),
            ["failN", times, code] => status(code).and_then(|status| {
                let times = times.parse().ok()?;
                Some(Scenario::FailFirst { times, status })
            }),
            ["hang"] => Some(Scenario::Hang),
            ["stall"] => Some(Scenario::Stall),
            ["drop"] => Some(Scenario::Drop),
            ["slow", seconds] => seconds
                .parse()
                .ok()
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .map(Scenario::Slow),
            _ => None,
        }
        .ok_or_else(bad)
    }
}

fn shell(name: &str, background: bool) -> Option<Scenario> {
    (!name.is_empty()).then(|| Scenario::Shell { command: name.to_owned(), background })
}

/// The status of an error.
fn status(code: &str) -> Option<u16> {
    code.parse().ok().filter(|code| (400..600).contains(code))
}

/// A text that names no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseScenarioError(String);

impl fmt::Display for ParseScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown scenario {:?}", self.0)
    }
}

impl Error for ParseScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Scenario {
        text.parse().unwrap()
    }

    #[test]
    fn parses_every_form() {
        assert_eq!(parse("ok"), Scenario::Ok);
        assert_eq!(parse("numbered@plan"), Scenario::Numbered);
        assert_eq!(
            parse("bash:sleep"),
            Scenario::Shell { command: "sleep".to_owned(), background: false }
        );
        assert_eq!(
            parse("bashbg:sleep"),
            Scenario::Shell { command: "sleep".to_owned(), background: true }
        );
        assert_eq!(parse("err:529"), Scenario::Error { status: 529, retry_after: None });
        assert_eq!(parse("err:429:ra7"), Scenario::Error { status: 429, retry_after: Some(7) });
        assert_eq!(parse("failN:2:500"), Scenario::FailFirst { times: 2, status: 500 });
        assert_eq!(parse("hang"), Scenario::Hang);
        assert_eq!(parse("stall"), Scenario::Stall);
        assert_eq!(parse("drop"), Scenario::Drop);
        assert_eq!(parse("slow:0.5"), Scenario::Slow(Duration::from_millis(500)));
    }

    #[test]
    fn a_tag_is_ignored() {
        assert_eq!(parse("ok@run-1"), Scenario::Ok);
        assert_eq!(parse("bash:a@b:c@d"), parse("bash:a"));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "OK",
            "bash",
            "bash:",
            "bash:a:b",
            "err",
            "err:200",
            "err:abc",
            "err:429:7",
            "failN:2",
            "failN:x:500",
            "slow",
            "slow:-1",
            "slow:NaN",
            "hang:1",
        ] {
            assert!(text.parse::<Scenario>().is_err(), "{text:?}");
        }
    }
}
