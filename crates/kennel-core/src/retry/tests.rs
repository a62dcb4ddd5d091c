use kennel_types::{EvidenceSource, TokenUsage, Verdict};
use proptest::prelude::*;

use super::*;

const RETRIED: [VerdictKind; 4] = [
    VerdictKind::Overloaded,
    VerdictKind::RateLimited,
    VerdictKind::Server,
    VerdictKind::Unreachable,
];
const WORKS: [Work; 3] = [Work::None, Work::Unknown, Work::Tools];

fn judged(kind: VerdictKind, work: Work) -> Judged {
    Judged {
        verdict: Verdict::new(kind, EvidenceSource::Result, "reported by the agent"),
        conversation: None,
        usage: TokenUsage::default(),
        work,
        turns: None,
        tools: 0,
    }
}

/// A prompt for a member that has a conversation, with three retries.
fn asked() -> AgentSpec {
    AgentSpec { conversation: Some("c1".into()), retries: 3, ..AgentSpec::default() }
}

fn facts<'a>(agent: &'a AgentSpec, judged: &'a Judged) -> RetryFacts<'a> {
    RetryFacts {
        agent,
        judged,
        attempts: 1,
        stale_before: false,
        since_first: Duration::ZERO,
        called_off: false,
        uncleaned: false,
        may_have_run: false,
        jitter: 0,
    }
}

fn why(facts: &RetryFacts<'_>) -> Option<NoRetryReason> {
    decide(facts).err()
}

/// Every verdict, if nothing else prevents a retry.
#[test]
fn each_verdict_has_its_decision() {
    for (kind, expected) in [
        (VerdictKind::Succeeded, Some(NoRetryReason::Succeeded)),
        (VerdictKind::Auth, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::StaleConversation, None),
        (VerdictKind::Overloaded, None),
        (VerdictKind::RateLimited, None),
        (VerdictKind::Server, None),
        (VerdictKind::Unreachable, None),
        (VerdictKind::UntrustedFolder, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::MaxTurns, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::RefusedFlags, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::Cancelled, Some(NoRetryReason::CalledOff)),
        (VerdictKind::TimedOut, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::Killed, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::Crashed, Some(NoRetryReason::NotThatKind)),
        (VerdictKind::Unknown, Some(NoRetryReason::NotThatKind)),
    ] {
        let (agent, judged) = (asked(), judged(kind, Work::None));
        assert_eq!(why(&facts(&agent, &judged)), expected, "{kind}");
    }
}

/// One combination of all facts that matter.
#[derive(Debug)]
struct Row {
    agent: AgentSpec,
    judged: Judged,
    attempts: u32,
    stale_before: bool,
    called_off: bool,
    may_have_run: bool,
}

/// The digits of a number, each with its own base.
struct Digits(usize);

impl Digits {
    fn next(&mut self, base: usize) -> usize {
        let digit = self.0 % base;
        self.0 /= base;
        digit
    }

    fn flag(&mut self) -> bool {
        self.next(2) == 1
    }
}

fn rows() -> impl Iterator<Item = Row> {
    let choices = [
        ConversationChoice::Continue,
        ConversationChoice::Fresh,
        ConversationChoice::Resume { id: "c1".into() },
    ];
    let every =
        VerdictKind::ALL.len() * WORKS.len() * choices.len() * 2 * 2 * 2 * 2 * 2 * 5 * 2 * 2;
    (0..every).map(move |number| {
        let mut digit = Digits(number);
        let mut judged = judged(VerdictKind::ALL[digit.next(15)], WORKS[digit.next(3)]);
        let conversation_choice = choices[digit.next(3)].clone();
        let conversation = digit.flag().then(|| "c1".to_owned());
        let replay = digit.flag();
        let (stale_before, called_off, may_have_run) = (digit.flag(), digit.flag(), digit.flag());
        let attempts = 1 + u32::try_from(digit.next(5)).unwrap();
        let retries = if digit.flag() { 2 } else { 0 };
        judged.turns = digit.flag().then_some(1);
        let agent = AgentSpec {
            conversation_choice,
            conversation,
            replay,
            retries,
            ..AgentSpec::default()
        };
        Row { agent, judged, attempts, stale_before, called_off, may_have_run }
    })
}

/// Checks both directions: a retry happens only if all conditions hold, and always if they do.
#[test]
fn a_prompt_is_retried_exactly_if_all_conditions_hold() {
    let (mut retries, mut fresh) = (0, 0);
    for row in rows() {
        let mut facts = facts(&row.agent, &row.judged);
        facts.attempts = row.attempts;
        facts.stale_before = row.stale_before;
        facts.called_off = row.called_off;
        facts.may_have_run = row.may_have_run;
        let kind = row.judged.verdict.kind;
        let tries = (row.attempts - 1).saturating_sub(u32::from(row.stale_before));
        let nothing_done = row.judged.work == Work::None && !row.may_have_run;
        let retried = RETRIED.contains(&kind)
            && !row.called_off
            && (nothing_done || row.agent.replay)
            && tries < row.agent.retries;
        let reported_at_once = row.judged.work == Work::Unknown && row.judged.turns.is_none();
        let nothing_begun =
            (row.judged.work == Work::None || reported_at_once) && !row.may_have_run;
        let stale = kind == VerdictKind::StaleConversation
            && !row.called_off
            && row.agent.conversation_choice == ConversationChoice::Continue
            && row.agent.conversation.is_some()
            && !row.stale_before
            && (nothing_begun || row.agent.replay);
        match decide(&facts) {
            Ok(Retry { fresh: false, after }) => {
                assert!(retried && after >= SHORTEST_PAUSE, "{row:?}");
                retries += 1;
            }
            Ok(Retry { fresh: true, after }) => {
                assert!(stale && after.is_zero(), "{row:?}");
                fresh += 1;
            }
            Err(why) => assert!(!retried && !stale, "{why:?} {row:?}"),
        }
    }
    assert!(retries > 0 && fresh > 0);
}

#[test]
fn the_reported_reason_is_one_that_a_user_can_act_on() {
    let overloaded = judged(VerdictKind::Overloaded, Work::None);
    let stale = judged(VerdictKind::StaleConversation, Work::None);
    let explicit = AgentSpec {
        conversation_choice: ConversationChoice::Resume { id: "c1".into() },
        ..asked()
    };
    let none = AgentSpec { retries: 0, ..asked() };
    assert_eq!(why(&facts(&explicit, &stale)), Some(NoRetryReason::ExplicitConversation));
    assert_eq!(why(&facts(&none, &overloaded)), Some(NoRetryReason::TooOften));
    let asked = asked();
    let twice = RetryFacts { stale_before: true, attempts: 2, ..facts(&asked, &stale) };
    assert_eq!(why(&twice), Some(NoRetryReason::StaleTwice));
    let uncleaned = RetryFacts { uncleaned: true, ..facts(&asked, &overloaded) };
    assert_eq!(why(&uncleaned), Some(NoRetryReason::NotCleaned));
    let called_off = RetryFacts { called_off: true, ..facts(&asked, &overloaded) };
    assert_eq!(why(&called_off), Some(NoRetryReason::CalledOff));
    for (kind, work, expected) in [
        (VerdictKind::Overloaded, Work::Tools, NoRetryReason::DidWork),
        (VerdictKind::Overloaded, Work::Unknown, NoRetryReason::MayHaveRun),
        (VerdictKind::StaleConversation, Work::Tools, NoRetryReason::DidWork),
        // It exceeded its time limit after it had done work.
        (VerdictKind::TimedOut, Work::Tools, NoRetryReason::NotThatKind),
    ] {
        let judged = judged(kind, work);
        assert_eq!(why(&facts(&asked, &judged)), Some(expected), "{kind} {work:?}");
    }
}

/// The daemon and the keeper die after the grant, so there is no evidence that the provider failed.
#[test]
fn an_unjudged_prompt_that_may_have_run_is_never_repeated() {
    for replay in [false, true] {
        let agent = AgentSpec { replay, ..asked() };
        let judged = judged(VerdictKind::Unknown, Work::Unknown);
        let facts = RetryFacts { may_have_run: true, ..facts(&agent, &judged) };
        assert_eq!(why(&facts), Some(NoRetryReason::MayHaveRun));
    }
}

/// An agent that mentions a missing conversation after it has done work has a conversation.
#[test]
fn a_conversation_is_stale_only_before_any_work() {
    let asked = asked();
    let mut stale = judged(VerdictKind::StaleConversation, Work::Unknown);
    assert_eq!(why(&facts(&asked, &stale)), None);
    stale.usage.output_tokens = 1;
    assert_eq!(why(&facts(&asked, &stale)), Some(NoRetryReason::DidWork));
    let mut stale = judged(VerdictKind::StaleConversation, Work::None);
    stale.tools = 1;
    assert_eq!(
        why(&facts(&asked, &stale)),
        Some(NoRetryReason::DidWork),
        "regardless of the amount of work"
    );
}

#[test]
fn the_pauses_grow_to_a_limit() {
    let pauses: Vec<_> = (0..10).map(|tries| pause(tries, None, 0).as_secs()).collect();
    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    let most = pause(0, None, u16::MAX);
    assert!(
        most > Duration::from_millis(2_499) && most <= Duration::from_millis(2_500),
        "{most:?}"
    );
}

#[test]
fn no_retry_starts_after_its_deadline() {
    let agent = AgentSpec { retry_within_ms: Some(10_000), ..asked() };
    let overloaded = judged(VerdictKind::Overloaded, Work::None);
    let stale = judged(VerdictKind::StaleConversation, Work::None);
    let at = |judged, ms| {
        why(&RetryFacts { since_first: Duration::from_millis(ms), ..facts(&agent, judged) })
    };
    assert_eq!(at(&overloaded, 8_000), None);
    assert_eq!(at(&overloaded, 8_001), Some(NoRetryReason::TooLong));
    assert_eq!(at(&stale, 10_000), None);
    assert_eq!(at(&stale, 10_001), Some(NoRetryReason::TooLong));
    let mut later = judged(VerdictKind::RateLimited, Work::None);
    later.verdict.retry_after = Some(Duration::from_secs(11));
    assert_eq!(
        at(&later, 0),
        Some(NoRetryReason::TooLong),
        "the provider requests a longer pause than the deadline allows"
    );
}

#[test]
fn reasons_are_sentences_for_an_event() {
    for why in [
        NoRetryReason::Succeeded,
        NoRetryReason::StaleTwice,
        NoRetryReason::TooLong,
        NoRetryReason::MayHaveRun,
    ] {
        let text = why.to_string();
        assert!(text.starts_with(char::is_lowercase) && !text.ends_with('.'), "{text}");
    }
}

fn any_kind() -> impl Strategy<Value = VerdictKind> {
    // Mostly verdicts that are retried: the others end a history at once.
    prop_oneof![
        4 => prop::sample::select(RETRIED.to_vec()),
        2 => Just(VerdictKind::StaleConversation),
        1 => prop::sample::select(VerdictKind::ALL.to_vec()),
    ]
}

fn any_step() -> impl Strategy<Value = (VerdictKind, Work, Option<Duration>, u16, u64)> {
    let work = prop::sample::select(WORKS.to_vec());
    let retry_after = prop::option::of((0..400_u64).prop_map(Duration::from_secs));
    (any_kind(), work, retry_after, any::<u16>(), 0..60_000_u64)
}

proptest! {
    /// Whatever the result of each launch: the number of launches is limited, none is too late, and
    /// at most one starts a new conversation.
    #[test]
    fn a_history_of_launches_is_bounded(
        steps in prop::collection::vec(any_step(), 1..40),
        retries in 0..6_u32,
        within in prop::option::of(0..900_000_u64),
        replay: bool,
    ) {
        let mut agent = AgentSpec { retries, retry_within_ms: within, replay, ..asked() };
        let (mut attempts, mut fresh, mut now) = (1, 0, Duration::ZERO);
        for (kind, work, retry_after, jitter, took) in steps {
            now += Duration::from_millis(took);
            let mut judged = judged(kind, work);
            judged.verdict.retry_after = retry_after;
            let stale_before = fresh > 0;
            let since_first = now;
            let facts = RetryFacts { attempts, stale_before, since_first, jitter, ..facts(&agent, &judged) };
            let Ok(Retry { after, fresh: is_fresh }) = decide(&facts) else { break };
            prop_assert!(work == Work::None || replay || is_fresh && work != Work::Tools);
            now += after;
            attempts += 1;
            prop_assert!(within.is_none_or(|within| now <= Duration::from_millis(within)));
            if is_fresh {
                fresh += 1;
                agent.conversation = None;
            } else {
                prop_assert!(RETRIED.contains(&kind));
                prop_assert!(after >= retry_after.unwrap_or_default());
            }
        }
        prop_assert!(fresh <= 1);
        prop_assert!(attempts <= 1 + retries + fresh, "{} launches", attempts);
    }

    /// A pause grows with tries, jitter and the provider's request, and is never shorter than that.
    #[test]
    fn pauses_are_monotone(tries in 0..u32::MAX, requested in prop::option::of(0..u64::MAX), jitter in 0..u16::MAX) {
        let requested = requested.map(Duration::from_secs);
        let one = pause(tries, requested, jitter);
        prop_assert!(one >= requested.unwrap_or_default() && one >= SHORTEST_PAUSE);
        prop_assert!(pause(tries + 1, requested, jitter) >= one);
        prop_assert!(pause(tries, requested, jitter + 1) >= one);
        let longer = requested.unwrap_or_default().saturating_add(Duration::from_secs(1));
        prop_assert!(pause(tries, Some(longer), jitter) >= one);
        let least = requested.unwrap_or_default().max(LONGEST_PAUSE);
        prop_assert!(one <= least.saturating_add(least / 4));
    }
}
