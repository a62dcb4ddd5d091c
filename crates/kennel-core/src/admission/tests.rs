use proptest::prelude::*;

use super::*;
use crate::event::Event;
use crate::tests::{asking, born};

fn named(pattern: &str, most: u32) -> NameCap {
    NameCap { pattern: Pattern(pattern.into()), most }
}

fn applicant(name: Option<&str>, may_queue: bool) -> Applicant<'_> {
    Applicant { name, may_queue }
}

fn reserved(name: &str) -> Session {
    asking(|spec| spec.name = Some(name.into()))
}

fn running(name: &str) -> Session {
    let mut session = reserved(name);
    for event in [Event::Recorded, Event::KeeperReady, born(), Event::Opened] {
        drop(session.step(&event));
    }
    assert_eq!(session.phase, Phase::Running);
    session
}

fn counts(caps: &Caps, sessions: &[Session]) -> SessionCounts {
    let mut counts = SessionCounts::empty(caps);
    sessions.iter().for_each(|session| counts.count(caps, session));
    counts
}

#[test]
fn a_refusal_has_the_count_and_the_limit() {
    let live = Caps { live: Some(2), ..Caps::default() };
    let launching = Caps { launching: Some(1), ..Caps::default() };
    let names = Caps { names: vec![named("rev-*", 1), named("*", 9)], ..Caps::default() };
    let sessions = [running("rev-a"), reserved("b")];
    let message =
        |caps: &Caps, name| match decide(caps, &counts(caps, &sessions), applicant(name, false)) {
            Admission::Refuse(over) => over.to_string(),
            other => format!("{other:?}"),
        };
    assert_eq!(message(&live, None), "2 sessions are live, and the limit is 2");
    let expected = "1 session is being launched, and the limit is 1 at once";
    assert_eq!(message(&launching, None), expected);
    let expected = "1 session with a name like \"rev-*\" is live, and the limit is 1";
    assert_eq!(message(&names, Some("rev-b")), expected);
    for fits in [None, Some("b")] {
        assert_eq!(message(&names, fits), "Admit");
    }
    assert_eq!(message(&Caps::default(), None), "Admit");
}

#[test]
fn over_the_limit_a_session_is_queued_if_it_may_be() {
    let caps = Caps { live: Some(1), ..Caps::default() };
    let mut counts = counts(&caps, &[running("a")]);
    counts.wait();
    let over = LimitReached::Live { count: 1, limit: 1 };
    let admission = decide(&caps, &counts, applicant(None, true));
    assert_eq!(admission, Admission::Queue { position: 2, over });
}

#[test]
fn neither_queued_nor_ended_sessions_count() {
    let caps = Caps { live: Some(1), launching: Some(1), ..Caps::default() };
    let mut ended = running("a");
    drop(ended.step(&Event::Gone { exit: kennel_types::Exit::Code { code: 0 }, reason: None }));
    assert_eq!(ended.phase, Phase::Reaped, "it owes its files");
    let counts = counts(&caps, &[reserved("a").queued(), ended]);
    assert_eq!(decide(&caps, &counts, applicant(None, false)), Admission::Admit);
}

#[test]
fn a_limit_of_zero_refuses_every_session() {
    let caps = Caps { live: Some(0), ..Caps::default() };
    let counts = SessionCounts::empty(&caps);
    assert!(matches!(decide(&caps, &counts, applicant(None, false)), Admission::Refuse(_)));
}

#[test]
fn patterns_match_whole_names() {
    for (pattern, name, expected) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("a*", "abc", true),
        ("a*", "ba", false),
        ("*c", "abcc", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("*a*b*", "xxaxxbxx", true),
        ("*a*b*", "xxbxxaxx", false),
        ("?ü", "üü", true),
        ("a.c", "abc", false),
    ] {
        assert_eq!(Pattern(pattern.into()).matches(name), expected, "{pattern} {name}");
    }
}

/// A slow reference implementation.
fn matches_slowly(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], _) => {
            matches_slowly(rest, name) || (!name.is_empty() && matches_slowly(pattern, &name[1..]))
        }
        (['?', rest @ ..], [_, others @ ..]) => matches_slowly(rest, others),
        ([wanted, rest @ ..], [found, others @ ..]) => {
            wanted == found && matches_slowly(rest, others)
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn patterns_match_like_a_simple_reference(pattern in "[ab?*]{0,8}", name in "[abü]{0,8}") {
        let (left, right): (Vec<_>, Vec<_>) = (pattern.chars().collect(), name.chars().collect());
        prop_assert_eq!(Pattern(pattern).matches(&name), matches_slowly(&left, &right));
    }
}
