//! `kennel rm`: removes ended sessions.

use kennel_types::api::{ByRequest, StopRequest};
use kennel_types::{Phase, StartedBy};

use super::{asked_by, for_each, stop};
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::ENDING_HELP)]
pub(crate) struct RmArgs {
    /// Kill running sessions first
    #[arg(short, long)]
    force: bool,
    /// Names, ids, or unique prefixes of ids
    #[arg(required = true, value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,
}

pub(crate) fn rm(daemon: &DaemonClient, args: &RmArgs) -> Result<u8, CommandError> {
    for_each(&args.sessions, |reference| {
        // Resolved now: another session may get the name later.
        let session = daemon.session(reference)?;
        if session.started_by == StartedBy::User {
            // The adopted process keeps running.
            if session.phase < Phase::Reaped {
                let request = ByRequest { by: asked_by("rm") };
                daemon.execute(&session_path(&session.id, "/forget"), &request)?;
            }
        } else if args.force {
            let request =
                StopRequest { now: true, by: asked_by("rm --force"), ..StopRequest::default() };
            stop::stop_quietly(daemon, &session.id, &request)?;
        }
        let removed = daemon.delete(&session_path(&session.id, ""));
        removed.map_err(|error| error.about(&session))?;
        print(&format!("{reference}\n"))
    })
}
