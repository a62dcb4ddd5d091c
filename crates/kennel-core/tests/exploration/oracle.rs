//! What must hold in every state. The numbers in messages are those of the design's invariants.

use kennel_core::Session;
use kennel_types::{Exit, Phase, ReadyState, Reason};

use crate::action::Setting;
use crate::event;
use crate::model::{Keeper, Row, SessionModel, WorktreeState};

/// Checks one session and everything around it. `memory` is the session in the daemon's memory, if
/// there is a daemon that has it.
pub(crate) fn check(model: &SessionModel, memory: Option<&Session>) -> Result<(), String> {
    if !model.pen_is_empty() && model.row.is_none() {
        return Err("1: a process is alive, but the session is not on record".into());
    }
    let row = model.row.as_ref().map(|row: &Row| &*row.0);
    for session in [memory, row].into_iter().flatten() {
        check_waiting(model, session)?;
        check_ended(model, session)?;
        check_exit(model, session)?;
    }
    Ok(())
}

fn is_forgotten(session: &Session) -> bool {
    matches!(session.reason, Some(Reason::Forgotten { .. }))
}

/// A session that is queued or waits for its worktree has no keeper, and has requested none.
fn check_waiting(model: &SessionModel, session: &Session) -> Result<(), String> {
    if session.phase < Phase::Reserved && model.history.keeper_requested {
        return Err(format!("1: a keeper was requested, but the phase is {:?}", session.phase));
    }
    Ok(())
}

fn check_ended(model: &SessionModel, session: &Session) -> Result<(), String> {
    if session.is_stop_wanted() && session.reason.is_none() {
        return Err("5: a stop is wanted, but there is no reason".into());
    }
    if !session.has_ended() || is_forgotten(session) {
        return Ok(());
    }
    if !model.pen_is_empty() {
        return Err("2: ended while a process lives".into());
    }
    let may_launch = matches!(
        model.keeper,
        Keeper::Requested
            | Keeper::Waiting
            | Keeper::Gated
            | Keeper::Running
            | Keeper::Ending { .. }
    );
    if may_launch || model.work.start_keeper {
        return Err("2: ended while its keeper may launch".into());
    }
    if model.work.make {
        return Err("2: ended while its worktree is being created".into());
    }
    if session.ready == ReadyState::Waiting {
        return Err("5: ended, but it still waits for readiness".into());
    }
    if session.exit.is_none() || session.reason.is_none() {
        return Err("5: ended without an outcome".into());
    }
    let left = model.files || matches!(model.worktree, WorktreeState::Half | WorktreeState::There);
    if session.phase == Phase::Cleaned && (left || !session.owed.is_empty()) {
        return Err("9: cleaned while a resource is left".into());
    }
    Ok(())
}

fn check_exit(model: &SessionModel, session: &Session) -> Result<(), String> {
    let history = model.history;
    match &session.exit {
        None => Ok(()),
        Some(Exit::NeverRan) if history.ran => Err("5: recorded as never run, but it ran".into()),
        Some(Exit::NeverRan) => Ok(()),
        Some(Exit::Unknown { .. }) => {
            let is_lost = history.keeper_killed || history.rebooted || is_forgotten(session);
            let never_forked = history.daemon_died && !history.forked;
            if is_lost || never_forked {
                Ok(())
            } else {
                Err("5: the exit is unknown, but its keeper knew it".into())
            }
        }
        Some(known) if model.exit().map(event::exit).as_ref() == Some(known) => Ok(()),
        Some(_) => Err("5: the exit is not the agent's own".into()),
    }
}

/// Checks what one step of the core did to a session.
pub(crate) fn check_step(before: &Session, after: &Session) -> Result<(), String> {
    let known = |session: &Session| {
        session.exit.clone().filter(|exit| !matches!(exit, Exit::Unknown { .. }))
    };
    if before.is_stop_wanted() && !after.is_stop_wanted() {
        return Err("3: a stop was forgotten".into());
    }
    if known(before).is_some() && known(before) != known(after) {
        return Err("5: a known exit was replaced".into());
    }
    check_ready(before, after)?;
    let back = after.phase < before.phase;
    let found_again = before.phase == Phase::Lost && after.phase == Phase::Stopping;
    if back && !found_again { Err("2: a phase went back".into()) } else { Ok(()) }
}

/// Checks that the session becomes ready in time, or not at all.
fn check_ready(before: &Session, after: &Session) -> Result<(), String> {
    match (before.ready, after.ready) {
        (one, other) if one == other => Ok(()),
        (ReadyState::Waiting, ReadyState::Ready)
            if before.is_stop_wanted() || before.has_ended() =>
        {
            Err("8: ready after a stop or the end".into())
        }
        (ReadyState::Waiting, ReadyState::Ready) => Ok(()),
        (ReadyState::Waiting, ReadyState::Missed)
            if !after.is_stop_wanted() && !after.has_ended() =>
        {
            Err("8: not ready in time, but it goes on".into())
        }
        (ReadyState::Waiting, ReadyState::Missed) => Ok(()),
        (one, other) => Err(format!("8: {one:?} became {other:?}")),
    }
}

/// Checks a state in which nothing is due any more.
pub(crate) fn is_settled(
    model: &SessionModel,
    memory: Option<&Session>,
    setting: Setting,
) -> Result<(), String> {
    let keeper_gone = matches!(model.keeper, Keeper::None | Keeper::Dead | Keeper::Left);
    let Some(session) = memory else {
        let nothing = keeper_gone && model.pen_is_empty();
        return if nothing {
            Ok(())
        } else {
            Err("2: a process is alive, but the daemon does not have the session".into())
        };
    };
    match session.phase {
        Phase::Cleaned if !keeper_gone && !is_forgotten(session) => {
            Err("10: its keeper is never released".into())
        }
        Phase::Cleaned if model.synced.as_ref().is_none_or(|row| row.0.phase < Phase::Reaped) => {
            Err("5: the outcome is not durable".into())
        }
        Phase::Cleaned => Ok(()),
        Phase::Lost if !setting.yard => Ok(()),
        Phase::Queued if !session.is_stop_wanted() => Ok(()),
        Phase::Running if session.ready == ReadyState::Waiting && !model.work.awaiting => {
            Err("10: the daemon does not watch for readiness".into())
        }
        Phase::Running
            if !session.is_stop_wanted()
                && model.keeper == Keeper::Running
                && model.work.linked =>
        {
            Ok(())
        }
        phase if session.is_stop_wanted() => {
            Err(format!("3: a stop is wanted, but the phase stays {phase:?}"))
        }
        phase => Err(format!("10: the phase stays {phase:?}")),
    }
}
