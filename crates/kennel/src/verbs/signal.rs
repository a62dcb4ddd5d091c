//! `kennel signal`: a signal to a whole session.

use clap::Args;
use kennel_types::api::SignalRequest;

use super::signal_name;
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon, session_path};
use crate::exit_code;
use crate::home::Home;
use crate::quantity::parse_session;

/// The flags of `kennel signal`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct SignalArgs {
    /// The same as SIGNAL, as `kill` has it
    #[arg(short = 's', long = "signal", value_name = "SIGNAL", value_parser = signal_name::parse)]
    option: Option<i32>,
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// Which: TERM, SIGTERM, 15 or -15. To end a session, `stop` is the better way
    #[arg(value_name = "SIGNAL", allow_hyphen_values = true, value_parser = signal_name::parse)]
    #[arg(required_unless_present = "option", conflicts_with = "option")]
    signal: Option<i32>,
}

/// Sends it.
pub(crate) fn signal(home: &Home, args: &SignalArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let signal = args.option.or(args.signal);
    let signal =
        signal.ok_or_else(|| CommandError::because(exit_code::USAGE, "no signal was named"))?;
    let request = SignalRequest { signal };
    let session = daemon.session(&args.session)?;
    let told = daemon.tell(&session_path(&session.id, "/signal"), &request);
    told.map_err(|error| error.about(&session))?;
    Ok(0)
}
