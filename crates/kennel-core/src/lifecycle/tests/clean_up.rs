//! After the end: cleanup, the durable outcome, and the keeper's release.

use kennel_types::{OwedKind, Phase};

use super::{CODE, NOTE, RECORD, after, failed, gone, reaped, running};
use crate::effect::Effect;
use crate::event::Event;
use crate::session::Session;
use crate::tests::{owing, stop};

const FILES: OwedKind = OwedKind::RuntimeFiles;

fn folder() -> OwedKind {
    OwedKind::PenFolder { path: "/pen".into() }
}

fn fails(what: OwedKind) -> Event {
    Event::CleanUpFailed { what, why: "busy".into() }
}

fn run(mut session: Session) -> Session {
    session = after(session, &[Event::Recorded, Event::KeeperReady]);
    after(session, &[crate::tests::born(), Event::Opened])
}

#[test]
fn if_nothing_is_owed_the_last_two_phases_share_a_record() {
    let mut session = run(owing(&[]));
    assert_eq!(session.step(&gone(CODE)), [RECORD]);
    assert_eq!((session.phase, session.is_live()), (Phase::Cleaned, false));
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
    assert_eq!(session.step(&Event::Recorded), [], "once");
}

#[test]
fn everything_owed_is_removed_before_a_session_is_cleaned() {
    let mut session = run(owing(&[FILES, folder()]));
    let [files, pen] = [FILES, folder()].map(|what| Effect::CleanUp { what });
    assert_eq!(session.step(&gone(CODE)), [RECORD, files, pen], "the outcome does not wait");
    assert_eq!(session.step(&gone(CODE)), [], "a repeated report");
    assert_eq!(session.step(&Event::CleanedUp { what: FILES }), [NOTE]);
    assert_eq!(session.step(&Event::CleanedUp { what: FILES }), []);
    assert_eq!((session.phase, session.is_live()), (Phase::Reaped, true));
    assert_eq!(
        session.step(&Event::CleanedUp { what: folder() }),
        [],
        "the outcome is recorded first"
    );
    assert_eq!((session.phase, session.owed.len()), (Phase::Cleaned, 0));
    assert_eq!(session.step(&Event::Recorded), [NOTE, Effect::Release]);
}

#[test]
fn a_resource_may_become_owed_late() {
    let mut session = running();
    assert_eq!(session.step(&Event::Owes { what: folder() }), []);
    assert_eq!(session.step(&Event::Owes { what: folder() }), []);
    assert_eq!(session.owed.len(), 2);
    let mut session = reaped();
    assert_eq!(session.step(&Event::Owes { what: folder() }), [Effect::CleanUp { what: folder() }]);
}

#[test]
fn a_keeper_does_not_wait_for_a_directory_that_cannot_be_removed() {
    let mut session = reaped();
    assert_eq!(session.step(&fails(FILES)), [NOTE, Effect::RetryLater]);
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
    assert_eq!((session.phase, session.owed[0].failures), (Phase::Reaped, 1));
    assert_eq!(session.owed[0].why.as_deref(), Some("busy"));
    for failures in 2..5 {
        assert_eq!(session.step(&Event::RetryDue), [Effect::CleanUp { what: FILES }]);
        assert_eq!(
            session.step(&fails(FILES)),
            [NOTE, Effect::RetryLater],
            "no durable record each time"
        );
        assert_eq!(session.owed[0].failures, failures);
    }
    drop(session.step(&Event::RetryDue));
    assert_eq!(session.step(&Event::CleanedUp { what: FILES }), [NOTE]);
    assert_eq!((session.phase, session.is_live()), (Phase::Cleaned, false));
}

#[test]
fn an_outcome_that_cannot_be_written_is_kept_and_retried() {
    let mut session = run(owing(&[]));
    drop(session.step(&gone(CODE)));
    assert!(!session.is_unrecorded());
    for _ in 0..3 {
        assert_eq!(session.step(&failed("disk full")), [Effect::RetryLater]);
        assert!(session.is_unrecorded());
        assert_eq!(session.step(&Event::RetryDue), [RECORD]);
    }
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
    assert!(!session.is_unrecorded());
}

/// The record of a stop is still being written when the end is seen.
#[test]
fn the_answer_to_an_older_record_releases_no_keeper() {
    let mut session = run(owing(&[]));
    assert_eq!(session.step(&stop(None)).last(), Some(&RECORD));
    assert_eq!(session.step(&gone(CODE)), [], "one record at a time");
    assert_eq!(session.step(&Event::Recorded), [RECORD]);
    assert_eq!(session.step(&Event::Recorded), [Effect::Release]);
}

#[test]
fn unexpected_removals_change_nothing() {
    let mut session = running();
    let before = session.clone();
    assert_eq!(session.step(&Event::CleanedUp { what: FILES }), []);
    assert_eq!(session.step(&fails(FILES)), []);
    assert_eq!(session, before);
}

#[test]
fn a_session_needs_no_more_than_four_durable_records() {
    let mut flushes = 1;
    let mut session = owing(&[FILES]);
    for event in [
        Event::Recorded,
        Event::KeeperReady,
        crate::tests::born(),
        Event::Opened,
        stop(None),
        Event::Recorded,
        Event::Exited { exit: CODE },
        gone(CODE),
        fails(FILES),
        Event::Recorded,
        Event::RetryDue,
        Event::CleanedUp { what: FILES },
        Event::Recorded,
    ] {
        flushes += session.step(&event).iter().filter(|effect| **effect == RECORD).count();
    }
    assert_eq!(
        (session.phase, flushes),
        (Phase::Cleaned, 3),
        "including a stop and a folder that can't be removed at first"
    );
}
