//! A keeper that is dead, or does not answer.

use kennel_types::{Exit, Phase, Reason, Survivor};

use super::{CODE, NOTE, RECORD, after, gone, launching, reaped, running, stoppable, stopping};
use crate::effect::Effect;
use crate::event::{Event, PenEnd, Probe};
use crate::session::{LostBecause, ProbeState, Session};
use crate::tests::{born, stop};

fn empty(exit: Option<Exit>) -> Event {
    Event::PenEnded(PenEnd::Empty { exit })
}

fn unobservable() -> Event {
    Event::PenEnded(PenEnd::Unobservable { why: "the yard is gone".into() })
}

fn lost() -> Session {
    after(running(), &[Event::KeeperLost, unobservable(), Event::Recorded])
}

#[test]
fn the_pen_is_ended_once_in_every_phase() {
    for mut session in stoppable() {
        let reason = session.reason.clone();
        assert_eq!(session.step(&Event::KeeperLost), [Effect::EndPen, NOTE]);
        assert_eq!(session.phase, Phase::Stopping);
        assert!(session.is_stop_wanted() && session.is_live());
        assert_eq!(session.reason, reason.or(Some(Reason::KeeperDied)));
        assert_eq!(session.step(&Event::KeeperLost), [], "the pen is being ended");
        assert_eq!(session.step(&Event::RetryDue), []);
    }
}

#[test]
fn a_lost_keeper_changes_nothing_once_the_end_was_seen() {
    let mut session = reaped();
    assert_eq!(session.step(&Event::KeeperLost), []);
    assert_eq!((session.phase, session.reason), (Phase::Reaped, Some(Reason::Exited)));
}

#[test]
fn an_empty_pen_is_the_end() {
    let unknown =
        Exit::Unknown { why: "its keeper died, and the kernel did not have the status".into() };
    for (session, status, exit) in [
        (running(), Some(CODE), CODE),
        (running(), None, unknown),
        (after(running(), &[Event::Exited { exit: CODE }]), None, CODE),
        (launching(), None, Exit::NeverRan),
        // The process died behind its gate.
        (launching(), Some(Exit::Signal { signal: 9, core: false, oom: false }), Exit::NeverRan),
    ] {
        let session = after(session, &[Event::KeeperLost, empty(status)]);
        assert_eq!((session.phase, session.exit), (Phase::Reaped, Some(exit)));
    }
}

#[test]
fn a_process_that_does_not_die_is_reported_and_retried() {
    let survivors = vec![Survivor { pid: 7, name: "sudo".into(), why: "not permitted".into() }];
    let alive = Event::PenEnded(PenEnd::StillAlive { survivors: survivors.clone() });
    let mut session = after(running(), &[Event::KeeperLost]);
    assert_eq!(session.step(&alive), [NOTE, Effect::RetryLater]);
    assert_eq!((session.phase, &session.survivors), (Phase::Stopping, &survivors));
    assert_eq!(session.step(&alive), [], "no attempt is in progress");
    assert_eq!(session.step(&Event::RetryDue), [Effect::EndPen]);
    assert_eq!(session.step(&alive), [Effect::RetryLater]);
    assert_eq!(session.step(&stop(None)), [Effect::EndPen], "another stop retries at once");
    let session = after(session, &[empty(None)]);
    assert_eq!((session.phase, session.survivors), (Phase::Reaped, vec![]));
}

#[test]
fn a_failed_attempt_to_end_a_pen_proves_nothing_and_is_retried() {
    let mut session = after(running(), &[Event::KeeperLost]);
    let fails = Event::PenEnded(PenEnd::Failed { why: "too many open files".into() });
    assert_eq!(session.step(&fails), [Effect::RetryLater]);
    assert_eq!(session.phase, Phase::Stopping);
    assert_eq!(session.step(&Event::RetryDue), [Effect::EndPen]);
}

#[test]
fn a_session_that_cannot_be_observed_is_lost_and_still_owned() {
    let mut session = after(running(), &[Event::KeeperLost]);
    assert_eq!(session.step(&unobservable()), [RECORD, Effect::RetryLater]);
    assert_eq!((session.phase, session.is_live()), (Phase::Lost, true));
    assert_eq!(session.lost, Some(LostBecause("the yard is gone".into())));
    assert_eq!(session.reason, Some(Reason::KeeperDied));
    assert_eq!(session.step(&stop(None)), [], "it is probed anyway");
    // It is probed from time to time, without further records.
    for _ in 0..3 {
        assert_eq!(session.step(&Event::RetryDue), [Effect::Probe]);
        assert_eq!(session.step(&Event::Probed(Probe::NoKeeper)), [Effect::EndPen, NOTE]);
        assert_eq!(session.step(&unobservable()), [Effect::RetryLater]);
        assert_eq!(session.phase, Phase::Lost);
    }
}

#[test]
fn a_lost_session_may_be_found_again() {
    let found = Event::Probed(Probe::Running {
        identity: "it".into(),
        pid: 42,
        pen: None,
        ending: false,
        exit: None,
    });
    let mut session = after(lost(), &[Event::RetryDue]);
    let stop = Effect::Stop { grace: crate::tests::GRACE };
    assert_eq!(session.step(&found), [stop, NOTE]);
    assert_eq!((session.phase, session.underway.probe), (Phase::Stopping, ProbeState::Unneeded));
    let session = after(lost(), &[Event::RetryDue, Event::Probed(Probe::Rebooted)]);
    assert_eq!(session.phase, Phase::Reaped);
    assert_eq!(after(lost(), &[gone(CODE)]).exit, Some(CODE));
}

#[test]
fn only_a_lost_session_can_be_forgotten_and_it_is_not_reaped() {
    let forget = Event::Forgotten { by: "a user".into() };
    for mut session in stoppable() {
        let before = session.clone();
        assert_eq!(session.step(&forget), []);
        assert_eq!(session, before);
    }
    let mut session = lost();
    let effects = session.step(&forget);
    assert!(matches!(effects[..], [Effect::CleanUp { .. }, RECORD]), "{effects:?}");
    assert_eq!(session.phase, Phase::Cleaned);
    assert_eq!(session.reason, Some(Reason::Forgotten { by: "a user".into() }));
    assert!(matches!(session.exit, Some(Exit::Unknown { .. })) && session.may_have_run());
    let what = kennel_types::OwedKind::RuntimeFiles;
    assert_eq!(session.step(&Event::CleanedUp { what }), [NOTE]);
    assert_eq!(session.owed, []);
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
    let exit = after(lost(), &[Event::Exited { exit: CODE }, forget]).exit;
    assert_eq!(exit, Some(CODE), "a known exit stays");
}

#[test]
fn a_process_born_while_the_pen_is_ended_is_recorded_and_gets_no_command() {
    let mut session = after(launching(), &[Event::KeeperLost]);
    assert_eq!(session.step(&born()), [NOTE]);
    assert_eq!(session.launch.pid, Some(42));
    let mut session = after(stopping(), &[Event::KeeperLost]);
    assert_eq!(session.step(&stop(Some(std::time::Duration::ZERO))), [NOTE]);
    assert_eq!(session.step(&Event::Opened), []);
}
