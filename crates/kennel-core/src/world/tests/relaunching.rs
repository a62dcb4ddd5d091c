//! Several launches of one session.

use kennel_types::{KeptItem, Owed, OwedKind, Restart};

use super::*;
use crate::restart::NoRestartReason;
use crate::tests::{asking, tree, worktree};

fn by_user(token: u128) -> Relaunch {
    let by = RelaunchBy::Caller { name: "ada".into(), parent: None, tethered: false };
    let files = Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None };
    Relaunch { token: LaunchToken::new(token), owed: vec![files], queued: false, by, changes: None }
}

/// The row of the new launch is durable before that of the previous one refers to it.
#[test]
fn a_launch_with_a_successor_is_not_pending_after_a_crash() {
    let mut world = World::default();
    let former = Session {
        phase: Phase::Cleaned,
        relaunch: RelaunchState::Pending,
        ..asking(|spec| spec.restart = Restart::OnFailure { most: None })
    };
    let next = Session::new(
        former.id.next_attempt(),
        former.spec.clone(),
        LaunchToken::new(3),
        Vec::new(),
    );
    let id = former.id.clone();
    let effects = world.restore([former.clone(), next]);
    assert_eq!(world.get(&id).unwrap().relaunch, RelaunchState::Launched);
    assert!(effects.iter().any(|(whose, _)| *whose == id), "that is recorded");
    let mut alone = World::default();
    let _effects = alone.restore([former]);
    assert_eq!(alone.get(&id).unwrap().relaunch, RelaunchState::Pending);
}

fn by_policy() -> Relaunch {
    Relaunch { by: RelaunchBy::Policy { ran: Duration::ZERO }, ..by_user(7) }
}

fn ended() -> World {
    let mut world = world([named(1, Some("ada"), None)]);
    run(&mut world, 1);
    drop(end(&mut world, 1));
    assert_eq!(world.get(&id(1)).unwrap().phase, Phase::Cleaned);
    drop(world.step(&id(1), &Event::Recorded));
    world
}

fn second() -> SessionId {
    id(1).next_attempt()
}

fn fails(world: &mut World, id: &SessionId) {
    for event in [Event::Recorded, Event::KeeperReady, born(), Event::Opened] {
        drop(world.step(id, &event));
    }
    let gone = Event::Gone { exit: Exit::Code { code: 1 }, reason: None };
    drop(world.step(id, &gone));
    drop(world.step(id, &Event::CleanedUp { what: OwedKind::RuntimeFiles }));
    drop(world.step(id, &Event::Recorded));
    assert_eq!(world.get(id).unwrap().phase, Phase::Cleaned);
}

/// A world with a session that has a restart policy and has failed.
fn failing(most: Option<u32>) -> World {
    let mut session = named(1, None, None);
    session.spec.restart = Restart::OnFailure { most };
    let mut world = world([session]);
    fails(&mut world, &id(1));
    world
}

#[test]
fn four_resumes_are_one_launch() {
    let mut world = ended();
    let Relaunched::Admitted { id: new, effects } = world.relaunch(&id(1), by_user(2)) else {
        panic!()
    };
    assert_eq!(new, second());
    let record = |durable| Effect::Record { durable };
    assert_eq!(effects, [(second(), record(true)), (id(1), record(false))]);
    let (former, session) = (world.get(&id(1)).unwrap(), world.get(&new).unwrap());
    assert_eq!(session.spec.argv, former.spec.argv);
    assert_ne!(session.launch.token, former.launch.token);
    assert_eq!((session.owed.len(), session.spec.asked_by.as_str()), (1, "ada"));
    for token in 3..6 {
        let already = Relaunched::Already { id: second() };
        assert_eq!(world.relaunch(&id(1), by_user(token)), already);
        assert_eq!(world.relaunch(&second(), by_user(token)), already);
    }
    // If the row were lost, its id would be reused: no keeper before it is durable.
    assert_eq!(world.step(&second(), &Event::Recorded), [(second(), Effect::StartKeeper)]);
    // One of the four requests arrives after even the new launch has ended.
    fails(&mut world, &second());
    assert_eq!(world.relaunch(&id(1), by_user(6)), Relaunched::Already { id: second() });
    // A request for another launch after that one succeeds.
    assert!(matches!(world.relaunch(&second(), by_user(7)), Relaunched::Admitted { .. }));
}

#[test]
fn a_resume_waits_for_the_end_and_the_cleanup() {
    let mut world = world([Session::new(
        id(1),
        spec(),
        LaunchToken::new(1),
        vec![Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }],
    )]);
    let wait = Relaunched::Wait { id: id(1) };
    let already = Relaunched::Already { id: id(1) };
    assert_eq!(world.relaunch(&id(1), by_user(2)), already);
    run(&mut world, 1);
    assert_eq!(world.relaunch(&id(1), by_user(2)), already);
    drop(world.step(&id(1), &Event::Exited { exit: Exit::Code { code: 0 } }));
    assert_eq!(world.relaunch(&id(1), by_user(2)), wait, "the agent is gone, others are left");
    drop(world.step(&id(1), &stop(None)));
    assert_eq!(world.relaunch(&id(1), by_user(2)), wait);
    drop(end(&mut world, 1));
    assert_eq!(world.relaunch(&id(1), by_user(2)), wait, "its files still exist");
    drop(world.step(&id(1), &Event::CleanedUp { what: OwedKind::RuntimeFiles }));
    assert!(matches!(world.relaunch(&id(1), by_user(2)), Relaunched::Admitted { .. }));
}

#[test]
fn a_session_whose_end_was_not_seen_is_not_relaunched() {
    let mut world = world([named(1, None, None)]);
    run(&mut world, 1);
    let unseen = crate::event::PenEnd::Unobservable { why: "no yard".into() };
    drop(world.step(&id(1), &Event::KeeperLost));
    drop(world.step(&id(1), &Event::PenEnded(unseen)));
    let refused = |refusal| Relaunched::Refused(refusal);
    let lost = refused(RelaunchRefusal::Lost(id(1)));
    assert_eq!(world.relaunch(&id(1), by_user(2)), lost);
    drop(world.step(&id(1), &Event::Forgotten { by: "ada".into() }));
    let forgotten = refused(RelaunchRefusal::Forgotten(id(1)));
    assert_eq!(world.relaunch(&id(1), by_user(2)), forgotten);
    let unknown = refused(RelaunchRefusal::Unknown(id(9)));
    assert_eq!(world.relaunch(&id(9), by_user(2)), unknown);
}

#[test]
fn a_relaunch_is_refused_as_a_new_session_is() {
    let mut world = ended();
    drop(world.admit(named(2, Some("ada"), None)));
    let taken = AdmitError::NameTaken { name: "ada".into(), by: id(2) };
    let refused = Relaunched::Refused(RelaunchRefusal::Refused(taken));
    assert_eq!(world.relaunch(&id(1), by_user(2)), refused);
    assert_eq!(world.launches(&id(1)).count(), 1);
    drop(world.drain(None));
    let draining = Relaunched::Refused(RelaunchRefusal::Refused(AdmitError::Draining));
    assert_eq!(world.relaunch(&id(1), by_user(2)), draining);
}

#[test]
fn a_session_means_its_latest_launch() {
    let mut world = ended();
    drop(world.relaunch(&id(1), by_user(2)));
    let (first, second) = (id(1), second());
    for reference in [first.as_str(), "ada", second.as_str(), &first.as_str()[..4]] {
        assert_eq!(world.find(reference), Ok(&second), "{reference}");
    }
    assert_eq!(world.find(&format!("{first}_1")), Ok(&first));
    assert!(world.find(&format!("{first}_3")).is_err());
    assert_eq!(
        refused(&mut world, named(2, Some("ada"), None)),
        AdmitError::NameTaken { name: "ada".into(), by: second }
    );
}

#[test]
fn the_latest_launch_is_removed_last_or_with_all_others() {
    let mut world = ended();
    drop(world.relaunch(&id(1), by_user(2)));
    assert_eq!(world.remove_all(&id(1)), Err(RemoveSessionError::Live(second())));
    fails(&mut world, &second());
    assert_eq!(world.remove(&second()), Err(RemoveSessionError::Latest(second())));
    let mut other = world.clone();
    assert!(world.remove(&id(1)).is_ok());
    assert_eq!(world.find(id(1).as_str()), Ok(&second()), "the session is still known");
    assert!(world.find(&format!("{}_1", id(1))).is_err());
    assert!(world.remove(&second()).is_ok());
    assert_eq!(other.remove_all(&second()).map(|all| all.len()), Ok(2));
    assert!(other.find("ada").is_err() && other.sessions().len() == 0);
}

#[test]
fn the_policy_launches_again_after_a_pause_and_counts() {
    let mut world = failing(Some(2));
    let mut last = id(1);
    for pause in [1, 2] {
        let (decision, effects) = world.consider_restart(&last, Duration::ZERO);
        assert_eq!(decision, Ok(Duration::from_secs(pause)));
        assert_eq!(effects, [(last.clone(), Effect::Record { durable: false })]);
        assert_eq!(world.remove_all(&last), Err(RemoveSessionError::RelaunchPending(last.clone())));
        let Relaunched::Admitted { id: next, .. } = world.relaunch(&last, by_policy()) else {
            panic!()
        };
        let (decision, _) = world.consider_restart(&last, Duration::ZERO);
        assert_eq!(decision, Err(NoRestartReason::Superseded));
        fails(&mut world, &next);
        last = next;
    }
    let (decision, effects) = world.consider_restart(&last, Duration::ZERO);
    assert_eq!((decision, effects), (Err(NoRestartReason::Exhausted), vec![]));
    // A user may relaunch it, and the count starts over.
    let Relaunched::Admitted { id: next, .. } = world.relaunch(&last, by_user(9)) else { panic!() };
    fails(&mut world, &next);
    let (decision, _) = world.consider_restart(&next, Duration::ZERO);
    assert_eq!(decision, Ok(Duration::from_secs(1)));
}

#[test]
fn a_stop_in_the_pause_calls_the_next_launch_off_for_good() {
    let mut world = failing(None);
    drop(world.consider_restart(&id(1), Duration::ZERO));
    let durable = vec![(id(1), Effect::Record { durable: true })];
    assert_eq!(world.step(&id(1), &stop(None)), durable);
    assert_eq!(world.step(&id(1), &stop(None)), [], "once");
    let off = Relaunched::Refused(RelaunchRefusal::CalledOff(id(1)));
    assert_eq!(world.relaunch(&id(1), by_policy()), off);
    // This holds for the next daemon too.
    let mut later = World::default();
    drop(later.restore([row(&world, 1)]));
    let (decision, _) = later.consider_restart(&id(1), Duration::ZERO);
    assert_eq!(decision, Err(NoRestartReason::Wanted));
    assert_eq!(later.relaunch(&id(1), by_policy()), off);
    assert!(
        matches!(later.relaunch(&id(1), by_user(2)), Relaunched::Admitted { .. }),
        "on request"
    );
}

#[test]
fn the_end_of_a_parent_calls_the_next_launch_of_its_child_off() {
    let mut child = named(2, None, Some(1));
    child.spec.restart = Restart::OnFailure { most: None };
    let mut world = world([named(1, None, None), child]);
    run(&mut world, 1);
    fails(&mut world, &id(2));
    drop(world.consider_restart(&id(2), Duration::ZERO));
    let effects = world.step(&id(1), &stop(None));
    assert!(effects.contains(&(id(2), Effect::Record { durable: true })), "{effects:?}");
    let off = Relaunched::Refused(RelaunchRefusal::CalledOff(id(2)));
    assert_eq!(world.relaunch(&id(2), by_policy()), off);
}

/// The session has failed, and a stop arrives before the restart is decided.
#[test]
fn a_stop_before_the_decision_calls_the_next_launch_off() {
    let mut world = failing(None);
    assert_eq!(world.step(&id(1), &stop(None)), [(id(1), Effect::Record { durable: true })]);
    let (decision, _) = world.consider_restart(&id(1), Duration::ZERO);
    assert_eq!(decision, Err(NoRestartReason::Wanted));
    // Without a restart policy, or with a later launch, there is nothing to call off.
    let mut world = ended();
    assert_eq!(world.step(&id(1), &stop(None)), []);
    let mut world = failing(None);
    assert!(matches!(world.relaunch(&id(1), by_user(2)), Relaunched::Admitted { .. }));
    assert_eq!(world.step(&id(1), &stop(None)), []);
}

/// The agent exited by itself, and a stop arrived before the restart was decided.
#[test]
fn a_stop_between_the_exit_and_the_end_calls_the_next_launch_off_too() {
    let mut session = named(1, None, None);
    session.spec.restart = Restart::OnFailure { most: None };
    let mut world = world([session]);
    run(&mut world, 1);
    drop(world.step(&id(1), &Event::Exited { exit: Exit::Code { code: 1 } }));
    drop(world.step(&id(1), &stop(None)));
    drop(end(&mut world, 1));
    assert_eq!(reason(&world, 1), Some(Reason::Exited), "it exited by itself");
    let (decision, _) = world.consider_restart(&id(1), Duration::ZERO);
    assert_eq!(decision, Err(NoRestartReason::Wanted));
}

#[test]
fn the_pause_goes_on_after_a_restart_of_the_daemon() {
    let mut world = failing(None);
    drop(world.consider_restart(&id(1), Duration::ZERO));
    let mut later = World::default();
    drop(later.restore([row(&world, 1)]));
    let (decision, effects) = later.consider_restart(&id(1), Duration::ZERO);
    assert!(decision.is_ok() && effects.is_empty());
    assert!(matches!(later.relaunch(&id(1), by_policy()), Relaunched::Admitted { .. }));
}

#[test]
fn a_stopped_session_or_one_without_a_policy_is_not_restarted() {
    let mut world = ended();
    let (decision, effects) = world.consider_restart(&id(1), Duration::ZERO);
    assert_eq!((decision, effects), (Err(NoRestartReason::NoPolicy), vec![]));
    assert!(matches!(world.relaunch(&id(1), by_policy()), Relaunched::Refused(_)));
}

#[test]
fn a_later_launch_takes_over_the_worktree_that_was_kept() {
    let mut session = named(1, None, None);
    session.spec.worktree = Some(worktree());
    let session = Session::new(session.id, session.spec, session.launch.token, Vec::new());
    let mut world = world([session]);
    let make = |again| Effect::Make { what: tree(), again };
    assert_eq!(world.step(&id(1), &Event::Recorded), [(id(1), make(false))]);
    drop(world.step(&id(1), &Event::Made { what: tree() }));
    run(&mut world, 1);
    drop(world.step(&id(1), &Event::KeeperReady));
    for event in [born(), Event::Opened] {
        drop(world.step(&id(1), &event));
    }
    drop(end(&mut world, 1));
    drop(world.step(&id(1), &Event::Kept { what: tree(), why: "a commit".into() }));
    let kept = KeptItem { what: tree(), why: "a commit".into() };
    assert_eq!(world.kept().collect::<Vec<_>>(), [(&id(1), &kept)]);
    assert!(matches!(world.relaunch(&id(1), by_user(2)), Relaunched::Admitted { .. }));
    assert_eq!(world.step(&second(), &Event::Recorded), [(second(), make(true))]);
    assert_eq!(world.kept().count(), 0, "it is in use");
    drop(world.step(&second(), &Event::MakeFailed { what: tree(), why: "no room".into() }));
    for event in [OwedKind::RuntimeFiles, tree()].map(|what| Event::CleanedUp { what }) {
        drop(world.step(&second(), &event));
    }
    let owed = &world.get(&second()).unwrap().owed;
    assert!(owed.iter().all(|owed| owed.what != tree()), "{owed:?}");
    assert_eq!(world.kept().count(), 0, "the later launch has removed it");
}
