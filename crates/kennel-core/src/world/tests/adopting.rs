//! Adopted sessions among others.

use kennel_types::{LaunchToken, Phase};

use crate::admission::{Admission, Applicant, Caps, decide};
use crate::effect::Effect;
use crate::event::{Event, Probe};
use crate::report::{ReportCredentials, ReportRefusal, judge};
use crate::session::Session;
use crate::tests::{id, spec, stop};
use crate::world::{AdmitError, Relaunch, RelaunchBy, RelaunchRefusal, Relaunched, World};

const IDENTITY: &str = "boot 1 42 inode 7";

fn own(number: u64, name: Option<&str>) -> Session {
    let mut spec = spec();
    spec.name = name.map(ToOwned::to_owned);
    let token = LaunchToken::new(number.into());
    Session::adopted(id(number), spec, token, (IDENTITY.into(), 42), Vec::new())
}

/// A world with an adopted session that it follows.
fn following() -> World {
    let mut world = World::default();
    let Ok(effects) = world.admit(own(1, Some("mine"))) else { panic!() };
    assert_eq!(effects, [(id(1), Effect::Record { durable: true })]);
    assert_eq!(world.step(&id(1), &Event::Recorded), [(id(1), Effect::Probe)]);
    let identity = IDENTITY.to_owned();
    let found = Probe::Running { identity, pid: 42, pen: None, ending: false, exit: None };
    let effects = world.step(&id(1), &Event::Probed(found));
    assert_eq!(effects, [(id(1), Effect::Record { durable: false })]);
    assert_eq!(world.get(&id(1)).unwrap().phase, Phase::Running);
    world
}

#[test]
fn a_shutdown_leaves_an_adopted_session_alone_but_a_stop_by_name_ends_it() {
    let mut world = following();
    let before = world.get(&id(1)).cloned();
    assert_eq!(world.drain(None), []);
    assert_eq!(world.get(&id(1)).cloned(), before);
    let effects = world.step(&id(1), &stop(None));
    let grace = spec().grace;
    assert_eq!(
        effects,
        [(id(1), Effect::Stop { grace }), (id(1), Effect::Record { durable: true })]
    );
}

#[test]
fn an_adopted_session_is_found_by_its_process() {
    let mut world = following();
    assert_eq!(world.follower_of(IDENTITY).map(|it| &it.id), Some(&id(1)));
    assert_eq!(world.follower_of("boot 1 42 inode 8"), None);
    drop(world.step(&id(1), &Event::Forgotten { by: "me".into() }));
    assert_eq!(world.follower_of(IDENTITY), None);
}

#[test]
fn an_adopted_session_uses_its_name_but_counts_for_no_limit() {
    let mut world = following();
    let taken = world.admit(own(2, Some("mine")));
    assert!(matches!(taken, Err(AdmitError::NameTaken { .. })), "{taken:?}");
    let caps = Caps { live: Some(1), launching: Some(1), ..Caps::default() };
    let applicant = Applicant { name: None, may_queue: false };
    assert_eq!(decide(&caps, &world.session_counts(&caps), applicant), Admission::Admit);
}

#[test]
fn an_adopted_session_is_never_relaunched() {
    let mut world = following();
    for _ in 0..2 {
        let by = RelaunchBy::Caller { name: "me".into(), parent: None, tethered: false };
        let how = Relaunch {
            token: LaunchToken::new(9),
            owed: Vec::new(),
            queued: false,
            by,
            changes: None,
        };
        let refused = Relaunched::Refused(RelaunchRefusal::NotLaunched(id(1)));
        assert_eq!(world.relaunch(&id(1), how), refused);
        drop(world.step(&id(1), &Event::Forgotten { by: "me".into() }));
        assert_eq!(world.get(&id(1)).unwrap().phase, Phase::Cleaned);
    }
}

#[test]
fn an_adopted_session_reports_with_its_token_while_it_is_followed() {
    let mut world = following();
    let (session, token) = (id(1).to_string(), LaunchToken::new(1));
    let presented = |token| ReportCredentials { session: &session, token: Some(token) };
    let believed = Ok(id(1));
    assert_eq!(judge(&world, presented(token.secret())), believed);
    let forged = judge(&world, presented("forged"));
    assert_eq!(forged, Err(ReportRefusal::UnknownToken));
    drop(world.step(&id(1), &Event::Forgotten { by: "me".into() }));
    let late = judge(&world, presented(token.secret()));
    assert_eq!(late, Err(ReportRefusal::Spent { launch: id(1) }));
}
