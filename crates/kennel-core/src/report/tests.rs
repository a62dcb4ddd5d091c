use kennel_types::{Exit, LaunchToken, Percent, Title};

use super::*;
use crate::effect::Effect;
use crate::event::Event;
use crate::session::Session;
use crate::tests::{born, id, spec, stop};
use crate::world::{Relaunch, RelaunchBy, Relaunched};

fn token(number: u128) -> String {
    LaunchToken::new(number).secret().to_owned()
}

fn apply(world: &mut World, id: &SessionId, events: &[Event]) {
    for event in events {
        drop::<Vec<(SessionId, Effect)>>(world.step(id, event));
    }
}

fn run() -> Vec<Event> {
    vec![Event::Recorded, Event::KeeperReady, born(), Event::Opened]
}

fn world(numbers: &[u64]) -> World {
    let mut world = World::default();
    for number in numbers {
        let token = LaunchToken::new((*number).into());
        let session = Session::new(id(*number), spec(), token, Vec::new());
        assert!(world.admit(session).is_ok());
        apply(&mut world, &id(*number), &run());
    }
    world
}

fn judged(world: &World, session: &str, token: Option<&str>) -> Result<SessionId, ReportRefusal> {
    judge(world, ReportCredentials { session, token })
}

#[test]
fn the_live_launch_reports_with_its_token() {
    let world = world(&[1, 2]);
    let verdict = judged(&world, id(1).as_str(), Some(&token(1)));
    assert_eq!(verdict, Ok(id(1)));
}

#[test]
fn other_reports_are_refused_with_a_reason() {
    let world = world(&[1, 2]);
    let one = id(1);
    let refused = |session: &str, token: Option<&str>| match judged(&world, session, token) {
        Err(why) => why,
        Ok(session) => panic!("the report of {session} is accepted"),
    };
    assert_eq!(refused(one.as_str(), None), ReportRefusal::NoToken);
    for unknown in ["", "unknown", id(9).as_str()] {
        assert_eq!(
            refused(unknown, Some(&token(1))),
            ReportRefusal::UnknownSession(unknown.into())
        );
    }
    assert_eq!(refused(one.as_str(), Some(&token(2))), ReportRefusal::Foreign(one.to_string()));
    for nobodys in ["", &token(7), &token(1)[..31]] {
        assert_eq!(refused(one.as_str(), Some(nobodys)), ReportRefusal::UnknownToken);
    }
}

#[test]
fn a_launch_that_is_stopped_or_ended_cannot_report() {
    let mut world = world(&[1, 2]);
    let spent = Err(ReportRefusal::Spent { launch: id(1) });
    apply(&mut world, &id(1), &[stop(None)]);
    assert_eq!(judged(&world, id(1).as_str(), Some(&token(1))), spent);
    apply(&mut world, &id(1), &[Event::Gone { exit: Exit::Code { code: 0 }, reason: None }]);
    assert_eq!(judged(&world, id(1).as_str(), Some(&token(1))), spent);
    assert_eq!(
        judged(&world, id(2).as_str(), Some(&token(1))),
        spent,
        "whichever session it names"
    );
}

#[test]
fn a_launch_that_was_not_granted_cannot_report() {
    let mut world = World::default();
    let session = Session::new(id(1), spec(), LaunchToken::new(1), Vec::new());
    assert!(world.admit(session).is_ok());
    let early = Err(ReportRefusal::TooEarly { launch: id(1) });
    assert_eq!(judged(&world, id(1).as_str(), Some(&token(1))), early);
}

/// The token of the earlier launch names the same session, which is live again.
#[test]
fn an_earlier_launch_cannot_report_for_a_later_one() {
    let mut world = world(&[1]);
    let gone = Event::Gone { exit: Exit::Code { code: 1 }, reason: None };
    apply(&mut world, &id(1), &[gone, Event::Recorded]);
    let by = RelaunchBy::Caller { name: "ada".into(), parent: None, tethered: false };
    let how =
        Relaunch { token: LaunchToken::new(2), owed: Vec::new(), queued: false, by, changes: None };
    let Relaunched::Admitted { id: second, .. } = world.relaunch(&id(1), how) else { panic!() };
    apply(&mut world, &second, &run());
    for named in [id(1).as_str(), second.as_str()] {
        let spent = Err(ReportRefusal::Spent { launch: id(1) });
        assert_eq!(judged(&world, named, Some(&token(1))), spent);
        let believed = Ok(second.clone());
        assert_eq!(judged(&world, named, Some(&token(2))), believed);
    }
}

#[test]
fn a_title_is_short_and_plain() {
    let title = |text: &str| Title::try_from(text.to_owned());
    assert_eq!(title("ä title").unwrap().as_ref(), "ä title");
    assert!(title(&"ü".repeat(200)).is_ok());
    for wrong in ["", "a\nb", "\u{1b}[2J", "\u{9b}", &"x".repeat(201)] {
        assert!(title(wrong).is_err(), "{wrong:?}");
    }
    for (number, fine) in [(0, true), (100, true), (101, false), (u64::MAX, false)] {
        assert_eq!(Percent::try_from(number).is_ok(), fine, "{number}");
    }
}
