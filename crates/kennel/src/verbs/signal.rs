//! `kennel signal`: sends a signal to a session.

use kennel_types::api::SignalRequest;

use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
#[command(override_usage = "kennel signal [OPTIONS] <SESSION> <SIGNAL>")]
pub(crate) struct SignalArgs {
    /// Signal to send, as an option
    #[arg(short = 's', long = "signal", value_name = "SIGNAL", value_parser = parse)]
    option: Option<i32>,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// Signal to send: TERM, SIGTERM, 15 or -15. To end a session, use `kennel
    /// stop`
    #[arg(value_name = "SIGNAL", allow_hyphen_values = true, value_parser = parse)]
    #[arg(required_unless_present = "option", conflicts_with = "option")]
    signal: Option<i32>,
}

pub(crate) fn signal(daemon: &DaemonClient, args: &SignalArgs) -> Result<u8, CommandError> {
    let signal = args.option.or(args.signal);
    let signal = signal.ok_or_else(|| CommandError::usage("no signal given"))?;
    let request = SignalRequest { signal };
    let session = daemon.session(&args.session)?;
    let sent = daemon.execute(&session_path(&session.id, "/signal"), &request);
    sent.map_err(|error| error.about(&session))?;
    Ok(0)
}

const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

pub(super) fn name(signal: i32) -> String {
    let index = usize::try_from(signal - 1).ok();
    index.and_then(|index| NAMES.get(index)).map_or(signal.to_string(), |name| (*name).to_owned())
}

/// Parses `TERM`, `SIGTERM`, `term` or `15`, optionally with a `-` as for `kill`.
pub(super) fn parse(text: &str) -> Result<i32, String> {
    let wrong =
        || format!("invalid signal {text:?}: expected for example TERM, INT, HUP, USR1 or 15");
    let text = text.strip_prefix('-').unwrap_or(text);
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.parse::<i32>().map_err(|_| wrong())?;
        return (1..=64).contains(&number).then_some(number).ok_or_else(wrong);
    }
    let upper = text.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    let index = NAMES.iter().position(|name| *name == short).ok_or_else(wrong)?;
    i32::try_from(index + 1).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names_and_numbers_of_signals() {
        for (text, number) in [
            ("TERM", 15),
            ("SIGKILL", 9),
            ("int", 2),
            ("15", 15),
            ("sigsys", 31),
            ("40", 40),
            ("-9", 9),
            ("-HUP", 1),
        ] {
            assert_eq!(parse(text), Ok(number), "{text}");
        }
        for text in ["", "0", "65", "TERMINATE", "SIG", "-", "--9", "99999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!((name(15), name(40), name(0)), ("TERM".into(), "40".into(), "0".into()));
    }
}
