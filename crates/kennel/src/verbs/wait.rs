//! `kennel wait`: waits until sessions have ended.

use crate::command_error::report;
use crate::command_prelude::*;
use crate::session_outcome::SessionOutcome;

#[derive(Debug, Args)]
#[command(after_help = exit_code::OTHERS_HELP)]
pub(crate) struct WaitArgs {
    /// Print a JSON array of sessions
    #[arg(long)]
    json: bool,
    /// Names, ids, or unique prefixes of ids
    #[arg(required = true, value_name = "SESSION", value_parser = parse_session)]
    sessions: Vec<String>,
}

pub(crate) fn wait(daemon: &DaemonClient, args: &WaitArgs) -> Result<u8, CommandError> {
    let unknown = |failure: CommandError| failure.code(exit_code::UNKNOWN);
    // Resolved first: another session may get the name later.
    let found = args.sessions.iter().map(|session| daemon.session(session)).collect::<Vec<_>>();
    let mut ended: Vec<SessionView> = Vec::new();
    let mut last = Ok(0);
    for session in found {
        let settled =
            session.map_err(CommandError::from).and_then(|session| daemon.wait(&session.id));
        match settled.map_err(unknown) {
            Ok(session) => {
                if !args.json {
                    print(&format!("{}\n", code(&session)))?;
                }
                last = Ok(ended.len());
                ended.push(session);
            }
            // Keep waiting for the others.
            Err(failure) => last = Err(report(failure)),
        }
    }
    if args.json {
        print::json(&ended)?;
    }
    match last {
        Ok(at) => ended.get(at).map_or(Ok(0), |session| SessionOutcome::of(session).exit_code()),
        Err(code) => Ok(code),
    }
}

fn code(session: &SessionView) -> String {
    match SessionOutcome::of(session) {
        SessionOutcome::Ended(code) => code.to_string(),
        SessionOutcome::Failed { code, .. } => code.to_string(),
        SessionOutcome::NeverRan | SessionOutcome::StoppedBefore(_) => "never ran".to_owned(),
        SessionOutcome::StillAlive(_) => "still alive".to_owned(),
        SessionOutcome::Unknown(_) => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::session;
    use kennel_types::{Exit, Phase, Reason};

    #[test]
    fn prints_the_exit_code_or_why_there_is_none() {
        let mut ended = session();
        ended.phase = Phase::Cleaned;
        let mut code_of = |exit, reason| {
            ended.exit = exit;
            ended.reason = reason;
            code(&ended)
        };
        assert_eq!(code_of(Some(Exit::Code { code: 3 }), None), "3");
        assert_eq!(
            code_of(Some(Exit::Signal { signal: 15, core: false, oom: false }), None),
            "143"
        );
        assert_eq!(code_of(Some(Exit::NeverRan), None), "never ran");
        let failed = Reason::Failed { code: kennel_types::LaunchFailure::Exec, why: "x".into() };
        assert_eq!(code_of(Some(Exit::NeverRan), Some(failed)), "204");
        assert_eq!(code_of(Some(Exit::Unknown { why: "x".into() }), None), "unknown");
    }
}
