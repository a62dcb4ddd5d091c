//! `kennel resume`: another launch of an ended session.

use kennel_types::SessionView;

use super::create::{self, PendingLaunch};
use super::{RunMode, ready, see_through};
use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals};

#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ResumeArgs {
    /// Run in the background and print the id of the launch
    #[arg(short, long)]
    pub(super) detach: bool,
    /// With -d: return when it is ready, by the check of its first run; if it
    /// fails to become ready, return an error when all its processes are gone
    #[arg(long)]
    pub(super) wait_ready: bool,
    /// Wait instead of failing if too many sessions run
    #[arg(long)]
    pub(super) queue: bool,
    /// Key sequence that detaches from the session, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(super) detach_keys: DetachKeys,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    pub(super) session: String,
}

/// Launches the session again and returns the exit code.
pub(crate) fn resume(home: &HomeDir, args: &ResumeArgs) -> Result<u8, CommandError> {
    ready::check(args.wait_ready, args.detach)?;
    let refused = |error| CommandError::from(error).code(exit_code::SETUP);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let named = daemon.session(&args.session).map_err(refused)?;
    // The next launch follows the latest one, whichever was named.
    let latest: SessionView = match named.attempt == named.launches {
        true => named,
        false => daemon.session(&named.session).map_err(refused)?,
    };
    ready::check_sign(args.wait_ready, &latest.spec.ready)?;
    let launch = PendingLaunch::resume(home, args, &latest).map_err(CommandError::setup)?;
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, launch, &signals)?;
    let mode = RunMode {
        detach: args.detach,
        wait_ready: args.wait_ready,
        detach_keys: &args.detach_keys,
    };
    see_through(&daemon, home, mode, created, &signals)
}
