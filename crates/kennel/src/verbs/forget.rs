//! `kennel forget`: gives up sessions that can no longer be observed.

use kennel_types::StartedBy;
use kennel_types::api::ByRequest;

use super::{asked_by, for_each, label};
use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
pub(crate) struct ForgetArgs {
    /// Names, ids, or unique prefixes of ids
    #[arg(required = true, value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,
}

/// Forgets sessions. They are recorded as forgotten, not as ended.
pub(crate) fn forget(daemon: &DaemonClient, args: &ForgetArgs) -> Result<u8, CommandError> {
    for_each(&args.sessions, |reference| {
        let session = daemon.session(reference)?;
        daemon
            .execute(&session_path(&session.id, "/forget"), &ByRequest { by: asked_by("forget") })
            .map_err(|error| error.about(&session))?;
        print(&format!("{}: {}\n", label(&session), result(&session)))
    })
}

fn result(session: &SessionView) -> &'static str {
    match session.started_by {
        StartedBy::Kennel => "forgotten; its end was not observed",
        StartedBy::User => "no longer tracked; the process keeps running",
    }
}
