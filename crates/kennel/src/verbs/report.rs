//! `kennel report`: what an agent, or a hook in it, tells of itself.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, Subcommand};
use kennel_types::api::ReportRequest;
use kennel_types::{LaunchToken, Percent, Report, Title};

use crate::command_error::CommandError;
use crate::connect::{AskError, DaemonClient};
use crate::exit_code;
use crate::foreground::poll;
use crate::home::Home;

/// How long a daemon that is being restarted is waited for …
const PATIENCE: Duration = Duration::from_secs(30);
/// … and the pause between looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The flags of `kennel report`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    what: ReportVerb,
}

#[derive(Debug, Subcommand)]
enum ReportVerb {
    /// It is up: for a session that was started with --ready report
    Ready,
    /// It works
    Busy,
    /// It waits for somebody
    Idle,
    /// What it is about, for `kennel ps`
    Title {
        /// 1 to 200 characters
        #[arg(value_name = "TEXT", value_parser = parse_title)]
        text: Title,
    },
    /// How far it is
    Progress {
        /// From 0 to 100
        #[arg(value_name = "PERCENT", value_parser = parse_percent)]
        percent: Percent,
    },
}

pub(super) fn parse_title(text: &str) -> Result<Title, String> {
    Title::try_from(text.to_owned()).map_err(|error| error.to_string())
}

fn parse_percent(text: &str) -> Result<Percent, String> {
    let wrong = || format!("progress is a whole number from 0 to 100, not {text}");
    let number = text.parse::<u64>().map_err(|_| wrong())?;
    Percent::try_from(number).map_err(|_| wrong())
}

/// Tells it.
pub(crate) fn report(home: &Home, args: ReportArgs) -> Result<u8, CommandError> {
    let report = match args.what {
        ReportVerb::Ready => Report::Ready,
        ReportVerb::Busy => Report::Busy,
        ReportVerb::Idle => Report::Idle,
        ReportVerb::Title { text } => Report::Title { title: text },
        ReportVerb::Progress { percent } => Report::Progress { percent },
    };
    let session = variable("KENNEL_SESSION").ok_or_else(outside)?;
    let request = ReportRequest { report, session, token: Some(token()?) };
    tell(home, &request)?;
    Ok(0)
}

/// A variable that says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn outside() -> CommandError {
    CommandError::because(exit_code::SETUP, "we are in no session: KENNEL_SESSION is not set")
        .hint("what `kennel run` has started can report, and what `eval \"$(kennel adopt --env $$)\"` was run in")
}

/// The secret of our launch.
fn token() -> Result<LaunchToken, CommandError> {
    let text = match (variable("KENNEL_TOKEN"), variable("KENNEL_TOKEN_FILE").map(PathBuf::from)) {
        (Some(token), _) => token,
        (None, Some(path)) => std::fs::read_to_string(&path)
            .with_context(|| format!("can't read the launch's token in {}", path.display()))
            .map_err(|error| CommandError::new(exit_code::SETUP, error))?,
        (None, None) => {
            let text = "no token: neither KENNEL_TOKEN nor KENNEL_TOKEN_FILE is set";
            return Err(CommandError::because(exit_code::SETUP, text)
                .hint("a report is believed only with the token of its own launch"));
        }
    };
    // What is no token is refused by the daemon, which puts that on record.
    let token = serde_json::Value::String(text.trim().to_owned());
    serde_json::from_value(token).map_err(CommandError::internal)
}

/// A daemon that is being restarted is waited for. Told twice, a report says the same.
fn tell(home: &Home, request: &ReportRequest) -> Result<(), CommandError> {
    let until = Instant::now() + PATIENCE;
    let daemon = DaemonClient::expected(home);
    loop {
        match daemon.tell("/v1/report", request) {
            Err(error) if may_come_back(&error) && Instant::now() < until => {
                let soon = Instant::now() + LOOK_AGAIN;
                poll(&mut [], Some(soon)).map_err(CommandError::internal)?;
            }
            told => return Ok(told?),
        }
    }
}

fn may_come_back(error: &AskError) -> bool {
    error.is_gone_or_leaving()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cant_be_told_is_refused_with_a_reason() {
        for wrong in ["101", "-1", "half", "1.5", ""] {
            assert!(parse_percent(wrong).unwrap_err().contains("from 0 to 100"), "{wrong}");
        }
        assert_eq!(u8::from(parse_percent("40").unwrap()), 40);
        assert!(parse_title("a\x1b[2Jb").unwrap_err().contains("control characters"));
        assert!(parse_title("").is_err() && parse_title("tests").is_ok());
    }
}
