mod adopting;
mod asking;
mod queue;
mod relaunching;

use std::time::Duration;

use kennel_types::{Exit, LaunchToken};

use super::*;
use crate::event::Probe;
use crate::session::Underway;
use crate::tests::{GRACE, born, id, spec, stop};

fn named(number: u64, name: Option<&str>, parent: Option<u64>) -> Session {
    let mut spec = spec();
    spec.name = name.map(str::to_owned);
    spec.parent = parent.map(id);
    Session::new(id(number), spec, LaunchToken::new(u128::from(number)), Vec::new())
}

fn world(sessions: impl IntoIterator<Item = Session>) -> World {
    let mut world = World::default();
    for session in sessions {
        assert!(world.admit(session).is_ok());
    }
    world
}

fn run(world: &mut World, number: u64) {
    for event in [Event::Recorded, Event::KeeperReady, born(), Event::Opened] {
        drop(world.step(&id(number), &event));
    }
}

fn end(world: &mut World, number: u64) -> Effects {
    world.step(&id(number), &Event::Gone { exit: Exit::Code { code: 0 }, reason: None })
}

fn reason(world: &World, number: u64) -> Option<Reason> {
    world.get(&id(number)).unwrap().reason.clone()
}

fn refused(world: &mut World, session: Session) -> AdmitError {
    match world.admit(session) {
        Err(refusal) => refusal,
        Ok(_) => panic!("the session is admitted"),
    }
}

#[test]
fn an_admitted_session_gets_a_row_and_a_keeper() {
    let mut world = World::default();
    let Ok(effects) = world.admit(named(1, None, None)) else { panic!() };
    let first = [Effect::Record { durable: true }, Effect::StartKeeper];
    assert_eq!(effects, first.map(|effect| (id(1), effect)));
    assert_eq!(world.sessions().len(), 1);
    assert_eq!(refused(&mut world, named(1, None, None)), AdmitError::IdTaken(id(1)));
}

#[test]
fn a_name_is_in_use_only_while_its_session_is_live() {
    let mut world = world([named(1, Some("ada"), None)]);
    let taken = AdmitError::NameTaken { name: "ada".into(), by: id(1) };
    assert_eq!(refused(&mut world, named(2, Some("ada"), None)), taken);
    drop(end(&mut world, 1));
    assert!(world.admit(named(2, Some("ada"), None)).is_ok());
    assert_eq!(world.find("ada"), Ok(&id(2)));
}

#[test]
fn a_shutdown_refuses_new_sessions() {
    let mut world = world([named(1, None, None), named(2, None, None)]);
    run(&mut world, 2);
    let effects = world.drain(Some(Duration::from_secs(1)));
    let stop = Effect::Stop { grace: Duration::from_secs(1) };
    assert!(effects.contains(&(id(1), Effect::Dismiss)) && effects.contains(&(id(2), stop)));
    assert_eq!(reason(&world, 1), Some(Reason::Shutdown));
    assert!(world.is_draining());
    assert_eq!(refused(&mut world, named(3, None, None)), AdmitError::Draining);
}

#[test]
fn a_parent_must_be_known_and_not_about_to_end() {
    let mut world = world([named(1, None, None)]);
    assert_eq!(refused(&mut world, named(2, None, Some(9))), AdmitError::ParentUnknown(id(9)));
    drop(world.step(&id(1), &stop(None)));
    assert_eq!(refused(&mut world, named(2, None, Some(1))), AdmitError::ParentEnded(id(1)));
    let mut independent = named(2, None, Some(1));
    independent.spec.outlives_parent = true;
    assert!(world.admit(independent.clone()).is_ok());
    drop(end(&mut world, 1));
    independent.id = id(3);
    assert_eq!(refused(&mut world, independent), AdmitError::ParentEnded(id(1)));
}

#[test]
fn children_end_with_their_parent_down_to_the_last() {
    let mut independent = named(4, None, Some(1));
    independent.spec.outlives_parent = true;
    let family =
        [named(1, None, None), named(2, None, Some(1)), named(3, None, Some(2)), independent];
    let mut world = world(family);
    for number in 1..=4 {
        run(&mut world, number);
    }
    // The parent ends by itself.
    let effects = end(&mut world, 1);
    for number in [2, 3] {
        assert!(effects.contains(&(id(number), Effect::Stop { grace: GRACE })), "{number}");
        assert_eq!(reason(&world, number), Some(Reason::ParentEnded));
    }
    assert!(!world.get(&id(4)).unwrap().is_stop_wanted());
    // Later events of the parent do not affect its children again.
    assert_eq!(world.step(&id(1), &Event::Recorded), [(id(1), Effect::Release)]);
}

#[test]
fn a_stop_reaches_the_children_with_no_more_grace() {
    let mut world = world([named(1, None, None), named(2, None, Some(1))]);
    run(&mut world, 1);
    run(&mut world, 2);
    let stops_child = |effects: Effects, grace| {
        effects.contains(&(id(2), Effect::Stop { grace: Duration::from_secs(grace) }))
    };
    assert!(
        stops_child(world.step(&id(1), &stop(Some(Duration::from_secs(60)))), 10),
        "no more than its own grace"
    );
    assert!(stops_child(world.step(&id(1), &stop(Some(Duration::from_secs(3)))), 3));
    assert!(!stops_child(world.step(&id(1), &stop(Some(Duration::from_secs(9)))), 9));
    assert_eq!(reason(&world, 2), Some(Reason::ParentEnded));
}

#[test]
fn the_loss_of_a_parents_keeper_reaches_the_children() {
    let mut world = world([named(1, None, None), named(2, None, Some(1))]);
    run(&mut world, 1);
    let effects = world.step(&id(1), &Event::KeeperLost);
    assert!(effects.contains(&(id(2), Effect::Dismiss)), "{effects:?}");
}

fn row(world: &World, number: u64) -> Session {
    Session { underway: Underway::default(), ..world.get(&id(number)).unwrap().clone() }
}

#[test]
fn children_whose_parent_has_ended_are_stopped_when_they_are_restored() {
    let mut before = world([named(1, None, None), named(2, None, Some(1))]);
    run(&mut before, 1);
    run(&mut before, 2);
    let child = row(&before, 2);
    drop(end(&mut before, 1));
    // The child's row is older than its parent's end, or its parent has no row any more.
    for rows in [vec![row(&before, 1), child.clone()], vec![child]] {
        let mut world = World::default();
        let effects = world.restore(rows);
        assert!(effects.contains(&(id(2), Effect::Probe)), "{effects:?}");
        assert_eq!(reason(&world, 2), Some(Reason::ParentEnded));
        let identity = "it".to_owned();
        let alive = Probe::Running { identity, pid: 42, pen: None, ending: false, exit: None };
        let effects = world.step(&id(2), &Event::Probed(alive));
        assert!(effects.contains(&(id(2), Effect::Stop { grace: GRACE })), "{effects:?}");
    }
}

/// A stop that the restart caused does not prove that the earlier daemon granted nothing.
#[test]
fn a_restored_child_may_have_run_though_its_parent_has_ended() {
    let mut before = world([named(1, None, None), named(2, None, Some(1))]);
    let child = row(&before, 2);
    run(&mut before, 1);
    drop(end(&mut before, 1));
    let mut world = World::default();
    drop(world.restore([row(&before, 1), child]));
    assert!(world.get(&id(2)).unwrap().may_have_run());
}

#[test]
fn only_a_cleaned_and_recorded_session_is_removed() {
    let mut world = world([named(1, Some("ada"), None)]);
    assert_eq!(world.remove(&id(9)), Err(RemoveSessionError::Unknown(id(9))));
    assert_eq!(world.remove(&id(1)), Err(RemoveSessionError::Live(id(1))));
    run(&mut world, 1);
    drop(end(&mut world, 1));
    assert_eq!(world.remove(&id(1)), Err(RemoveSessionError::Unrecorded(id(1))));
    drop(world.step(&id(1), &Event::Recorded));
    assert_eq!(world.remove(&id(1)).map(|session| session.id), Ok(id(1)));
    assert!(world.find("ada").is_err() && world.sessions().len() == 0);
    assert_eq!(world.step(&id(1), &stop(None)), [], "missing");
}

#[test]
fn a_session_is_found_by_id_name_and_prefix() {
    let mut world = world([named(1, Some("ada"), None), named(2, None, None)]);
    let (one, two) = (id(1), id(2));
    assert_eq!(world.find(one.as_str()), Ok(&one));
    assert_eq!(world.find("ada"), Ok(&one));
    let common = one.as_str().bytes().zip(two.as_str().bytes()).take_while(|(a, b)| a == b).count();
    assert_eq!(world.find(&two.as_str()[..=common]), Ok(&two));
    let prefix = &two.as_str()[..common];
    let candidates = vec![one.clone(), two.clone()];
    let ambiguous = world.find(prefix).unwrap_err();
    assert_eq!(ambiguous, FindError::Ambiguous { reference: prefix.into(), candidates });
    assert_eq!(ambiguous.to_string(), format!("{prefix:?} is ambiguous: it may be {one} or {two}"));
    // Two sessions had the name and none is live, so the latest is found.
    drop(end(&mut world, 1));
    drop(world.admit(named(3, Some("ada"), None)));
    drop(end(&mut world, 3));
    assert_eq!(world.find("ada"), Ok(&id(3)));
}

#[test]
fn a_failed_lookup_suggests_similar_names() {
    let world = world([named(1, Some("reviewer"), None), named(2, Some("x"), None)]);
    let message = |reference: &str| world.find(reference).unwrap_err().to_string();
    assert_eq!(message("reviwer"), "there is no session \"reviwer\"; did you mean reviewer?");
    assert_eq!(message("somebody"), "there is no session \"somebody\"");
    for missing in ["", "y", "ü"] {
        assert_eq!(message(missing), format!("there is no session {missing:?}"));
    }
    let mut slip = id(1).as_str().to_owned();
    slip.replace_range(3..4, "z");
    let expected = format!("there is no session {slip:?}; did you mean {}?", id(1));
    assert!(message(&slip).starts_with(&expected[..expected.len() - 1]), "{}", message(&slip));
}
