//! What must hold in every state, by the numbers of the design's invariants.

use kennel_core::Session;
use kennel_types::{Exit, Phase, ReadyState, Reason};

use crate::action::Setting;
use crate::event;
use crate::plot::{Keeper, Plot, Row, Tree};

/// Looks at one session and what is around it. `memory` is what the daemon knows, if there is one
/// and it knows the session.
pub(crate) fn check(plot: &Plot, memory: Option<&Session>) -> Result<(), String> {
    if !plot.pen_is_empty() && plot.row.is_none() {
        return Err("1: alive, and on no record".into());
    }
    let row = plot.row.as_ref().map(|row: &Row| &*row.0);
    for session in [memory, row].into_iter().flatten() {
        check_waiting(plot, session)?;
        check_ended(plot, session)?;
        check_exit(plot, session)?;
    }
    Ok(())
}

fn is_forgotten(session: &Session) -> bool {
    matches!(session.reason, Some(Reason::Forgotten { .. }))
}

/// A session that is queued or waits for its worktree has no keeper, and has requested none.
fn check_waiting(plot: &Plot, session: &Session) -> Result<(), String> {
    if session.phase < Phase::Reserved && plot.history.asked_for_keeper {
        return Err(format!("1: a keeper, and on record as {:?}", session.phase));
    }
    Ok(())
}

fn check_ended(plot: &Plot, session: &Session) -> Result<(), String> {
    if session.is_stop_wanted() && session.reason.is_none() {
        return Err("5: a stop is wanted for no reason".into());
    }
    if !session.has_ended() || is_forgotten(session) {
        return Ok(());
    }
    if !plot.pen_is_empty() {
        return Err("2: let go while somebody lives".into());
    }
    let may_launch = matches!(
        plot.keeper,
        Keeper::Requested
            | Keeper::Waiting
            | Keeper::Gated
            | Keeper::Running
            | Keeper::Ending { .. }
    );
    if may_launch || plot.hands.start_keeper {
        return Err("2: let go while its keeper may launch".into());
    }
    if plot.hands.make {
        return Err("2: let go while its worktree is made".into());
    }
    if session.ready == ReadyState::Waiting {
        return Err("5: ended, and shown as if it could become ready".into());
    }
    if session.exit.is_none() || session.reason.is_none() {
        return Err("5: ended without an outcome".into());
    }
    let left = plot.files || matches!(plot.tree, Tree::Half | Tree::There);
    if session.phase == Phase::Cleaned && (left || !session.owed.is_empty()) {
        return Err("9: cleaned while something is owed".into());
    }
    Ok(())
}

fn check_exit(plot: &Plot, session: &Session) -> Result<(), String> {
    let history = plot.history;
    match &session.exit {
        None => Ok(()),
        Some(Exit::NeverRan) if history.ran => Err("5: said never to have run, and ran".into()),
        Some(Exit::NeverRan) => Ok(()),
        Some(Exit::Unknown { .. }) => {
            let nobody_knows = history.keeper_killed || history.rebooted || is_forgotten(session);
            let never_asked = history.daemon_died && !history.forked;
            if nobody_knows || never_asked {
                Ok(())
            } else {
                Err("5: unknown, though its keeper knew".into())
            }
        }
        Some(known) if plot.exit().map(event::exit).as_ref() == Some(known) => Ok(()),
        Some(_) => Err("5: not the agent's own exit".into()),
    }
}

/// What one step of the core may do to a session.
pub(crate) fn check_step(before: &Session, after: &Session) -> Result<(), String> {
    let known = |session: &Session| {
        session.exit.clone().filter(|exit| !matches!(exit, Exit::Unknown { .. }))
    };
    if before.is_stop_wanted() && !after.is_stop_wanted() {
        return Err("3: a wish for the end was forgotten".into());
    }
    if known(before).is_some() && known(before) != known(after) {
        return Err("5: a known exit was replaced".into());
    }
    check_ready(before, after)?;
    let back = after.phase < before.phase;
    let found_again = before.phase == Phase::Lost && after.phase == Phase::Stopping;
    if back && !found_again { Err("2: a phase went back".into()) } else { Ok(()) }
}

/// It becomes ready in time, or not at all.
fn check_ready(before: &Session, after: &Session) -> Result<(), String> {
    match (before.ready, after.ready) {
        (one, other) if one == other => Ok(()),
        (ReadyState::Waiting, ReadyState::Ready)
            if before.is_stop_wanted() || before.has_ended() =>
        {
            Err("8: ready, although its end was wanted".into())
        }
        (ReadyState::Waiting, ReadyState::Ready) => Ok(()),
        (ReadyState::Waiting, ReadyState::Missed)
            if !after.is_stop_wanted() && !after.has_ended() =>
        {
            Err("8: too late, and it goes on".into())
        }
        (ReadyState::Waiting, ReadyState::Missed) => Ok(()),
        (one, other) => Err(format!("8: {one:?} became {other:?}")),
    }
}

/// Whether a state in which nothing is due any more is one to rest in.
pub(crate) fn is_settled(
    plot: &Plot,
    memory: Option<&Session>,
    setting: Setting,
) -> Result<(), String> {
    let keeper_gone = matches!(plot.keeper, Keeper::None | Keeper::Dead | Keeper::Left);
    let Some(session) = memory else {
        let nothing = keeper_gone && plot.pen_is_empty();
        return if nothing { Ok(()) } else { Err("2: alive, and unknown to the daemon".into()) };
    };
    match session.phase {
        Phase::Cleaned if !keeper_gone && !is_forgotten(session) => {
            Err("10: its keeper waits for ever to be let go".into())
        }
        Phase::Cleaned if plot.synced.as_ref().is_none_or(|row| row.0.phase < Phase::Reaped) => {
            Err("5: the outcome is not durable".into())
        }
        Phase::Cleaned => Ok(()),
        Phase::Lost if !setting.yard => Ok(()),
        Phase::Queued if !session.is_stop_wanted() => Ok(()),
        Phase::Running if session.ready == ReadyState::Waiting && !plot.hands.awaiting => {
            Err("10: nobody looks whether it is ready".into())
        }
        Phase::Running
            if !session.is_stop_wanted() && plot.keeper == Keeper::Running && plot.hands.linked =>
        {
            Ok(())
        }
        phase if session.is_stop_wanted() => {
            Err(format!("3: a stop is wanted, and it stays {phase:?}"))
        }
        phase => Err(format!("10: it stays {phase:?}")),
    }
}
