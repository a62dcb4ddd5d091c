//! The queue, and idempotency keys.

use kennel_types::SessionSpec;
use proptest::prelude::*;

use super::*;
use crate::admission::{Admission, Applicant, Caps, LimitReached, NameCap, Pattern, decide};

fn caps(live: u32) -> Caps {
    Caps { live: Some(live), ..Caps::default() }
}

fn decision(world: &World, caps: &Caps, may_queue: bool) -> Admission {
    decide(caps, &world.session_counts(caps), Applicant { name: None, may_queue })
}

/// Starts the next sessions, as a daemon does.
fn start_next(world: &mut World, caps: &Caps) -> Vec<SessionId> {
    let next = world.next_in_queue(caps);
    for id in &next {
        drop(world.step(id, &Event::TurnCame));
    }
    next
}

#[test]
fn the_queue_advances_in_order_as_sessions_end() {
    let caps = caps(1);
    let mut world = world([named(1, None, None)]);
    for number in 2..5 {
        let position = usize::try_from(number).unwrap() - 1;
        let over = LimitReached::Live { count: 1, limit: 1 };
        assert_eq!(decision(&world, &caps, true), Admission::Queue { position, over });
        drop(world.admit(named(number, None, None).queued()));
        assert_eq!(world.queue_position(&id(number)), Some(position));
    }
    assert_eq!(start_next(&mut world, &caps), []);
    run(&mut world, 1);
    drop(end(&mut world, 1));
    assert!(
        matches!(decision(&world, &caps, false), Admission::Refuse(_)),
        "other sessions are queued"
    );
    assert_eq!(start_next(&mut world, &caps), [id(2)]);
    assert_eq!(start_next(&mut world, &caps), [], "the limit is reached again");
    assert_eq!([2, 3, 4].map(|it| world.queue_position(&id(it))), [None, Some(1), Some(2)]);
    assert_eq!(world.queue_positions(), [(&id(3), 1), (&id(4), 2)].into());
    // A session that is stopped leaves the queue at once.
    drop(world.step(&id(3), &stop(None)));
    assert_eq!([3, 4].map(|it| world.queue_position(&id(it))), [None, Some(1)]);
}

#[test]
fn a_session_that_waits_for_a_name_limit_does_not_hold_up_others() {
    let names = vec![NameCap { pattern: Pattern("rev-*".into()), most: 1 }];
    let caps = Caps { live: Some(3), names, ..Caps::default() };
    let mut world = world([named(1, Some("rev-1"), None)]);
    drop(world.admit(named(2, Some("rev-2"), None).queued()));
    drop(world.admit(named(3, Some("other"), None).queued()));
    assert_eq!(world.next_in_queue(&caps), [id(3)]);
    assert_eq!(decision(&world, &caps, false), Admission::Admit);
}

#[test]
fn a_new_daemon_keeps_the_queue_and_a_shutdown_empties_it() {
    let mut before = world([named(1, None, None)]);
    for number in [4, 3] {
        drop(before.admit(named(number, None, None).queued()));
    }
    let mut world = World::default();
    drop(world.restore([1, 3, 4].map(|number| row(&before, number))));
    assert_eq!([4, 3].map(|number| world.queue_position(&id(number))), [Some(1), Some(2)]);
    drop(world.admit(named(2, None, None).queued()));
    assert_eq!(world.queue_position(&id(2)), Some(3), "a later session is behind them");
    drop(world.drain(None));
    assert_eq!(world.next_in_queue(&Caps::default()), []);
    assert_eq!(reason(&world, 3), Some(Reason::Shutdown));
}

#[test]
fn the_end_of_a_parent_removes_its_child_from_the_queue() {
    let mut world = world([named(1, None, None)]);
    run(&mut world, 1);
    drop(world.admit(named(2, None, Some(1)).queued()));
    drop(world.step(&id(1), &stop(None)));
    assert_eq!(reason(&world, 2), Some(Reason::ParentEnded));
    assert_eq!(world.queue_position(&id(2)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// In any order of ends, the live sessions never exceed the cap, they start in the order of
    /// their requests, and no session waits while there is room.
    #[test]
    fn limits_and_order_hold_for_any_sessions(
        cap in 1..4_u32,
        moves in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..40),
    ) {
        let caps = caps(cap);
        let mut world = World::default();
        let mut called = Vec::new();
        let live = |world: &World| {
            let it = |it: &&Session| it.phase != Phase::Queued && !it.has_ended();
            world.sessions().filter(it).map(|it| it.id.clone()).collect::<Vec<_>>()
        };
        for (number, (arrives, which)) in moves.into_iter().enumerate() {
            if arrives {
                let session = named(number as u64, None, None);
                let session = match decision(&world, &caps, true) {
                    Admission::Admit => session,
                    Admission::Queue { .. } => session.queued(),
                    Admission::Refuse(over) => panic!("{over}"),
                };
                prop_assert!(world.admit(session).is_ok(), "refused");
            } else if let living @ [_, ..] = &live(&world)[..] {
                let id = which.get(living).clone();
                drop(world.step(&id, &Event::Recorded));
                drop(world.step(&id, &Event::Recorded));
                drop(world.step(&id, &Event::KeeperNotStarted { why: "a test".into() }));
                prop_assert!(world.get(&id).unwrap().has_ended());
            }
            called.extend(start_next(&mut world, &caps));
            prop_assert!(live(&world).len() <= cap as usize);
            let waiting = world.sessions().any(|it| it.phase == Phase::Queued);
            prop_assert!(!waiting || live(&world).len() == cap as usize, "a session waits although there is room");
        }
        prop_assert!(called.is_sorted());
    }
}

const RETENTION: Duration = Duration::from_secs(60);

fn keyed(number: u64) -> Session {
    let mut session = named(number, None, None);
    session.spec.key = Some("k".into());
    session
}

fn looked_up(world: &World, spec: &SessionSpec, ended_ago: u64) -> Keyed {
    world.by_key(spec, RETENTION, |_| Some(Duration::from_secs(ended_ago)))
}

#[test]
fn a_key_stands_for_its_session_until_the_retention_ends() {
    let mut world = world([keyed(1)]);
    let same = keyed(2).spec;
    assert_eq!(looked_up(&world, &same, 1000), Keyed::Same(id(1)));
    assert_eq!(refused(&mut world, keyed(2)), AdmitError::KeyTaken { key: "k".into(), by: id(1) });
    run(&mut world, 1);
    drop(end(&mut world, 1));
    assert_eq!(looked_up(&world, &same, 59), Keyed::Same(id(1)));
    assert_eq!(looked_up(&world, &same, 60), Keyed::Free);
    assert_eq!(world.by_key(&same, RETENTION, |_| None), Keyed::Free);
    assert_eq!(looked_up(&world, &spec(), 0), Keyed::Free, "a request without a key");
}

#[test]
fn a_different_request_with_the_same_key_is_refused_with_its_differences() {
    let world = world([keyed(1)]);
    let mut other = keyed(2).spec;
    other.asked_by = "another user".into();
    other.argv = vec!["false".into()];
    other.timeout = Some(Duration::from_secs(1));
    let fields = vec!["argv", "timeout"];
    assert_eq!(looked_up(&world, &other, 0), Keyed::Different { by: id(1), fields });
}

#[test]
fn a_key_stands_for_the_latest_launch() {
    let mut world = world([keyed(1)]);
    run(&mut world, 1);
    drop(end(&mut world, 1));
    let by = RelaunchBy::Caller { name: "ada".into(), parent: None, tethered: true };
    let how =
        Relaunch { token: LaunchToken::new(2), owed: Vec::new(), queued: false, by, changes: None };
    assert!(matches!(world.relaunch(&id(1), how), Relaunched::Admitted { .. }));
    assert_eq!(looked_up(&world, &keyed(2).spec, 0), Keyed::Same(id(1).next_attempt()));
}
