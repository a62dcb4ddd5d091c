//! A stop, in every phase, any number of times.

use std::time::Duration;

use kennel_types::{Exit, Phase, Reason};

use super::{CODE, NOTE, RECORD, after, gone, reaped, running, session, stoppable, stopping};
use crate::effect::Effect;
use crate::event::{Event, StopIntent};
use crate::session::DesiredState;
use crate::tests::{GRACE, stop, stopped};

#[test]
fn a_stop_is_wanted_durably_and_passed_on_in_every_phase() {
    let stop_effect = Effect::Stop { grace: GRACE };
    let [reserved, launching, starting, running, _] = stoppable();
    for (mut session, effect, phase) in [
        (reserved, Effect::Dismiss, Phase::Reserved),
        (launching, Effect::Dismiss, Phase::Launching),
        (starting, stop_effect.clone(), Phase::Stopping),
        (running, stop_effect, Phase::Stopping),
    ] {
        // In `Reserved` the first record is still being written; another one follows.
        let at_once = session.phase != Phase::Reserved;
        let effects = session.step(&stop(None));
        assert_eq!(effects, if at_once { vec![effect, RECORD] } else { vec![effect] });
        assert_eq!(
            (session.phase, session.wanted),
            (phase, DesiredState::Stopped { grace: GRACE })
        );
        assert_eq!(session.reason, Some(stopped()));
        assert_eq!(session.step(&Event::Recorded), if at_once { vec![] } else { vec![RECORD] });
    }
}

#[test]
fn the_shortest_grace_wins_and_the_first_reason_stays() {
    let second = Duration::from_secs(1);
    let mut session = stopping();
    assert_eq!(session.step(&stop(None)), [], "a repeated stop");
    assert_eq!(session.step(&stop(Some(second))), [Effect::Stop { grace: second }, NOTE]);
    assert_eq!(session.step(&stop(Some(GRACE))), []);
    assert_eq!(session.wanted, DesiredState::Stopped { grace: second });
    let shutdown = StopIntent { grace: Some(Duration::ZERO), reason: Reason::Shutdown };
    let now = Effect::Stop { grace: Duration::ZERO };
    assert_eq!(session.step(&Event::StopAsked(shutdown)), [now, NOTE]);
    assert_eq!(session.reason, Some(stopped()));
}

#[test]
fn a_dismissal_is_repeated_with_each_stop() {
    let mut session = after(session(), &[stop(None)]);
    for _ in 0..3 {
        assert_eq!(session.step(&stop(None)), [Effect::Dismiss]);
    }
}

#[test]
fn an_ended_session_is_not_stopped() {
    let cleaned =
        after(reaped(), &[Event::CleanedUp { what: kennel_types::OwedKind::RuntimeFiles }]);
    for mut session in [reaped(), cleaned] {
        let before = session.clone();
        assert_eq!(session.step(&stop(None)), []);
        assert_eq!(session, before);
        assert_eq!(session.reason, Some(Reason::Exited));
    }
}

#[test]
fn every_phase_ends_with_its_keepers_report() {
    for session in stoppable() {
        let wanted = session.wanted;
        let session = after(session, &[gone(CODE)]);
        assert_eq!((session.phase, session.exit.clone()), (Phase::Reaped, Some(CODE)));
        assert_eq!(session.wanted, wanted);
        assert!(session.reason.is_some());
    }
}

#[test]
fn a_known_exit_stays() {
    let unknown = Exit::Unknown { why: "its end was not observed".into() };
    let session = after(running(), &[Event::Exited { exit: CODE }, gone(unknown.clone())]);
    assert_eq!(session.exit, Some(CODE));
    let session = after(running(), &[gone(unknown), Event::Exited { exit: CODE }]);
    assert_eq!(session.exit, Some(CODE), "a known exit replaces an unknown one");
}

#[test]
fn a_keepers_own_reason_counts_if_no_stop_was_requested() {
    let lease = Event::Gone { exit: CODE, reason: Some(Reason::LeaseOver) };
    assert_eq!(after(running(), std::slice::from_ref(&lease)).reason, Some(Reason::LeaseOver));
    assert_eq!(after(stopping(), &[lease]).reason, Some(stopped()));
}

#[test]
fn survivors_are_reported_until_the_end() {
    let survivors =
        vec![kennel_types::Survivor { pid: 7, name: "dd".into(), why: "uninterruptible".into() }];
    let still = Event::StillAlive { survivors: survivors.clone() };
    let mut session = stopping();
    assert_eq!(session.step(&still), [NOTE]);
    assert_eq!(session.step(&still), [], "the same survivors");
    assert_eq!((session.phase, &session.survivors), (Phase::Stopping, &survivors));
    assert_eq!(after(session, &[gone(CODE)]).survivors, []);
}
