//! Invariants that hold for any events in any order.

use kennel_types::LaunchFailure;
use std::time::Duration;

use kennel_types::{
    AgentReport, Exit, OwedKind, Phase, Readiness, ReadyState, Reason, RelaunchState, Restart,
    Survivor,
};
use proptest::prelude::*;

use crate::effect::Effect;
use crate::event::{Event, PenEnd, Probe, StopIntent};
use crate::session::{DesiredState, Session, Writing};
use crate::tests::{asking, tree, worktree};

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![
        (0..3).prop_map(|code| Exit::Code { code }),
        Just(Exit::Signal { signal: 9, core: false, oom: false }),
        Just(Exit::NeverRan),
        Just(Exit::Unknown { why: "unknown".into() }),
    ]
}

fn what() -> impl Strategy<Value = OwedKind> {
    let folder = OwedKind::PenFolder { path: "/pen".into() };
    prop_oneof![Just(OwedKind::RuntimeFiles), Just(folder), Just(tree())]
}

/// Generates sessions of every kind.
fn session() -> impl Strategy<Value = Session> {
    let ready = prop_oneof![
        Just(Readiness::None),
        Just(Readiness::Report),
        Just(Readiness::Socket { path: "/s".into() }),
    ];
    let restart = prop_oneof![Just(Restart::Never), Just(Restart::OnFailure { most: None })];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (ready, restart, flags).prop_map(|(ready, restart, (has_tree, queued, again))| {
        let mut session = asking(|spec| {
            spec.ready = ready;
            spec.ready_timeout = Some(Duration::from_secs(1));
            spec.restart = restart;
            spec.worktree = has_tree.then(worktree);
        });
        if again {
            let Session { id, spec, launch, owed, .. } = session;
            let owed = owed.into_iter().filter(|owed| owed.what != tree()).collect();
            session = Session::new(id.next_attempt(), spec, launch.token, owed);
        }
        if queued { session.queued() } else { session }
    })
}

fn reason() -> impl Strategy<Value = Option<Reason>> {
    prop_oneof![Just(None), Just(Some(Reason::LeaseOver)), Just(Some(Reason::ClientGone))]
}

fn survivors() -> Vec<Survivor> {
    vec![Survivor { pid: 7, name: "dd".into(), why: "uninterruptible".into() }]
}

fn probe() -> impl Strategy<Value = Probe> {
    let (identity, pid, pen) = (String::from("it"), 42, None);
    let gated = Probe::Gated { identity: identity.clone(), pid, pen: pen.clone() };
    prop_oneof![
        Just(Probe::Waiting),
        Just(gated),
        (any::<bool>(), proptest::option::of(exit())).prop_map(move |(ending, exit)| {
            Probe::Running { identity: identity.clone(), pid, pen: pen.clone(), ending, exit }
        }),
        (exit(), reason()).prop_map(|(exit, reason)| Probe::Over { exit, reason }),
        Just(Probe::NoKeeper),
        Just(Probe::Silent),
        Just(Probe::Rebooted),
        Just(Probe::Failed { why: "too many open files".into() }),
    ]
}

fn pen_end() -> impl Strategy<Value = PenEnd> {
    prop_oneof![
        proptest::option::of(exit()).prop_map(|exit| PenEnd::Empty { exit }),
        Just(PenEnd::StillAlive { survivors: survivors() }),
        Just(PenEnd::Unobservable { why: "no yard".into() }),
        Just(PenEnd::Failed { why: "too many open files".into() }),
    ]
}

fn stop() -> impl Strategy<Value = Event> {
    proptest::option::of(0..20_u64).prop_map(|grace| {
        let reason = Reason::Stopped { by: "a client".into() };
        Event::StopAsked(StopIntent { grace: grace.map(Duration::from_secs), reason })
    })
}

/// Generates events. Successes are more frequent, so that more phases are reached.
fn event() -> impl Strategy<Value = Event> {
    let why = || String::from("a fault");
    prop_oneof![
        6 => Just(Event::Recorded),
        4 => Just(Event::KeeperReady),
        4 => Just(crate::tests::born()),
        4 => Just(Event::Opened),
        3 => Just(Event::RetryDue),
        2 => Just(Event::KeeperLost),
        2 => Just(Event::Restored),
        1 => Just(Event::RecordFailed { why: why() }),
        1 => Just(Event::KeeperNotStarted { why: why() }),
        1 => Just(Event::LaunchFailed { code: LaunchFailure::Exec, why: why() }),
        1 => Just(Event::StillAlive { survivors: survivors() }),
        1 => Just(Event::Forgotten { by: "a user".into() }),
        2 => exit().prop_map(|exit| Event::Exited { exit }),
        1 => (exit(), reason()).prop_map(|(exit, reason)| Event::Gone { exit, reason }),
        2 => pen_end().prop_map(Event::PenEnded),
        2 => stop(),
        3 => probe().prop_map(Event::Probed),
        1 => what().prop_map(|what| Event::Owes { what }),
        3 => what().prop_map(|what| Event::CleanedUp { what }),
        2 => what().prop_map(|what| Event::CleanUpFailed { what, why: String::from("busy") }),
        1 => what().prop_map(|what| Event::Kept { what, why: String::from("a commit") }),
        4 => Just(Event::TurnCame),
        4 => Just(Event::Made { what: tree() }),
        1 => Just(Event::MakeFailed { what: tree(), why: why() }),
        2 => Just(Event::BecameReady { how: String::from("a sign") }),
        1 => Just(Event::ReadyOverdue { saw: None }),
        1 => prop_oneof![Just(AgentReport::Ready), Just(AgentReport::Busy)].prop_map(Event::Reported),
    ]
}

fn is_observation(event: &Event) -> bool {
    matches!(
        event,
        Event::Gone { .. }
            | Event::LaunchFailed { .. }
            | Event::KeeperNotStarted { .. }
            | Event::PenEnded(PenEnd::Empty { .. })
            | Event::Probed(Probe::Over { .. } | Probe::Rebooted)
            | Event::Forgotten { .. }
    )
}

/// Returns whether there was no keeper, so that no end had to be observed.
fn was_unlaunched(before: &Session) -> bool {
    before.underway.unlaunched || before.phase < Phase::Reserved
}

fn is_forgotten(session: &Session) -> bool {
    matches!(session.reason, Some(Reason::Forgotten { .. }))
}

fn known(session: &Session) -> Option<&Exit> {
    session.exit.as_ref().filter(|exit| !matches!(exit, Exit::Unknown { .. }))
}

/// What was done so far, as far as the invariants need it.
#[derive(Default)]
struct Done {
    grants: usize,
    keepers: usize,
    makes: usize,
    /// Whether the write of the outcome was requested and has no answer yet.
    outcome_requested: bool,
}

fn check(before: &Session, event: &Event, after: &Session, effects: &[Effect], done: &mut Done) {
    if let DesiredState::Stopped { grace } = before.wanted {
        assert!(matches!(after.wanted, DesiredState::Stopped { grace: now } if now <= grace));
    }
    let found = before.phase == Phase::Lost && after.phase == Phase::Stopping;
    assert!(after.phase >= before.phase || found, "{:?} to {:?}", before.phase, after.phase);
    if !before.has_ended() && after.has_ended() {
        let seen = is_observation(event) || was_unlaunched(before);
        assert!(seen, "ended without an observation");
        assert!(after.exit.is_some() && after.reason.is_some());
    }
    assert!(!after.is_stop_wanted() || after.reason.is_some());
    if let Some(exit) = known(before) {
        assert_eq!(Some(exit), known(after), "a known exit was replaced");
    }
    // Unless the agent seemed to exit by itself, and its keeper reports another reason.
    let seemed = before.reason == Some(Reason::Exited) && !before.has_ended() && after.has_ended();
    if before.reason.is_some() && !seemed && !is_forgotten(after) {
        assert_eq!(before.reason, after.reason, "the first reason stays");
    }
    if after.phase == Phase::Cleaned && !is_forgotten(after) {
        assert_eq!(after.owed, []);
    }
    for effect in effects {
        match effect {
            Effect::Grant => {
                assert!(!after.is_stop_wanted() && after.launch.recorded);
                assert!(after.launch.identity.is_some());
                done.grants += 1;
            }
            Effect::Go => assert!(!after.is_stop_wanted() && after.launch.recorded),
            Effect::Release => {
                assert!(*event == Event::Recorded && done.outcome_requested, "released too early");
            }
            Effect::CleanUp { .. } => assert!(after.has_ended()),
            Effect::StartKeeper => {
                assert!(after.launch.recorded && !after.is_stop_wanted());
                done.keepers += 1;
            }
            Effect::Make { .. } => {
                assert!(after.phase == Phase::Making && !after.is_stop_wanted());
                done.makes += 1;
            }
            Effect::AwaitReady => assert_eq!(after.ready, ReadyState::Waiting),
            _ => {}
        }
    }
    assert!(done.grants <= 1, "granted twice");
    assert!(done.keepers <= 1, "a second keeper was requested");
    assert!(done.makes <= 1, "a worktree was created twice");
    check_ready(before, after);
    assert!(!after.underway.awaiting || after.accepts_reports(), "readiness is watched in vain");
    if let RelaunchState::CalledOff { .. } = before.relaunch {
        assert_eq!(before.relaunch, after.relaunch, "a relaunch that was called off stays so");
    }
    if matches!(event, Event::Recorded | Event::RecordFailed { .. }) {
        done.outcome_requested = false;
    }
    if effects.contains(&Effect::Record { durable: true }) {
        done.outcome_requested = after.has_ended();
        assert!(matches!(after.underway.writing, Writing::UnderWay { .. }));
    }
}

fn check_ready(before: &Session, after: &Session) {
    match (before.ready, after.ready) {
        (ReadyState::Waiting, ReadyState::Ready) => assert!(before.accepts_reports(), "late"),
        (ReadyState::Waiting, ReadyState::Missed) => {
            assert!(after.is_stop_wanted() || after.has_ended());
        }
        (one, other) => assert_eq!(one, other),
    }
    assert!(!after.has_ended() || after.ready != ReadyState::Waiting);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_for_any_events(
        mut session in session(),
        events in proptest::collection::vec(event(), 0..40),
    ) {
        let keepers = session.first_effects().iter().filter(|it| **it == Effect::StartKeeper).count();
        let mut done = Done { keepers, ..Done::default() };
        for event in &events {
            let before = session.clone();
            let effects = session.step(event);
            check(&before, event, &session, &effects, &mut done);
        }
    }

    /// A repeated stop has the same effect as one.
    #[test]
    fn a_stop_can_be_repeated(
        mut session in session(),
        events in proptest::collection::vec(event(), 0..30),
        stop in stop(),
    ) {
        for event in &events {
            drop(session.step(event));
        }
        drop(session.step(&stop));
        let once = session.clone();
        let again = session.step(&stop);
        let harmless = again.iter().all(|effect| matches!(effect, Effect::Dismiss | Effect::EndPen));
        prop_assert!(harmless, "{:?}", again);
        prop_assert_eq!(
            (session.phase, session.wanted, session.reason, session.exit),
            (once.phase, once.wanted, once.reason, once.exit)
        );
    }

    /// A row in JSON keeps everything that is recorded.
    #[test]
    fn a_row_survives_a_round_trip(
        mut session in session(),
        events in proptest::collection::vec(event(), 0..30),
    ) {
        for event in &events {
            drop(session.step(event));
        }
        let read: Session = serde_json::from_str(&serde_json::to_string(&session).unwrap()).unwrap();
        session.underway = crate::session::Underway::default();
        prop_assert_eq!(read, session);
    }
}
