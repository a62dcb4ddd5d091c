//! `kennel signal`: sends a signal to a session.

use kennel_types::api::SignalRequest;

use super::signal_name;
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct SignalArgs {
    /// Signal to send, as an option
    #[arg(short = 's', long = "signal", value_name = "SIGNAL", value_parser = signal_name::parse)]
    option: Option<i32>,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// Signal to send: TERM, SIGTERM, 15 or -15. To end a session, use `kennel
    /// stop`
    #[arg(value_name = "SIGNAL", allow_hyphen_values = true, value_parser = signal_name::parse)]
    #[arg(required_unless_present = "option", conflicts_with = "option")]
    signal: Option<i32>,
}

/// Sends the signal.
pub(crate) fn signal(home: &HomeDir, args: &SignalArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let signal = args.option.or(args.signal);
    let signal =
        signal.ok_or_else(|| CommandError::because(exit_code::USAGE, "no signal given"))?;
    let request = SignalRequest { signal };
    let session = daemon.session(&args.session)?;
    let sent = daemon.execute(&session_path(&session.id, "/signal"), &request);
    sent.map_err(|error| error.about(&session))?;
    Ok(0)
}
