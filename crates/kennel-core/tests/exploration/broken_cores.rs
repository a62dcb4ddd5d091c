//! Cores that are broken on purpose, each in another way. The oracle must catch all of them.

use kennel_core::{
    DesiredState, Effect, Event, PenEnd, Probe, ProbeState, Relaunch, Relaunched, Session, World,
};
use kennel_types::{Exit, Phase, ReadyState, RelaunchState, SessionId};

use crate::action::Setting;
use crate::parent_and_child::ParentAndChild;
use crate::relaunches::Relaunches;
use crate::scene::{self, Budget};
use crate::single::{Core, SessionKind, SingleSession, start, worktree};
use crate::{OLD_KERNEL, ORDERLY, WHOLE};

/// Breaks the real core's step.
struct Broken<F>(F);

impl<F: Fn(&mut Session, &Event) -> Vec<Effect>> Core for Broken<F> {
    fn step(&self, session: &mut Session, event: &Event) -> Vec<Effect> {
        (self.0)(session, event)
    }
}

fn assert_caught(invariant: &str, step: impl Fn(&mut Session, &Event) -> Vec<Effect>) {
    assert_caught_in(WHOLE, Budget::of(1, 1), invariant, step);
}

/// As [`assert_caught`], for a session of another kind.
fn assert_kind_caught(
    kind: SessionKind,
    invariant: &str,
    step: impl Fn(&mut Session, &Event) -> Vec<Effect>,
) {
    look_for(ORDERLY, Budget::of(1, 1), kind, invariant, step);
}

fn assert_caught_in(
    setting: Setting,
    budget: Budget,
    invariant: &str,
    step: impl Fn(&mut Session, &Event) -> Vec<Effect>,
) {
    look_for(setting, budget, SessionKind::Plain, invariant, step);
}

fn look_for(
    setting: Setting,
    budget: Budget,
    kind: SessionKind,
    invariant: &str,
    step: impl Fn(&mut Session, &Event) -> Vec<Effect>,
) {
    let daemon = SingleSession(Broken(step));
    match scene::explore(&daemon, setting, start(&daemon, budget, kind)) {
        Ok(seen) => panic!("not caught: {seen:?}"),
        Err(violation) => {
            println!("caught after {} moves: {}", violation.path.len(), violation.what);
            assert!(violation.what.contains(invariant), "{violation}");
        }
    }
}

fn without(effects: Vec<Effect>, unwanted: &Effect) -> Vec<Effect> {
    effects.into_iter().filter(|effect| effect != unwanted).collect()
}

#[test]
fn the_oracle_catches_a_grant_although_a_stop_is_wanted() {
    assert_caught("3: granted although", |session, event| {
        let effects = session.step(event);
        if matches!(event, Event::Born { .. }) && effects.contains(&Effect::Dismiss) {
            session.launch.granted = true;
            session.phase = session.phase.max(Phase::Starting);
            return vec![Effect::Grant];
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_session_dropped_when_its_keeper_is_lost() {
    assert_caught("2: ended while", |session, event| {
        let mut effects = session.step(event);
        if *event == Event::KeeperLost && effects.contains(&Effect::EndPen) {
            let gone =
                Event::Gone { exit: Exit::Unknown { why: "its keeper died".into() }, reason: None };
            effects = session.step(&gone);
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_process_made_before_its_row_is_durable() {
    assert_caught("1: born without a durable row", |session, event| {
        let mut effects = session.step(event);
        if *event == Event::KeeperReady
            && session.phase == Phase::Reserved
            && !session.is_stop_wanted()
        {
            session.phase = Phase::Launching;
            effects.push(Effect::Go);
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_pen_that_is_not_ended_when_its_keeper_is_lost() {
    assert_caught("3: a stop is wanted, but the phase stays", |session, event| {
        without(session.step(event), &Effect::EndPen)
    });
}

#[test]
fn the_oracle_catches_a_keeper_released_before_its_outcome_is_durable() {
    assert_caught("10: the keeper was released before", |session, event| {
        let ended = session.has_ended();
        let mut effects = session.step(event);
        if !ended && session.has_ended() {
            effects.push(Effect::Release);
        }
        effects
    });
}

/// The core writes several records at once, and mistakes the answer to an older one for the answer
/// to that of the outcome.
#[test]
fn the_oracle_catches_an_answer_mistaken_for_another() {
    assert_caught("10: the keeper was released before", |session, event| {
        let mut effects = session.step(event);
        if *event == Event::Recorded && session.has_ended() && !session.underway.released {
            session.underway.released = true;
            effects.push(Effect::Release);
        }
        effects
    });
}

#[test]
fn the_oracle_catches_never_ran_for_a_granted_launch() {
    assert_caught_in(OLD_KERNEL, Budget::of(1, 1), "5: recorded as never run", |session, event| {
        if *event == Event::PenEnded(PenEnd::Empty { exit: None }) {
            return session.step(&Event::PenEnded(PenEnd::Empty { exit: Some(Exit::NeverRan) }));
        }
        session.step(event)
    });
}

/// If a new daemon reads a row without a grant, the launch may still have been granted.
#[test]
fn the_oracle_catches_a_row_mistaken_for_the_whole_truth() {
    assert_caught_in(WHOLE, Budget::of(2, 0), "5: ", |session, event| {
        let granted = session.launch.granted;
        let effects = session.step(event);
        if *event == Event::Restored {
            session.launch.granted = granted;
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_daemon_that_does_not_probe_restored_sessions() {
    assert_caught("10: the phase stays", |session, event| match event {
        Event::Restored => Vec::new(),
        event => session.step(event),
    });
}

#[test]
fn the_oracle_catches_a_failed_probe_mistaken_for_the_end() {
    assert_caught_in(WHOLE, Budget::of(2, 0), "2: ended while", |session, event| {
        if matches!(event, Event::PenEnded(PenEnd::Failed { .. } | PenEnd::StillAlive { .. })) {
            return session.step(&Event::PenEnded(PenEnd::Empty { exit: None }));
        }
        session.step(event)
    });
}

#[test]
fn the_oracle_catches_a_launch_continued_after_a_restart() {
    assert_caught("8: granted a launch", |session, event| {
        if let Event::Probed(Probe::Gated { identity, .. }) = event {
            session.launch.identity = Some(identity.clone());
            session.underway.probe = ProbeState::Unneeded;
            session.phase = Phase::Starting;
            return vec![Effect::Grant];
        }
        session.step(event)
    });
}

#[test]
fn the_oracle_catches_a_stop_that_is_not_passed_on() {
    assert_caught("3: a stop is wanted, but the phase stays", |session, event| {
        let effects = session.step(event);
        effects.into_iter().filter(|effect| !matches!(effect, Effect::Stop { .. })).collect()
    });
}

#[test]
fn the_oracle_catches_a_stop_that_is_taken_back() {
    assert_caught("3: a stop was forgotten", |session, event| {
        let effects = session.step(event);
        if *event == Event::Opened {
            session.wanted = DesiredState::Running;
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_known_exit_that_is_replaced() {
    assert_caught("5: ", |session, event| {
        let effects = session.step(event);
        if *event == Event::KeeperLost && session.exit.is_some() && !session.has_ended() {
            session.exit = Some(Exit::Unknown { why: "its keeper died".into() });
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_cleanup_that_is_not_retried() {
    assert_caught("stays Reaped", |session, event| {
        if matches!(event, Event::CleanUpFailed { .. }) {
            return without(session.step(event), &Effect::RetryLater);
        }
        session.step(event)
    });
}

#[test]
fn the_oracle_catches_a_child_that_is_not_stopped() {
    let parent_and_child = ParentAndChild::new(|world, id, event| {
        let effects = world.step(id, event);
        let kept = |other: &SessionId, effect: &Effect| {
            other == id || matches!(effect, Effect::Record { .. })
        };
        effects.into_iter().filter(|(other, effect)| kept(other, effect)).collect()
    });
    let start = parent_and_child.start(Budget::of(0, 1));
    let violation = scene::explore(&parent_and_child, ORDERLY, start).expect_err("not caught");
    println!("caught after {} moves: {}", violation.path.len(), violation.what);
    assert!(violation.what.contains("3: a stop is wanted, but the phase stays"), "{violation}");
}

#[test]
fn the_oracle_catches_a_late_sign_that_counts() {
    for kind in [SessionKind::Port, SessionKind::Report] {
        assert_kind_caught(kind, "8: ", |session, event| {
            let effects = session.step(event);
            if matches!(event, Event::BecameReady { .. } | Event::Reported(_)) {
                session.ready = ReadyState::Ready;
            }
            effects
        });
    }
}

#[test]
fn the_oracle_catches_a_missed_deadline_that_drops_a_live_session() {
    assert_kind_caught(SessionKind::Port, "2: ended while", |session, event| {
        let mut effects = session.step(event);
        if matches!(event, Event::ReadyOverdue { .. }) && session.ready == ReadyState::Missed {
            let exit = Exit::Unknown { why: "it was not ready in time".into() };
            effects.extend(session.step(&Event::Gone { exit, reason: None }));
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_new_daemon_that_does_not_watch_for_readiness() {
    assert_kind_caught(SessionKind::Port, "10: the daemon does not watch", |session, event| {
        let effects = session.step(event);
        let adopted = matches!(event, Event::Probed(Probe::Running { .. }));
        if adopted { without(effects, &Effect::AwaitReady) } else { effects }
    });
}

#[test]
fn the_oracle_catches_a_keeper_for_a_session_stopped_in_the_queue() {
    assert_kind_caught(
        SessionKind::Queued,
        "3: a keeper was requested after a stop",
        |session, event| {
            let mut effects = session.step(event);
            if *event == Event::TurnCame && session.is_stop_wanted() {
                effects.push(Effect::StartKeeper);
            }
            effects
        },
    );
}

#[test]
fn the_oracle_catches_a_keeper_for_a_queued_row() {
    assert_kind_caught(SessionKind::Queued, "1: a keeper", |session, event| {
        let mut effects = session.step(event);
        if *event == Event::TurnCame && !effects.is_empty() {
            session.underway.unlaunched = false;
            effects.push(Effect::StartKeeper);
        }
        effects
    });
}

/// The stop is only in memory, so a new daemon does not know of it.
#[test]
fn the_oracle_catches_a_stop_in_the_queue_that_is_not_recorded() {
    assert_kind_caught(
        SessionKind::Queued,
        "3: a stop is wanted, but the phase stays",
        |session, event| {
            let effects = session.step(event);
            let stopped = matches!(event, Event::StopAsked(_)) && session.phase == Phase::Queued;
            if stopped { without(effects, &Effect::Record { durable: true }) } else { effects }
        },
    );
}

#[test]
fn the_oracle_catches_a_keeper_before_its_worktree() {
    assert_kind_caught(SessionKind::Worktree, "a keeper was requested before", |session, event| {
        let mut effects = session.step(event);
        if effects.iter().any(|effect| matches!(effect, Effect::Make { .. })) {
            effects.push(Effect::StartKeeper);
        }
        effects
    });
}

#[test]
fn the_oracle_catches_a_worktree_removed_before_the_tree_is_gone() {
    assert_kind_caught(SessionKind::Worktree, "9: a worktree is removed", |session, event| {
        let mut effects = session.step(event);
        if effects.iter().any(|effect| matches!(effect, Effect::Stop { .. })) {
            session.underway.cleaning.push(worktree());
            effects.push(Effect::CleanUp { what: worktree() });
        }
        effects
    });
}

#[test]
fn the_oracle_catches_half_a_worktree_that_is_forgotten() {
    assert_kind_caught(
        SessionKind::Worktree,
        "9: cleaned while a resource is left",
        |session, event| {
            let effects = session.step(event);
            if matches!(event, Event::MakeFailed { .. }) {
                session.owed.retain(|owed| owed.what != worktree());
                return effects
                    .into_iter()
                    .filter(|effect| *effect != Effect::CleanUp { what: worktree() })
                    .collect();
            }
            effects
        },
    );
}

#[test]
fn the_oracle_catches_a_stop_that_does_not_wait_for_the_creation() {
    assert_kind_caught(
        SessionKind::Worktree,
        "9: a worktree is removed while",
        |session, event| {
            if matches!(event, Event::StopAsked(_)) && session.underway.making {
                session.underway.making = false;
            }
            session.step(event)
        },
    );
}

fn assert_relaunch_caught(invariant: &str, relaunches: &Relaunches) {
    let start = relaunches.start(Budget { faults: 0, stops: 1, resumes: 2 });
    let violation = scene::explore(relaunches, ORDERLY, start).expect_err("not caught");
    println!("caught after {} moves: {}", violation.path.len(), violation.what);
    assert!(violation.what.contains(invariant), "{violation}");
}

/// After the pause, the core does not check whether the restart was called off.
#[test]
fn the_oracle_catches_a_restart_that_was_called_off() {
    let relaunches = Relaunches::with_policy(|world, after, how| {
        let effects = crate::relaunches::restart(world, after, how.clone());
        let decided = world.get(after).is_some_and(|it| it.relaunch != RelaunchState::Undecided);
        if effects.is_empty() && decided {
            return crate::relaunches::relaunch(world, after, how);
        }
        effects
    });
    assert_relaunch_caught("3: launched again after a stop", &relaunches);
}

fn launch_now(world: &mut World, id: SessionId, how: Relaunch) -> Vec<(SessionId, Effect)> {
    let Some(former) = world.newest(&id) else { return Vec::new() };
    let session = Session::new(id, former.spec.clone(), how.token, how.owed);
    world.admit(session).unwrap_or_default()
}

#[test]
fn the_oracle_catches_a_relaunch_before_the_previous_launch_is_reaped() {
    let relaunches = Relaunches::new(|world, after, how| {
        let ends = world.get(after).is_some_and(Session::is_stop_wanted);
        if ends {
            return launch_now(world, after.next_attempt(), how);
        }
        crate::relaunches::relaunch(world, after, how)
    });
    assert_relaunch_caught("7: launched again before", &relaunches);
}

#[test]
fn the_oracle_catches_a_repeated_request_that_launches_twice() {
    let relaunches =
        Relaunches::new(|world, after, how| match world.relaunch(after, how.clone()) {
            Relaunched::Admitted { effects, .. } => effects,
            Relaunched::Already { id } if id != *after => launch_now(world, id.next_attempt(), how),
            _ => Vec::new(),
        });
    assert_relaunch_caught("7: repeated requests cause several launches", &relaunches);
}
