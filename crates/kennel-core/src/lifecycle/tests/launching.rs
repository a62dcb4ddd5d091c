//! From the row to the running program.

use kennel_types::{Exit, LaunchFailure, Phase, Reason};

use super::{CODE, NOTE, RECORD, after, failed, launching, running, starting};
use crate::effect::Effect;
use crate::event::Event;
use crate::session::DesiredState;
use crate::tests::{born, session, stop, stopped};

#[test]
fn a_new_session_is_written_while_its_keeper_starts() {
    let session = session();
    assert_eq!((session.phase, session.wanted), (Phase::Reserved, DesiredState::Running));
    assert_eq!(session.first_effects(), [RECORD, Effect::StartKeeper]);
    assert!(session.is_live() && !session.may_have_run());
}

#[test]
fn a_launch_needs_row_and_keeper_in_either_order() {
    for order in [[Event::Recorded, Event::KeeperReady], [Event::KeeperReady, Event::Recorded]] {
        let mut session = session();
        assert_eq!(session.step(&order[0]), []);
        assert_eq!(session.phase, Phase::Reserved);
        assert_eq!(session.step(&order[1]), [Effect::Go]);
        assert_eq!(session.phase, Phase::Launching);
        for again in order {
            assert_eq!(session.step(&again), []);
        }
    }
}

#[test]
fn no_process_is_started_without_a_row() {
    let mut session = after(session(), &[Event::KeeperReady]);
    assert_eq!(session.step(&failed("disk full")), [Effect::Dismiss, Effect::RetryLater]);
    let reason = Reason::Failed { code: LaunchFailure::Setup, why: "disk full".into() };
    assert_eq!(session.reason, Some(reason.clone()));
    assert!(session.is_stop_wanted());
    // The write is retried for the record. That starts nothing.
    assert_eq!(session.step(&Event::RetryDue), [RECORD]);
    assert_eq!(session.step(&Event::Recorded), []);
    assert_eq!(session.step(&born()), [NOTE, Effect::Dismiss]);
    let session = after(session, &[Event::Gone { exit: Exit::NeverRan, reason: None }]);
    assert_eq!((session.reason, session.exit), (Some(reason), Some(Exit::NeverRan)));
}

#[test]
fn a_session_ends_if_no_keeper_can_be_started() {
    let mut session = session();
    let effects = session.step(&Event::KeeperNotStarted { why: "no memory".into() });
    assert!(matches!(effects[..], [Effect::CleanUp { .. }]), "{effects:?}");
    assert_eq!((session.phase, session.exit.clone()), (Phase::Reaped, Some(Exit::NeverRan)));
    assert_eq!(
        session.reason,
        Some(Reason::Failed { code: LaunchFailure::Setup, why: "no memory".into() })
    );
}

#[test]
fn a_keeper_that_sent_its_hello_was_started() {
    for mut session in [after(session(), &[Event::KeeperReady]), launching(), running()] {
        let before = session.clone();
        assert_eq!(session.step(&Event::KeeperNotStarted { why: "late".into() }), []);
        assert_eq!(session, before);
    }
}

#[test]
fn a_process_is_recorded_and_granted_once() {
    let mut session = launching();
    assert_eq!(session.step(&born()), [NOTE, Effect::Grant]);
    assert_eq!(session.phase, Phase::Starting);
    assert!(session.launch.granted && session.may_have_run());
    assert_eq!(session.launch.identity.as_deref(), Some("it"));
    assert_eq!((session.launch.pid, session.launch.pen.as_deref()), (Some(42), Some("/pen")));
    assert_eq!(session.step(&born()), []);
}

#[test]
fn a_process_born_too_early_is_dismissed() {
    // It got no order to launch.
    assert_eq!(session().step(&born()), [NOTE, Effect::Dismiss]);
    // Only a daemon that has a durable row sends the order to launch.
    assert_eq!(after(session(), &[Event::Recorded]).step(&born()), [NOTE, Effect::Grant]);
}

#[test]
fn a_process_born_after_a_stop_is_dismissed() {
    let mut session = after(launching(), &[stop(None)]);
    assert_eq!(session.step(&born()), [NOTE, Effect::Dismiss]);
    assert!(!session.launch.granted && !session.may_have_run());
    assert_eq!(session.phase, Phase::Launching);
}

#[test]
fn a_keeper_whose_hello_follows_a_stop_is_dismissed() {
    let mut session = after(session(), &[stop(None), Event::Recorded]);
    assert_eq!(session.step(&Event::KeeperReady), [Effect::Dismiss]);
    assert_eq!(session.phase, Phase::Reserved);
}

#[test]
fn a_session_runs_once_its_keeper_reports_it() {
    let mut session = starting();
    assert_eq!(session.step(&Event::Opened), [NOTE]);
    assert_eq!(session.phase, Phase::Running);
    assert_eq!(session.step(&Event::Opened), []);
}

#[test]
fn a_program_that_opens_after_a_stop_is_stopped_again() {
    let mut session = after(starting(), &[stop(None)]);
    let again = Effect::Stop { grace: crate::tests::GRACE };
    assert_eq!(session.step(&Event::Opened), [again]);
    assert_eq!(session.phase, Phase::Stopping);
}

#[test]
fn a_launch_that_fails_never_ran() {
    let fails = Event::LaunchFailed { code: LaunchFailure::Exec, why: "no such program".into() };
    for session in [launching(), starting()] {
        let session = after(session, std::slice::from_ref(&fails));
        assert_eq!((session.phase, session.exit.clone()), (Phase::Reaped, Some(Exit::NeverRan)));
        assert_eq!(
            session.reason,
            Some(Reason::Failed { code: LaunchFailure::Exec, why: "no such program".into() })
        );
        assert!(!session.may_have_run());
    }
    let session = after(starting(), &[stop(None), fails]);
    assert_eq!(session.reason, Some(stopped()), "the stop came first");
}

#[test]
fn an_exit_is_recorded_before_the_pen_is_empty() {
    let mut session = running();
    assert_eq!(session.step(&Event::Exited { exit: CODE }), [NOTE]);
    assert_eq!((session.phase, session.exit.clone()), (Phase::Running, Some(CODE)));
    assert_eq!(session.reason, Some(Reason::Exited));
    assert_eq!(session.step(&Event::Exited { exit: Exit::Code { code: 1 } }), []);
    assert_eq!(session.exit, Some(CODE));
}

#[test]
fn a_record_that_fails_later_is_retried() {
    let mut session = after(running(), &[stop(None)]);
    assert_eq!(session.step(&failed("disk full")), [Effect::RetryLater]);
    assert_eq!(session.phase, Phase::Stopping, "the stop continues");
    assert_eq!(session.step(&failed("disk full")), [], "no write is in progress");
    assert_eq!(session.step(&Event::RetryDue), [RECORD]);
    assert_eq!(session.step(&Event::RetryDue), [], "the write is in progress");
}
