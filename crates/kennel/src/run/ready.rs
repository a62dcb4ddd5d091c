//! The wait for readiness.

use kennel_types::{Readiness, ReadyState, Reason};

use crate::command_prelude::*;
use crate::quantity::span;
use crate::session_outcome::SessionOutcome;
use crate::verbs::called;

/// Refuses --wait-ready in the foreground, where the user sees the session start.
pub(super) fn check(wait_ready: bool, detach: bool) -> Result<(), CommandError> {
    if wait_ready && !detach {
        let text = "--wait-ready is only for detached sessions";
        return Err(CommandError::usage(text).hint("add -d"));
    }
    Ok(())
}

/// Refuses --wait-ready without a check: the caller would take a mere start for readiness.
pub(super) fn check_sign(wait_ready: bool, sign: &Readiness) -> Result<(), CommandError> {
    if wait_ready && *sign == Readiness::None {
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
    let (outcome, called) = (SessionOutcome::of(session), called(session));
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
            let why = sanitize(&reason.to_string());
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
