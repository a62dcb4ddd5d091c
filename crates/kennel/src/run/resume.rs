//! `kennel resume`: another launch of a session that has ended.

use clap::Args;
use kennel_types::SessionView;

use super::create::{self, PendingLaunch};
use super::{Front, ready, see_through};
use crate::command_error::CommandError;
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::foreground::{DEFAULT_DETACH_KEYS, DetachKeys, Signals};
use crate::home::Home;
use crate::quantity::parse_session;

/// The flags of `kennel resume`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct ResumeArgs {
    /// Leave it running by itself, and print the launch's id
    #[arg(short, long)]
    pub(super) detach: bool,
    /// With -d: come back when it is up, as it was asked for when it was first
    /// run; if it won't be, fail when all of it is gone
    #[arg(long)]
    pub(super) wait_ready: bool,
    /// Wait in line if there are too many sessions, instead of being refused
    #[arg(long)]
    pub(super) queue: bool,
    /// The keys that leave it going by itself; none: no keys
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    pub(super) detach_keys: DetachKeys,
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    pub(super) session: String,
}

/// Launches it again; gives the exit code.
pub(crate) fn resume(home: &Home, args: &ResumeArgs) -> Result<u8, CommandError> {
    ready::check(args.wait_ready, args.detach)?;
    let refused = |error| CommandError::from(error).code(exit_code::SETUP);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let named = daemon.session(&args.session).map_err(refused)?;
    // Whichever of its launches was named, the next one follows the latest.
    let latest: SessionView = match named.attempt == named.launches {
        true => named,
        false => daemon.session(&named.session).map_err(refused)?,
    };
    ready::check_sign(args.wait_ready, &latest.spec.ready)?;
    let plan = PendingLaunch::resume(home, args, &latest).map_err(CommandError::setup)?;
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let created = create::create(&daemon, home, plan, &signals)?;
    let front =
        Front { detach: args.detach, wait_ready: args.wait_ready, detach_keys: &args.detach_keys };
    see_through(&daemon, home, front, created, &signals)
}
