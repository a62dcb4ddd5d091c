//! Flags about readiness, and the wait for it.

use std::time::Duration;

use kennel_types::{Readiness, ReadyState, Reason, SessionSpec, SessionView};

use crate::command_prelude::*;
use crate::quantity::span;
use crate::session_outcome::{self, SessionOutcome};

/// The flags of `kennel run` about readiness.
#[derive(Debug, Args)]
#[command(next_help_heading = "Readiness")]
pub(crate) struct ReadyArgs {
    /// When the session is ready: line:REGEX (in its output), socket:PATH,
    /// tcp:PORT or tcp:HOST:PORT, http://HOST/PATH, report (see `kennel
    /// report`), or none
    #[arg(long, value_name = "CHECK", default_value = "none")]
    pub(crate) ready: Readiness,
    /// Stop it if it is not ready in time, not counting system sleep; 0 for no
    /// limit
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) ready_timeout: Duration,
    /// With -d: return when it is ready; if it fails to become ready, return an
    /// error when all its processes are gone
    #[arg(long)]
    pub(crate) wait_ready: bool,
}

impl ReadyArgs {
    /// Sets the fields of the specification.
    pub(super) fn fill(&self, spec: &mut SessionSpec) {
        spec.ready = self.ready.clone();
        let asked = self.ready != Readiness::None && !self.ready_timeout.is_zero();
        spec.ready_timeout = asked.then_some(self.ready_timeout);
    }
}

/// Refuses --wait-ready in the foreground, where the user sees the session start.
pub(super) fn check(wait_ready: bool, detach: bool) -> Result<(), CommandError> {
    if wait_ready && !detach {
        let text = "--wait-ready is only for detached sessions";
        return Err(CommandError::because(exit_code::USAGE, text).hint("add -d"));
    }
    Ok(())
}

/// Refuses --wait-ready without a check: the caller would take a mere start for readiness.
pub(super) fn check_sign(wait_ready: bool, sign: &Readiness) -> Result<(), CommandError> {
    if wait_ready && *sign == Readiness::None {
        let text = "--wait-ready has nothing to wait for: the session has no readiness check";
        return Err(CommandError::because(exit_code::USAGE, text)
            .hint("add one with `kennel run --ready CHECK`, for example --ready tcp:8080"));
    }
    Ok(())
}

/// Returns the error if the session is not ready.
pub(super) fn failure(session: &SessionView) -> Option<CommandError> {
    if matches!(session.ready, ReadyState::Unasked | ReadyState::Ready) {
        return None;
    }
    let (outcome, called) =
        (SessionOutcome::of(session), session.name.as_ref().unwrap_or(&session.id));
    let (code, text) = match (&session.reason, outcome) {
        (_, unsettled @ (SessionOutcome::StillAlive(_) | SessionOutcome::Unknown(_))) => {
            return unsettled.exit_code().err();
        }
        (Some(Reason::NotReady { after, saw }), _) => {
            let saw = saw.as_ref().map_or(String::new(), |saw| format!(": {}", sanitize(saw)));
            let text =
                format!("{called} was not ready within {}{saw}; it was stopped", span(*after));
            (exit_code::NOT_READY, text)
        }
        (None | Some(Reason::Exited), SessionOutcome::Ended(code)) => {
            let text = format!("{called} exited with code {code} before it was ready");
            (own(code), text)
        }
        (Some(reason), SessionOutcome::Ended(code)) => {
            let why = sanitize(&session_outcome::reason(reason));
            (own(code), format!("{called} was stopped before it was ready: {why}"))
        }
        (
            _,
            SessionOutcome::Failed { .. }
            | SessionOutcome::NeverRan
            | SessionOutcome::StoppedBefore(_),
        ) => (exit_code::NOT_READY, format!("{called} never ran")),
    };
    Some(CommandError::because(code, text).hint(format!("`kennel logs {called}` shows its output")))
}

/// Returns the session's exit code. 0 would mean that it is ready, so it is replaced.
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
    fn refuses_to_wait_without_a_readiness_check() {
        assert!(check_sign(true, &Readiness::None).is_err());
        assert!(check_sign(false, &Readiness::None).is_ok());
        assert!(check_sign(true, &Readiness::Report).is_ok());
    }
}
