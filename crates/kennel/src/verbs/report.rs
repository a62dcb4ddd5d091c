//! `kennel report`: reports of an agent, or its hooks, about itself.

use std::path::PathBuf;

use kennel_types::api::ReportRequest;
use kennel_types::{AgentReport, LaunchToken, Percent, Title};

use crate::command_prelude::*;

/// How long to wait for a daemon that is being restarted.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    what: ReportVerb,
}

#[derive(Debug, Subcommand)]
enum ReportVerb {
    /// Report that the agent is ready, for a session with --ready report
    Ready,
    /// Report that the agent is working
    Busy,
    /// Report that the agent is waiting for input
    Idle,
    /// Set the title that `kennel ps` shows
    Title {
        /// Title with 1 to 200 characters
        #[arg(value_name = "TEXT", value_parser = parse_title)]
        text: Title,
    },
    /// Report the progress in percent
    Progress {
        /// Number from 0 to 100
        #[arg(value_name = "PERCENT", value_parser = parse_percent)]
        percent: Percent,
    },
}

pub(super) fn parse_title(text: &str) -> Result<Title, String> {
    Title::try_from(text.to_owned()).map_err(|error| error.to_string())
}

fn parse_percent(text: &str) -> Result<Percent, String> {
    let wrong = || format!("invalid progress {text:?}: expected a whole number from 0 to 100");
    let number = text.parse::<u64>().map_err(|_| wrong())?;
    Percent::try_from(number).map_err(|_| wrong())
}

pub(crate) fn report(home: &HomeDir, args: ReportArgs) -> Result<u8, CommandError> {
    let report = match args.what {
        ReportVerb::Ready => AgentReport::Ready,
        ReportVerb::Busy => AgentReport::Busy,
        ReportVerb::Idle => AgentReport::Idle,
        ReportVerb::Title { text } => AgentReport::Title { title: text },
        ReportVerb::Progress { percent } => AgentReport::Progress { percent },
    };
    let session = variable("KENNEL_SESSION").ok_or_else(outside)?;
    let request = ReportRequest { report, session, token: Some(token()?) };
    send(home, &request)?;
    Ok(0)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn outside() -> CommandError {
    CommandError::usage("not inside a session: KENNEL_SESSION is not set").hint(
        "reports work in sessions of `kennel run`, and after `eval \"$(kennel adopt --env $$)\"`",
    )
}

fn token() -> Result<LaunchToken, CommandError> {
    let text = match (variable("KENNEL_TOKEN"), variable("KENNEL_TOKEN_FILE").map(PathBuf::from)) {
        (Some(token), _) => token,
        (None, Some(path)) => std::fs::read_to_string(&path)
            .with_context(|| format!("can't read the launch token from {}", path.display()))
            .map_err(|error| CommandError::new(exit_code::SETUP, error))?,
        (None, None) => {
            let text = "no launch token: neither KENNEL_TOKEN nor KENNEL_TOKEN_FILE is set";
            return Err(CommandError::because(exit_code::SETUP, text)
                .hint("a report needs the token of its own launch"));
        }
    };
    // The daemon refuses an invalid token, and records that.
    let token = serde_json::Value::String(text.trim().to_owned());
    serde_json::from_value(token).map_err(CommandError::internal)
}

/// Sends the report, also to a daemon that is being restarted: a repetition changes nothing.
fn send(home: &HomeDir, request: &ReportRequest) -> Result<(), CommandError> {
    let mut retry = DaemonRetry::until(Instant::now() + TIMEOUT);
    let daemon = DaemonClient::without_start(home);
    loop {
        match daemon.execute("/v1/report", request) {
            Err(error) if error.is_gone_or_shutting_down() && retry.another() => {}
            sent => return Ok(sent?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_invalid_reports() {
        for wrong in ["101", "-1", "half", "1.5", ""] {
            assert!(parse_percent(wrong).unwrap_err().contains("from 0 to 100"), "{wrong}");
        }
        assert_eq!(u8::from(parse_percent("40").unwrap()), 40);
        assert!(parse_title("a\x1b[2Jb").unwrap_err().contains("control characters"));
        assert!(parse_title("").is_err() && parse_title("tests").is_ok());
    }
}
