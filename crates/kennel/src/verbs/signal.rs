//! `kennel signal`: a signal to a whole session.

use clap::Args;
use kennel_core::api::SignalRequest;

use super::signal_name;
use crate::connect::{Daemon, Start, session_path};
use crate::exit_code;
use crate::failure::Failure;
use crate::home::Home;
use crate::quantity::parse_session;

/// The flags of `kennel signal`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct SignalArgs {
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
    /// Which: TERM, SIGTERM, 15 or -15. To end a session, `stop` is the better way
    #[arg(value_name = "SIGNAL", allow_hyphen_values = true, value_parser = signal_name::parse)]
    signal: i32,
}

/// Sends it.
pub(crate) fn signal(home: &Home, args: &SignalArgs) -> Result<u8, Failure> {
    let daemon = Daemon::connect(home, Start::IfNeeded)?;
    let request = SignalRequest { signal: args.signal };
    daemon.tell(&session_path(&args.session, "/signal"), &request)?;
    Ok(0)
}
