//! A new daemon, and what its probes find.

use kennel_types::{Exit, LaunchFailure, Phase, Reason};

use super::{CODE, NOTE, RECORD, after, gone, launching, reaped, running, starting, stopping};
use crate::effect::Effect;
use crate::event::{Event, Probe};
use crate::session::{Session, Underway};
use crate::tests::{GRACE, session, stop, stopped};

/// Returns what a new daemon reads of a session.
fn row(session: Session) -> Session {
    Session { underway: Underway::default(), ..session }
}

/// Returns the session in a new daemon that has begun to probe.
fn restored(session: Session) -> Session {
    let mut session = row(session);
    assert_eq!(session.step(&Event::Restored), [Effect::Probe]);
    session
}

fn gated() -> Event {
    Event::Probed(Probe::Gated { identity: "it".into(), pid: 42, pen: None })
}

fn alive(ending: bool, exit: Option<Exit>) -> Event {
    Event::Probed(Probe::Running { identity: "it".into(), pid: 42, pen: None, ending, exit })
}

fn probe_fails() -> Event {
    Event::Probed(Probe::Failed { why: "too many open files".into() })
}

#[test]
fn every_session_that_has_not_ended_is_probed() {
    for session in [session(), launching(), starting(), running(), stopping()] {
        let phase = session.phase;
        let session = restored(session);
        assert_eq!(session.phase, phase);
        assert!(session.launch.recorded && !session.launch.keeper_ready);
    }
}

#[test]
fn a_session_that_was_seen_to_end_is_cleaned_up() {
    let mut session = row(reaped());
    assert!(matches!(session.step(&Event::Restored)[..], [Effect::CleanUp { .. }]));
    let mut session = row(reaped());
    session.owed.clear();
    assert_eq!(session.step(&Event::Restored), [RECORD]);
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
    assert_eq!(row(session).step(&Event::Restored), [], "cleaned");
}

#[test]
fn a_launch_is_not_continued() {
    for found in [Event::Probed(Probe::Waiting), gated()] {
        for session in [session(), launching(), starting()] {
            let mut session = restored(session);
            assert_eq!(session.step(&Event::KeeperReady), [], "no order to launch is sent");
            // An order of the earlier daemon to open the gate may still arrive.
            assert_eq!(session.step(&found), [Effect::Stop { grace: GRACE }, NOTE]);
            assert_eq!(session.step(&Event::Recorded), []);
            let session = after(session, &[gone(Exit::NeverRan)]);
            assert!(matches!(
                session.reason,
                Some(Reason::Failed { code: LaunchFailure::Internal, .. })
            ));
            assert!(!session.may_have_run());
        }
        // No such order can arrive if the stop was on record.
        let mut session = restored(after(launching(), &[stop(None)]));
        assert_eq!(session.step(&found), [Effect::Dismiss, NOTE]);
        assert_eq!(session.reason, Some(stopped()));
    }
}

#[test]
fn a_running_session_is_adopted_whatever_its_row_contains() {
    for session in [session(), launching(), starting(), running()] {
        let mut session = restored(session);
        assert_eq!(session.step(&alive(false, None)), [NOTE]);
        assert_eq!((session.phase, session.launch.pid), (Phase::Running, Some(42)));
        assert!(session.may_have_run());
    }
    let session = after(restored(running()), &[alive(false, Some(CODE))]);
    assert_eq!((session.exit, session.reason), (Some(CODE), Some(Reason::Exited)));
}

#[test]
fn a_stop_applies_to_whatever_the_probe_finds() {
    let stop_keeper = Effect::Stop { grace: GRACE };
    for session in [launching(), running(), stopping()] {
        let wanted = after(session, &[stop(None)]);
        assert_eq!(restored(wanted.clone()).step(&alive(false, None)), [stop_keeper.clone(), NOTE]);
        assert_eq!(restored(wanted.clone()).step(&alive(true, None)), [stop_keeper.clone(), NOTE]);
        assert_eq!(restored(wanted).step(&Event::Probed(Probe::NoKeeper)), [Effect::EndPen, NOTE]);
    }
    // The stop may arrive during the probe.
    let mut session = restored(running());
    assert_eq!(session.step(&stop(None)), [RECORD]);
    assert_eq!(session.step(&alive(false, None)), [stop_keeper.clone(), NOTE]);
    assert_eq!(session.phase, Phase::Stopping);
    // A session that its keeper is already ending is stopping.
    let mut session = restored(running());
    assert_eq!(session.step(&alive(true, None)), [stop_keeper, NOTE]);
    assert_eq!(session.phase, Phase::Stopping);
}

#[test]
fn an_end_that_the_probe_finds_is_final() {
    let over = Event::Probed(Probe::Over { exit: CODE, reason: Some(Reason::LeaseOver) });
    let session = after(restored(running()), &[over]);
    assert_eq!((session.phase, session.exit), (Phase::Reaped, Some(CODE)));
    assert_eq!(session.reason, Some(Reason::LeaseOver));
    let over = Event::Probed(Probe::Over { exit: Exit::NeverRan, reason: None });
    let session = after(restored(launching()), &[over]);
    assert!(matches!(session.reason, Some(Reason::Failed { code: LaunchFailure::Internal, .. })));
}

#[test]
fn without_a_keeper_the_pen_is_ended() {
    for probe in [Probe::NoKeeper, Probe::Silent] {
        let mut session = restored(running());
        assert_eq!(session.step(&Event::Probed(probe)), [Effect::EndPen, NOTE]);
        assert_eq!((session.phase, session.reason), (Phase::Stopping, Some(Reason::KeeperDied)));
    }
}

#[test]
fn a_launch_that_an_earlier_daemon_may_have_granted_is_not_called_never_ran() {
    let rebooted = Event::Probed(Probe::Rebooted);
    for session in [session(), launching(), running()] {
        let session = after(restored(session), std::slice::from_ref(&rebooted));
        assert!(matches!(session.exit, Some(Exit::Unknown { .. })), "{:?}", session.exit);
        assert_eq!((session.phase, session.reason), (Phase::Reaped, Some(Reason::Rebooted)));
    }
    let session = after(restored(after(launching(), &[stop(None)])), &[rebooted]);
    assert_eq!(
        session.exit,
        Some(Exit::NeverRan),
        "its stop is on record, so an earlier grant would be too"
    );
}

#[test]
fn a_failed_probe_is_repeated() {
    let mut session = restored(running());
    for _ in 0..10 {
        assert_eq!(session.step(&probe_fails()), [Effect::RetryLater]);
        assert_eq!(session.phase, Phase::Running);
        assert_eq!(session.step(&Event::RetryDue), [Effect::Probe]);
    }
}

#[test]
fn a_stop_does_not_wait_forever_for_a_probe() {
    let mut session = restored(stopping());
    for _ in 0..2 {
        assert_eq!(session.step(&probe_fails()), [Effect::RetryLater]);
        assert_eq!(session.step(&Event::RetryDue), [Effect::Probe]);
    }
    assert_eq!(session.step(&probe_fails()), [Effect::EndPen, NOTE]);
}

#[test]
fn a_keeper_lost_during_a_probe_is_probed_again() {
    let mut session = restored(running());
    assert_eq!(session.step(&Event::KeeperLost), []);
    // The probe found the keeper alive just before it died.
    assert_eq!(session.step(&alive(false, None)), [Effect::Probe]);
    assert_eq!(session.step(&Event::Probed(Probe::NoKeeper)), [Effect::EndPen, NOTE]);
}

#[test]
fn a_late_answer_counts_only_if_it_is_still_true() {
    let mut session = running();
    let before = session.clone();
    for momentary in [alive(true, None), gated(), Event::Probed(Probe::Silent), probe_fails()] {
        assert_eq!(session.step(&momentary), []);
    }
    assert_eq!(session, before);
    assert_eq!(session.step(&Event::Probed(Probe::NoKeeper)), [Effect::EndPen, NOTE]);
    assert_eq!(session.step(&Event::Probed(Probe::NoKeeper)), [], "the pen is being ended");
    let over = Probe::Over { exit: CODE, reason: None };
    assert_eq!(after(running(), &[Event::Probed(over)]).phase, Phase::Reaped);
}
