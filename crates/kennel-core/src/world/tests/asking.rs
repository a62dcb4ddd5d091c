//! Prompts and their members.

use kennel_types::{
    AgentSettings, AgentSpec, EvidenceSource, Judged, Owed, OwedKind, RelaunchState, TokenUsage,
    UsageScope, Verdict, VerdictKind, Work,
};

use super::*;
use crate::member::Member;
use crate::retry;

const RETENTION: Duration = Duration::from_secs(60);

fn prompt(number: u64) -> Session {
    let agent = AgentSpec { member: Some("anna".into()), retries: 3, ..AgentSpec::default() };
    let mut spec = spec();
    spec.agent = Some(Box::new(agent));
    spec.key = Some(format!("k{number}"));
    let owed = vec![Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }];
    Session::new(id(number), spec, LaunchToken::new(u128::from(number)), owed)
}

fn anna() -> Member {
    Member {
        name: "anna".into(),
        settings: AgentSettings::default(),
        cwd: "/".into(),
        conversation: None,
        usage: TokenUsage::default(),
        reported_usage: TokenUsage::default(),
        attempts: 0,
        last: None,
        counted: Vec::new(),
        created_ms: 0,
    }
}

fn world_with(sessions: impl IntoIterator<Item = Session>) -> World {
    let mut world = world(sessions);
    world.add_member(anna()).unwrap();
    world
}

/// Runs a session until its process tree is gone.
fn reap(world: &mut World, number: u64) {
    run(world, number);
    drop(end(world, number));
    drop(world.step(&id(number), &Event::Recorded));
    assert_eq!(world.get(&id(number)).unwrap().phase, Phase::Reaped);
}

fn clean(world: &mut World, number: u64) {
    reap(world, number);
    drop(world.step(&id(number), &Event::CleanedUp { what: OwedKind::RuntimeFiles }));
    drop(world.step(&id(number), &Event::Recorded));
    assert_eq!(world.get(&id(number)).unwrap().phase, Phase::Cleaned);
}

fn judged(kind: VerdictKind) -> Judged {
    Judged {
        verdict: Verdict::new(kind, EvidenceSource::Result, ""),
        conversation: None,
        usage: TokenUsage { output_tokens: 5, ..TokenUsage::default() },
        work: Work::None,
        turns: None,
        tools: 0,
    }
}

fn judge(world: &mut World, number: u64, kind: VerdictKind, unrecorded: &[u64]) {
    let unrecorded = |other: &SessionId| unrecorded.iter().any(|it| id(*it) == *other);
    let judged = world.judge(&id(number), judged(kind), UsageScope::Attempt, 1, unrecorded);
    assert!(judged.is_some());
}

#[test]
fn a_resource_that_cannot_be_removed_does_not_delay_the_verdict() {
    let mut world = world_with([prompt(1)]);
    reap(&mut world, 1);
    let what = OwedKind::RuntimeFiles;
    for tries in 1..=3 {
        assert!(!world.get(&id(1)).unwrap().awaits_verdict(), "after {tries} tries");
        assert!(world.busy_with("anna").is_some());
        drop(world.step(&id(1), &Event::CleanUpFailed { what: what.clone(), why: "no".into() }));
        drop(world.step(&id(1), &Event::RetryDue));
    }
    assert!(world.get(&id(1)).unwrap().awaits_verdict());
    judge(&mut world, 1, VerdictKind::Overloaded, &[]);
    let decided = world.consider_retry(&id(1), Duration::ZERO, 0).unwrap().0;
    assert_eq!(decided, Err(retry::NoRetryReason::NotCleaned));
    // The process tree is gone, so the member is free. The rest is still owed.
    assert_eq!(world.busy_with("anna"), None);
    let session = world.get(&id(1)).unwrap();
    assert!(session.is_live() && !session.owed.is_empty(), "{session:?}");
    assert_eq!(world.remove_member("anna").unwrap().usage.output_tokens, 5);
    // The resource is removed after all. That changes nothing else.
    drop(world.step(&id(1), &Event::CleanedUp { what }));
    let session = world.get(&id(1)).unwrap();
    assert!(session.phase == Phase::Cleaned && !session.awaits_verdict() && !session.is_asking());
}

#[test]
fn a_member_is_not_removed_while_a_prompt_is_queued_for_it() {
    let mut world = world_with([prompt(1)]);
    drop(world.admit(prompt(2).queued()));
    let busy = MemberRemoveError::Busy { name: "anna".into(), by: id(1) };
    assert_eq!(world.remove_member("anna"), Err(busy));
    clean(&mut world, 1);
    judge(&mut world, 1, VerdictKind::Succeeded, &[]);
    assert_eq!(world.busy_with("anna"), None);
    let awaited = MemberRemoveError::Awaited { name: "anna".into(), by: id(2) };
    assert_eq!(world.remove_member("anna"), Err(awaited.clone()));
    // A prompt that is being stopped would still count for the next member of that name.
    drop(world.step(&id(2), &Event::Recorded));
    drop(world.step(&id(2), &stop(None)));
    assert_eq!(world.remove_member("anna"), Err(awaited));
    drop(world.step(&id(2), &Event::Recorded));
    drop(world.step(&id(2), &Event::CleanedUp { what: OwedKind::RuntimeFiles }));
    judge(&mut world, 2, VerdictKind::Cancelled, &[]);
    world.remove_member("anna").unwrap();
}

#[test]
fn an_unfinished_prompt_keeps_its_key() {
    let mut world = world_with([prompt(1)]);
    let same = prompt(1).spec;
    let looked_up =
        |world: &World, spec| world.by_key(spec, RETENTION, |_| Some(Duration::from_secs(1000)));
    clean(&mut world, 1);
    assert_eq!(looked_up(&world, &same), Keyed::Same(id(1)), "it waits for its verdict");
    judge(&mut world, 1, VerdictKind::Overloaded, &[]);
    drop(world.consider_retry(&id(1), Duration::ZERO, 0));
    assert_eq!(world.get(&id(1)).unwrap().relaunch, RelaunchState::Pending);
    assert_eq!(looked_up(&world, &same), Keyed::Same(id(1)), "it waits for its retry");
    let taken = AdmitError::KeyTaken { key: "k1".into(), by: id(1) };
    let mut other = prompt(3);
    other.spec.key = Some("k1".into());
    assert_eq!(refused(&mut world, other), taken);
    // The next launch of the session has the key too.
    let by = RelaunchBy::Policy { ran: Duration::ZERO };
    let (token, owed) = (LaunchToken::new(2), Vec::new());
    let how = Relaunch { token, owed, queued: false, by, changes: None };
    assert!(matches!(world.relaunch(&id(1), how), Relaunched::Admitted { .. }));
    assert_eq!(looked_up(&world, &same), Keyed::Same(id(1).next_attempt()));
    // A finished prompt does not.
    let mut world = world_with([prompt(1)]);
    clean(&mut world, 1);
    judge(&mut world, 1, VerdictKind::Succeeded, &[]);
    assert_eq!(looked_up(&world, &same), Keyed::Free);
}

#[test]
fn a_prompt_whose_record_failed_counts_once_for_its_member() {
    let mut world = world_with([prompt(1)]);
    clean(&mut world, 1);
    let on_record = world.get(&id(1)).unwrap().clone();
    judge(&mut world, 1, VerdictKind::Succeeded, &[]);
    drop(world.admit(prompt(2)));
    clean(&mut world, 2);
    judge(&mut world, 2, VerdictKind::Succeeded, &[1]);
    let member = world.member("anna").unwrap().clone();
    assert_eq!((member.attempts, member.usage.output_tokens), (2, 10));
    // The next daemon does not know the verdict of the first prompt.
    let mut later = World::default();
    later.restore_members([member.clone()]);
    drop(later.restore([on_record]));
    judge(&mut later, 1, VerdictKind::Succeeded, &[]);
    let again = later.member("anna").unwrap();
    assert_eq!((again.attempts, again.usage.output_tokens), (2, 10));
    assert_eq!(again.last, member.last);
    // A recorded verdict is not judged again, so the member need not list it.
    drop(later.admit(prompt(3)));
    clean(&mut later, 3);
    judge(&mut later, 3, VerdictKind::Succeeded, &[]);
    assert_eq!(later.member("anna").unwrap().counted, [id(3)]);
}
