use kennel_types::LaunchFailure;
use kennel_types::Restart;
use proptest::prelude::*;

use super::*;

const FOREVER: Restart = Restart::OnFailure { most: None };
const FAILED: Exit = Exit::Code { code: 1 };
const SIGNAL: Exit = Exit::Signal { signal: 9, core: false, oom: true };

fn unknown() -> Exit {
    Exit::Unknown { why: "its end was not observed".into() }
}

fn failed_launch() -> Reason {
    Reason::Failed { code: LaunchFailure::Exec, why: "no such program".into() }
}

fn facts<'a>(reason: &'a Reason, exit: &'a Exit) -> RestartFacts<'a> {
    RestartFacts {
        policy: FOREVER,
        unknown_too: false,
        restarts: Restarts::default(),
        called_off: false,
        reason: Some(reason),
        exit: Some(exit),
        ran: Duration::ZERO,
    }
}

fn why(facts: &RestartFacts<'_>) -> Option<NoRestartReason> {
    decide(facts).err()
}

#[test]
fn only_a_session_that_failed_by_itself_is_restarted() {
    let limit = Duration::from_secs(1);
    let by = || String::from("ada");
    for (reason, exit, expected) in [
        (Reason::Exited, FAILED, None),
        (Reason::Exited, SIGNAL, None),
        (Reason::Exited, Exit::Code { code: 0 }, Some(NoRestartReason::Succeeded)),
        (Reason::Exited, unknown(), Some(NoRestartReason::Unknown)),
        (failed_launch(), Exit::NeverRan, None),
        (failed_launch(), unknown(), Some(NoRestartReason::Unknown)),
        (Reason::KeeperDied, FAILED, None),
        (Reason::KeeperDied, SIGNAL, Some(NoRestartReason::Unknown)),
        (Reason::KeeperDied, unknown(), Some(NoRestartReason::Unknown)),
        (Reason::KeeperDied, Exit::NeverRan, None),
        (Reason::Stopped { by: by() }, FAILED, Some(NoRestartReason::Wanted)),
        (Reason::ClientGone, SIGNAL, Some(NoRestartReason::Wanted)),
        (Reason::ParentEnded, SIGNAL, Some(NoRestartReason::Wanted)),
        (Reason::Shutdown, SIGNAL, Some(NoRestartReason::Wanted)),
        (Reason::NotReady { after: limit, saw: None }, SIGNAL, Some(NoRestartReason::Time)),
        (Reason::TimedOut { limit }, FAILED, Some(NoRestartReason::Time)),
        (Reason::Idle { limit }, SIGNAL, Some(NoRestartReason::Time)),
        (Reason::Silent { limit }, SIGNAL, Some(NoRestartReason::Time)),
        (Reason::LeaseOver, SIGNAL, Some(NoRestartReason::Time)),
        (Reason::Rebooted, unknown(), Some(NoRestartReason::Rebooted)),
        (Reason::Forgotten { by: by() }, unknown(), Some(NoRestartReason::Forgotten)),
    ] {
        let mut facts = facts(&reason, &exit);
        assert_eq!(why(&facts), expected, "{reason:?} {exit:?}");
        facts.unknown_too = true;
        let asked = expected.filter(|why| *why != NoRestartReason::Unknown);
        assert_eq!(why(&facts), asked, "{reason:?} {exit:?}, even if it may have run");
        facts.called_off = true;
        assert_eq!(why(&facts), Some(NoRestartReason::Wanted));
        facts.policy = Restart::Never;
        assert_eq!(why(&facts), Some(NoRestartReason::NoPolicy));
    }
}

#[test]
fn a_session_that_has_not_ended_is_not_restarted() {
    let mut facts = facts(&Reason::Exited, &FAILED);
    facts.exit = None;
    assert_eq!(why(&facts), Some(NoRestartReason::NotEnded));
}

#[test]
fn pauses_grow_and_start_over_after_a_healthy_run() {
    let mut facts = facts(&Reason::Exited, &FAILED);
    let mut pauses = Vec::new();
    for ran in [0, 0, 0, 599, 0, 0, 0, 0, 0, 0, 600, 0] {
        facts.ran = Duration::from_secs(ran);
        let Ok(after) = decide(&facts) else { panic!() };
        pauses.push(after.as_secs());
        facts.restarts = facts.restarts.after(facts.ran);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 1, 2]);
    assert_eq!(facts.restarts, Restarts { total: 12, in_a_row: 2 });
}

#[test]
fn restarts_stop_at_the_maximum() {
    let mut facts = facts(&Reason::Exited, &FAILED);
    facts.policy = Restart::OnFailure { most: Some(2) };
    facts.ran = Duration::from_secs(100_000);
    for _ in 0..2 {
        assert_eq!(why(&facts), None);
        facts.restarts = facts.restarts.after(facts.ran);
    }
    assert_eq!(why(&facts), Some(NoRestartReason::Exhausted), "however long it ran");
}

#[test]
fn a_policy_is_read_as_it_is_written() {
    for text in ["never", "on-failure", "on-failure:3"] {
        assert_eq!(text.parse::<Restart>().unwrap().to_string(), text);
    }
    for wrong in ["", "always", "on-failure:", "on-failure:0", "on-failure:-1", "never:1"] {
        let message = wrong.parse::<Restart>().unwrap_err().to_string();
        assert!(message.contains("expected never, on-failure or on-failure:N"), "{message}");
    }
}

proptest! {
    #[test]
    fn no_pause_is_too_short_or_too_long(total: u32, in_a_row: u32, ran in 0..2_000_u64) {
        let mut facts = facts(&Reason::Exited, &FAILED);
        facts.restarts = Restarts { total, in_a_row };
        facts.ran = Duration::from_secs(ran);
        let Ok(after) = decide(&facts) else { panic!() };
        prop_assert!((SHORTEST_PAUSE..=LONGEST_PAUSE).contains(&after));
        let later = facts.restarts.after(facts.ran);
        prop_assert!(later.total >= total && later.in_a_row >= 1);
    }
}
