//! By what a session is known to be up, and waiting for that.

use std::time::Duration;

use clap::Args;
use kennel_types::{Readiness, ReadyState, Reason, SessionSpec, SessionView};

use crate::command_error::CommandError;
use crate::exit_code;
use crate::print::sanitize;
use crate::quantity::{parse_time, span};
use crate::session_outcome::{self, SessionOutcome};

/// The flags of `kennel run` about readiness.
#[derive(Debug, Args)]
#[command(next_help_heading = "Readiness")]
pub(crate) struct ReadyArgs {
    /// By what it is known to be up: line:REGEX (of its output), socket:PATH,
    /// tcp:PORT or tcp:HOST:PORT, http://HOST/PATH, report (see `kennel
    /// report`), or none
    #[arg(long, value_name = "SIGN", default_value = "none")]
    pub(crate) ready: Readiness,
    /// End it if it is not up by then, not counting sleep of the machine;
    /// 0: wait for ever
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) ready_timeout: Duration,
    /// With -d: come back when it is up; if it won't be, fail when all of it is
    /// gone
    #[arg(long)]
    pub(crate) wait_ready: bool,
}

impl ReadyArgs {
    /// Puts them into what is asked for.
    pub(super) fn fill(&self, spec: &mut SessionSpec) {
        spec.ready = self.ready.clone();
        let asked = self.ready != Readiness::None && !self.ready_timeout.is_zero();
        spec.ready_timeout = asked.then_some(self.ready_timeout);
    }
}

/// Whoever stays in front of a session sees for himself when it is up.
pub(super) fn check(wait_ready: bool, detach: bool) -> Result<(), CommandError> {
    if wait_ready && !detach {
        let text = "--wait-ready is for a session that is left to itself";
        return Err(CommandError::because(exit_code::USAGE, text).hint("add -d"));
    }
    Ok(())
}

/// Without a sign there is nothing to wait for, and whoever asks would take a start for more than it is.
pub(super) fn check_sign(wait_ready: bool, sign: &Readiness) -> Result<(), CommandError> {
    if wait_ready && *sign == Readiness::None {
        let text = "--wait-ready has nothing to wait for: nobody said by what it is known to be up";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("`kennel run --ready SIGN` says it, for instance --ready tcp:8080"));
    }
    Ok(())
}

/// Why a session that was waited for is not ready, if it is not.
pub(super) fn failure(session: &SessionView) -> Option<CommandError> {
    if matches!(session.ready, ReadyState::Unasked | ReadyState::Ready) {
        return None;
    }
    let (verdict, called) =
        (SessionOutcome::of(session), session.name.as_ref().unwrap_or(&session.id));
    let (code, text) = match (&session.reason, verdict) {
        (_, unsettled @ (SessionOutcome::StillAlive(_) | SessionOutcome::Unknown(_))) => {
            return unsettled.exit_code().err();
        }
        (Some(Reason::NotReady { after, saw }), _) => {
            let saw = saw.as_ref().map_or(String::new(), |saw| format!(": {}", sanitize(saw)));
            let text =
                format!("{called} was not ready within {}{saw}; all of it was ended", span(*after));
            (exit_code::NOT_READY, text)
        }
        (None | Some(Reason::Exited), SessionOutcome::Ended(code)) => {
            let text = format!("{called} ended before it was ready, with exit code {code}");
            (own(code), text)
        }
        (Some(reason), SessionOutcome::Ended(code)) => {
            let why = sanitize(&session_outcome::reason(reason));
            (own(code), format!("{called} was ended before it was ready: {why}"))
        }
        (
            _,
            SessionOutcome::Failed { .. }
            | SessionOutcome::NeverRan
            | SessionOutcome::StoppedBefore(_),
        ) => (exit_code::NOT_READY, format!("{called} was never run")),
    };
    Some(
        CommandError::because(code, text)
            .hint(format!("`kennel logs {called}` shows what it printed")),
    )
}

/// The agent's own code; but 0 would say that it is ready.
fn own(code: i32) -> u8 {
    match u8::try_from(code & 0xff) {
        Ok(0) | Err(_) => exit_code::NOT_READY,
        Ok(code) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_sign_that_was_not_named() {
        assert!(check_sign(true, &Readiness::None).is_err());
        assert!(check_sign(false, &Readiness::None).is_ok());
        assert!(check_sign(true, &Readiness::Report).is_ok());
    }
}
