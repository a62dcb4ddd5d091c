//! `kennel resume`: another launch of an ended session.

use super::create::PendingLaunch;
use super::{RunMode, launch_and_follow, ready};
use crate::command_prelude::*;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys};

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
    /// Wait instead of failing if too many sessions are running
    #[arg(long)]
    pub(super) queue: bool,
    /// Key sequence that detaches from the session, or none
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(super) detach_keys: DetachKeys,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    pub(super) session: String,
}

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
    let (detach, wait_ready) = (args.detach, args.wait_ready);
    launch_and_follow(
        &daemon,
        launch,
        RunMode { detach, wait_ready, detach_keys: &args.detach_keys },
    )
}
