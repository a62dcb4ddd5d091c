//! The wait for readiness.

use kennel_types::{Readiness, ReadyState, Reason};

use crate::command_prelude::*;
use crate::quantity::span;
use crate::session_outcome::SessionOutcome;
use crate::verbs::label;

/// Refuses --wait-ready in the foreground, where the user sees the session start.
pub(super) fn check(wait_ready: bool, detach: bool) -> Result<(), CommandError> {
    if wait_ready && !detach {
        let text = "--wait-ready is only for detached sessions";
        return Err(CommandError::usage(text).hint("add -d"));
    }
    Ok(())
}

/// Refuses --wait-ready without a check: the caller would take a mere start for readiness.
pub(super) fn require_check(wait_ready: bool, ready: &Readiness) -> Result<(), CommandError> {
    if wait_ready && *ready == Readiness::None {
        let text = "--wait-ready has nothing to wait for: the session has no readiness check";
        return Err(CommandError::usage(text)
            .hint("add one with `kennel run --ready CHECK`, for example --ready tcp:8080"));
    }
    Ok(())
}

/// Returns the error if the session is not ready.
pub(super) fn failure(session: &SessionView) -> Option<CommandError> {
    if matches!(session.ready, ReadyState::Unasked | ReadyState::Ready) {
        return None;
    }
    let (outcome, name) = (SessionOutcome::of(session), label(session));
    let (code, text) = match (&session.reason, outcome) {
        (_, unsettled @ (SessionOutcome::StillAlive(_) | SessionOutcome::Unknown(_))) => {
            return unsettled.exit_code().err();
        }
        (Some(Reason::NotReady { after, saw }), _) => {
            let saw = saw.as_ref().map_or(String::new(), |saw| format!(": {}", sanitize(saw)));
            let text = format!("{name} was not ready within {}{saw}; it was stopped", span(*after));
            (exit_code::NOT_READY, text)
        }
        (None | Some(Reason::Exited), SessionOutcome::Ended(code)) => {
            let text = format!("{name} exited with code {code} before it was ready");
            (nonzero_code(code), text)
        }
        (Some(reason), SessionOutcome::Ended(code)) => {
            let why = sanitize(&reason.to_string());
            (nonzero_code(code), format!("{name} was stopped before it was ready: {why}"))
        }
        (
            _,
            SessionOutcome::Failed { .. }
            | SessionOutcome::NeverRan
            | SessionOutcome::StoppedBefore(_),
        ) => (exit_code::NOT_READY, format!("{name} never ran")),
    };
    Some(CommandError::because(code, text).hint(format!("`kennel logs {name}` shows its output")))
}

/// Returns the session's exit code. 0 would mean that it is ready, so it is replaced.
fn nonzero_code(code: i32) -> u8 {
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
        assert!(require_check(true, &Readiness::None).is_err());
        assert!(require_check(false, &Readiness::None).is_ok());
        assert!(require_check(true, &Readiness::Report).is_ok());
    }
}
