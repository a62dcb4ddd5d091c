//! Before there is a keeper: in the queue, and while resources are created.

use kennel_types::{Exit, KeptItem, LaunchFailure, OwedKind, Phase, Reason};

use super::{CODE, NOTE, RECORD, after, failed, gone};
use crate::effect::Effect;
use crate::event::{Event, PenEnd, Probe};
use crate::session::{Session, Underway};
use crate::tests::{asking, born, stop, stopped, tree, worktree};

fn making() -> Session {
    asking(|spec| spec.worktree = Some(worktree()))
}

fn make(again: bool) -> Effect {
    Effect::Make { what: tree(), again }
}

fn made() -> Event {
    Event::Made { what: tree() }
}

fn not_made() -> Event {
    Event::MakeFailed { what: tree(), why: "no space left".into() }
}

fn queued() -> Session {
    asking(|_| ()).queued()
}

fn cleans_up(effects: &[Effect]) -> bool {
    [OwedKind::RuntimeFiles, tree()]
        .iter()
        .all(|what| effects.contains(&Effect::CleanUp { what: what.clone() }))
}

fn restored(session: &Session) -> Session {
    Session { underway: Underway::default(), ..session.clone() }
}

fn no_keeper(effects: &[Effect]) -> bool {
    let uses_keeper = |effect: &Effect| {
        matches!(
            effect,
            Effect::StartKeeper
                | Effect::Go
                | Effect::Dismiss
                | Effect::Stop { .. }
                | Effect::EndPen
                | Effect::Probe
        )
    };
    !effects.iter().any(uses_keeper)
}

#[test]
fn a_worktree_is_recorded_before_it_is_created_and_exists_before_a_keeper() {
    let mut session = making();
    assert_eq!((session.phase, session.first_effects()), (Phase::Making, vec![RECORD]));
    assert!(session.owed.iter().any(|owed| owed.what == tree()), "owed from the beginning");
    assert_eq!(session.step(&Event::Recorded), [make(false)]);
    assert_eq!(session.step(&Event::Recorded), [], "once");
    assert_eq!(session.step(&made()), [RECORD]);
    assert_eq!((session.phase, session.launch.recorded), (Phase::Reserved, false));
    assert_eq!(session.step(&made()), []);
    assert_eq!(session.step(&Event::Recorded), [Effect::StartKeeper]);
    assert_eq!(session.step(&Event::KeeperReady), [Effect::Go]);
    let session = after(session, &[born(), Event::Opened]);
    assert_eq!(session.phase, Phase::Running);
}

#[test]
fn a_worktree_that_could_not_be_created_is_cleaned_up_and_not_launched() {
    let mut session = after(making(), &[Event::Recorded]);
    let effects = session.step(&not_made());
    assert!(cleans_up(&effects) && no_keeper(&effects), "{effects:?}");
    assert_eq!((session.phase, session.exit.clone()), (Phase::Reaped, Some(Exit::NeverRan)));
    let reason = Reason::Failed { code: LaunchFailure::Setup, why: "no space left".into() };
    assert_eq!(session.reason, Some(reason));
    for late in [made(), Event::KeeperReady, born()] {
        assert_eq!(session.step(&late), []);
    }
}

#[test]
fn a_stop_during_the_creation_waits_for_its_result() {
    for answer in [made(), not_made()] {
        // The result arrives before or after the record.
        for first in [Event::Recorded, answer.clone()] {
            let second = if first == answer { Event::Recorded } else { answer.clone() };
            let mut session = after(making(), &[Event::Recorded]);
            assert_eq!(session.step(&stop(None)), [RECORD]);
            assert_eq!(session.step(&stop(None)), [], "twice");
            let mut effects = session.step(&first);
            let early = matches!(first, Event::MakeFailed { .. });
            assert_eq!(session.has_ended(), early, "{first:?}");
            effects.extend(session.step(&second));
            assert!(cleans_up(&effects) && no_keeper(&effects), "{effects:?}");
            assert_eq!((session.phase, session.reason.clone()), (Phase::Reaped, Some(stopped())));
            assert_eq!(session.exit, Some(Exit::NeverRan));
        }
    }
}

#[test]
fn a_stop_before_the_row_is_durable_creates_nothing() {
    let mut session = making();
    assert_eq!(session.step(&stop(None)), [], "the row is being written");
    assert_eq!(session.step(&Event::Recorded), [RECORD], "it is written again with the stop");
    let effects = session.step(&Event::Recorded);
    assert!(cleans_up(&effects) && no_keeper(&effects), "{effects:?}");
    assert!(!effects.contains(&make(false)));
}

#[test]
fn a_stop_after_the_worktree_exists_starts_no_keeper() {
    let mut session = after(making(), &[Event::Recorded, made()]);
    assert_eq!(session.step(&stop(None)), []);
    assert_eq!(session.step(&Event::Recorded), [RECORD]);
    let effects = session.step(&Event::Recorded);
    assert!(cleans_up(&effects) && no_keeper(&effects), "{effects:?}");
    assert_eq!((session.phase, session.reason), (Phase::Reaped, Some(stopped())));
}

#[test]
fn a_new_daemon_does_not_continue_to_create_a_worktree() {
    for row in [making(), after(making(), &[Event::Recorded])] {
        let mut session = restored(&row);
        let effects = session.step(&Event::Restored);
        assert!(cleans_up(&effects) && no_keeper(&effects), "{effects:?}");
        assert_eq!((session.phase, session.exit.clone()), (Phase::Reaped, Some(Exit::NeverRan)));
        let Some(Reason::Failed { code: LaunchFailure::Internal, why }) = &session.reason else {
            panic!()
        };
        assert!(why.contains("while its worktree was being created"), "{why}");
    }
    // Once the worktree exists, there may be a keeper, so a probe follows.
    let mut session = restored(&after(making(), &[Event::Recorded, made(), Event::Recorded]));
    assert_eq!(session.step(&Event::Restored), [Effect::Probe]);
}

#[test]
fn a_worktree_with_work_is_kept_and_no_longer_owed() {
    let events =
        [Event::Recorded, made(), Event::Recorded, Event::KeeperReady, born(), Event::Opened];
    let mut session = after(making(), &events);
    assert!(cleans_up(&session.step(&gone(CODE))));
    let keep = Event::Kept { what: tree(), why: "2 commits".into() };
    assert_eq!(session.step(&keep), [NOTE]);
    assert_eq!(session.step(&keep), [], "once");
    let files = OwedKind::RuntimeFiles;
    // The outcome is being written. The cleanup is recorded after that.
    assert_eq!(session.step(&Event::CleanedUp { what: files }), []);
    assert_eq!(session.step(&Event::Recorded), [NOTE, Effect::Release]);
    let kept = vec![KeptItem { what: tree(), why: "2 commits".into() }];
    assert_eq!((session.phase, session.kept.clone()), (Phase::Cleaned, kept));
    // A user removes it later.
    assert_eq!(session.step(&Event::CleanedUp { what: tree() }), [NOTE]);
    assert_eq!(session.kept, []);
}

#[test]
fn the_worktree_of_a_session_that_is_given_up_is_kept() {
    let events =
        [Event::Recorded, made(), Event::Recorded, Event::KeeperReady, born(), Event::Opened];
    let mut session = after(making(), &events);
    let unseen = Event::PenEnded(PenEnd::Unobservable { why: "no yard".into() });
    session = after(session, &[Event::KeeperLost, unseen]);
    let effects = session.step(&Event::Forgotten { by: "ada".into() });
    assert!(!effects.contains(&Effect::CleanUp { what: tree() }), "{effects:?}");
    assert_eq!((session.phase, session.kept.len()), (Phase::Cleaned, 1));
}

#[test]
fn a_queued_session_starts_nothing_until_its_turn() {
    let mut session = queued();
    assert_eq!((session.phase, session.first_effects()), (Phase::Queued, vec![RECORD]));
    assert_eq!(session.step(&Event::Recorded), []);
    assert_eq!(session.step(&Event::TurnCame), [RECORD]);
    assert_eq!(session.step(&Event::TurnCame), []);
    assert_eq!(session.step(&Event::Recorded), [Effect::StartKeeper]);
    assert_eq!(session.step(&Event::KeeperReady), [Effect::Go]);
}

#[test]
fn a_session_may_leave_the_queue_before_its_row_is_durable() {
    let mut session = queued();
    assert_eq!(session.step(&Event::TurnCame), []);
    assert_eq!(session.step(&Event::Recorded), [RECORD], "the phase in that row is only queued");
    assert_eq!(session.step(&Event::Recorded), [Effect::StartKeeper]);
}

#[test]
fn a_queued_session_creates_its_worktree_at_its_turn() {
    let mut session = making().queued();
    assert_eq!(session.step(&Event::Recorded), []);
    assert_eq!(session.step(&Event::TurnCame), [RECORD]);
    assert_eq!((session.phase, session.step(&Event::Recorded)), (Phase::Making, vec![make(false)]));
}

#[test]
fn a_stop_in_the_queue_ends_a_session_without_a_keeper() {
    let waiting = after(queued(), &[Event::Recorded]);
    let called = after(waiting.clone(), &[Event::TurnCame]);
    for mut session in [queued(), waiting, called] {
        let mut effects = session.step(&stop(None));
        assert!(!session.has_ended(), "not before the stop is on record");
        effects.extend(session.step(&Event::TurnCame));
        while !session.has_ended() {
            let more = session.step(&Event::Recorded);
            assert!(!more.is_empty(), "it stays {:?}", session.phase);
            effects.extend(more);
        }
        assert!(no_keeper(&effects), "{effects:?}");
        let (exit, reason) = (session.exit.clone(), session.reason.clone());
        assert_eq!((exit, reason), (Some(Exit::NeverRan), Some(stopped())));
    }
}

#[test]
fn a_stop_in_the_queue_that_cannot_be_recorded_ends_a_session_too() {
    let mut session = after(queued(), &[Event::Recorded, stop(None)]);
    let effects = session.step(&failed("disk full"));
    assert!(effects.contains(&Effect::RetryLater) && no_keeper(&effects), "{effects:?}");
    assert_eq!((session.phase, session.reason), (Phase::Reaped, Some(stopped())));
}

#[test]
fn without_a_row_a_session_is_not_queued() {
    let mut session = queued();
    assert!(no_keeper(&session.step(&failed("disk full"))));
    let reason = Reason::Failed { code: LaunchFailure::Setup, why: "disk full".into() };
    assert_eq!((session.phase, session.reason), (Phase::Reaped, Some(reason)));
}

#[test]
fn a_new_daemon_keeps_a_queued_session() {
    let mut session = restored(&queued());
    assert_eq!(session.step(&Event::Restored), []);
    assert_eq!(session.phase, Phase::Queued);
    assert!(!session.may_have_run());
    assert_eq!(session.step(&Event::TurnCame), [RECORD]);
    assert_eq!(session.step(&Event::Recorded), [Effect::StartKeeper]);
    // A session with a recorded stop is not kept.
    let mut session = restored(&after(queued(), &[stop(None)]));
    let effects = session.step(&Event::Restored);
    assert!(session.has_ended() && no_keeper(&effects), "{effects:?}");
}

#[test]
fn events_of_a_keeper_that_was_not_requested_are_ignored() {
    for mut session in [queued(), making(), after(making(), &[Event::Recorded, made()])] {
        let before = session.clone();
        for event in [
            Event::KeeperReady,
            Event::KeeperNotStarted { why: "no".into() },
            born(),
            Event::Opened,
            gone(CODE),
            Event::Exited { exit: CODE },
            Event::KeeperLost,
            Event::PenEnded(PenEnd::Empty { exit: None }),
            Event::Probed(Probe::NoKeeper),
        ] {
            assert_eq!(session.step(&event), [], "{event:?}");
        }
        assert_eq!(session, before);
    }
}

#[test]
fn a_row_without_a_worktree_record_is_read() {
    let row = r#"{"kind":"worktree","repo":"/repo","path":"/tree","branch":"b"}"#;
    assert_eq!(serde_json::from_str::<OwedKind>(row).unwrap(), tree());
}
