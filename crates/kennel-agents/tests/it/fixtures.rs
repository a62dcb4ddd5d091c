//! The verdicts on all recordings.

use std::collections::BTreeSet;
use std::time::Duration;

use kennel_agents::AgentEvent;
use kennel_types::EvidenceSource::{self, Kennel, Result, Stderr};
use kennel_types::VerdictKind::{self, *};
use kennel_types::{TokenUsage, Work};

use crate::recorded::Recorded;

/// The expected result of a recording.
struct ExpectedResult {
    cli: &'static str,
    scenario: &'static str,
    kind: VerdictKind,
    source: EvidenceSource,
    /// Whether it reported a conversation.
    conversation: bool,
    work: Work,
    answer: Option<&'static str>,
}

const fn reported(cli: &'static str, scenario: &'static str, kind: VerdictKind) -> ExpectedResult {
    ExpectedResult {
        cli,
        scenario,
        kind,
        source: Result,
        conversation: true,
        work: Work::None,
        answer: None,
    }
}

/// An agent that failed to start.
const fn failed_start(
    cli: &'static str,
    scenario: &'static str,
    kind: VerdictKind,
) -> ExpectedResult {
    ExpectedResult { source: Stderr, conversation: false, ..reported(cli, scenario, kind) }
}

const fn answered(
    cli: &'static str,
    scenario: &'static str,
    answer: &'static str,
) -> ExpectedResult {
    ExpectedResult { answer: Some(answer), ..reported(cli, scenario, Succeeded) }
}

const fn with_tools(cli: &'static str, answer: &'static str) -> ExpectedResult {
    ExpectedResult { work: Work::Tools, ..answered(cli, "tool", answer) }
}

const HELLO: &str = "mock says hello";

const EXPECTED: &[ExpectedResult] = &[
    answered("claude", "ok", HELLO),
    answered("claude", "resume", HELLO),
    ExpectedResult { conversation: false, ..reported("claude", "stale", StaleConversation) },
    reported("claude", "401", Auth),
    reported("claude", "403", Auth),
    reported("claude", "429", RateLimited),
    reported("claude", "429-retry-after", RateLimited),
    reported("claude", "500", Server),
    reported("claude", "503", Server),
    reported("claude", "529", Overloaded),
    reported("claude", "refused", Unreachable),
    with_tools("claude", "tool done"),
    ExpectedResult { work: Work::Tools, ..reported("claude", "max-turns", MaxTurns) },
    failed_start("claude", "bad-flag", RefusedFlags),
    failed_start("claude", "as-root", RefusedFlags),
    answered("codex", "ok", HELLO),
    answered("codex", "resume", HELLO),
    failed_start("codex", "stale", StaleConversation),
    reported("codex", "401", Auth),
    reported("codex", "403", Auth),
    reported("codex", "429", RateLimited),
    reported("codex", "429-retry-after", RateLimited),
    // It reports high demand for any status 500.
    reported("codex", "500", Server),
    reported("codex", "503", Server),
    reported("codex", "529", Overloaded),
    // It waits for the network forever, so this recording was ended.
    ExpectedResult {
        source: Kennel,
        work: Work::Unknown,
        ..reported("codex", "refused", TimedOut)
    },
    with_tools("codex", "tool done"),
    failed_start("codex", "bad-flag", RefusedFlags),
    failed_start("codex", "untrusted", UntrustedFolder),
    answered("gemini", "ok", HELLO),
    answered("gemini", "resume", HELLO),
    failed_start("gemini", "stale", StaleConversation),
    reported("gemini", "401", Auth),
    reported("gemini", "403", Auth),
    reported("gemini", "429", RateLimited),
    reported("gemini", "429-retry-after", RateLimited),
    reported("gemini", "500", Server),
    reported("gemini", "503", Server),
    reported("gemini", "529", Overloaded),
    reported("gemini", "refused", Unreachable),
    with_tools("gemini", "tool done"),
    failed_start("gemini", "bad-flag", RefusedFlags),
    failed_start("gemini", "untrusted", UntrustedFolder),
    answered("opencode", "ok", HELLO),
    answered("opencode", "resume", HELLO),
    failed_start("opencode", "stale", StaleConversation),
    reported("opencode", "401", Auth),
    reported("opencode", "403", Auth),
    reported("opencode", "429", RateLimited),
    reported("opencode", "429-retry-after", RateLimited),
    reported("opencode", "500", Server),
    reported("opencode", "503", Server),
    reported("opencode", "529", Overloaded),
    reported("opencode", "refused", Unreachable),
    with_tools("opencode", "tool done"),
    failed_start("opencode", "bad-flag", RefusedFlags),
];

#[test]
fn judges_every_recording_as_expected() {
    let mut wrong = Vec::new();
    for expected in EXPECTED {
        let recorded = Recorded::of(expected.cli, expected.scenario);
        let finished = recorded.finish();
        let verdict = &finished.judged.verdict;
        let got = (
            verdict.kind,
            verdict.source,
            finished.judged.conversation.is_some(),
            finished.judged.work,
            finished.answer.as_deref().filter(|_| verdict.kind == Succeeded),
        );
        let wanted =
            (expected.kind, expected.source, expected.conversation, expected.work, expected.answer);
        if got != wanted || verdict.evidence.is_empty() {
            wrong.push(format!("{}: {wanted:?}, but {got:?}: {verdict:?}", recorded.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expects_every_recording() {
    let expected: BTreeSet<String> =
        EXPECTED.iter().map(|it| format!("{}/{}", it.cli, it.scenario)).collect();
    let recorded: BTreeSet<String> = Recorded::all().iter().map(Recorded::name).collect();
    assert_eq!(recorded, expected);
}

#[test]
fn recordings_contain_no_paths_of_a_machine() {
    for recorded in Recorded::all() {
        for stream in [&recorded.stdout, &recorded.stderr] {
            let text = String::from_utf8_lossy(stream).replace("/home/user/", "");
            for path in ["/tmp/", "/root", "/work", ".agents", "kennel-record"] {
                assert!(!text.contains(path), "{}: {path}", recorded.name());
            }
        }
    }
}

#[test]
fn reports_a_resumed_conversation_once() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut seen = Vec::new();
        let finished = Recorded::of(cli, "resume").emit(&mut |event| {
            if let AgentEvent::Conversation { id } = event {
                seen.push(id.to_owned());
            }
        });
        let id = finished.judged.conversation.expect("a conversation");
        assert_eq!(seen, [id], "{cli}: reported once");
    }
}

#[test]
fn reports_the_start_and_end_of_a_tool() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut seen = Vec::new();
        let finished = Recorded::of(cli, "tool").emit(&mut |event| match event {
            AgentEvent::ToolBegan { id, about, .. } => {
                assert!(about.contains("echo hello from the tool"), "{cli}: {about}");
                seen.push(format!("+{id}"));
            }
            AgentEvent::ToolEnded { id, failed } => {
                assert!(!failed, "{cli}");
                seen.push(format!("-{id}"));
            }
            AgentEvent::Text { text } => seen.push(text.to_owned()),
            _ => {}
        });
        let [began, ended, text] = &seen[..] else { panic!("{cli}: {seen:?}") };
        assert_eq!(began[1..], ended[1..], "{cli}");
        assert_eq!(text, "tool done", "{cli}");
        assert_eq!(finished.judged.tools, 1, "{cli}");
    }
}

#[test]
fn reports_the_usage_of_the_mock() {
    for (cli, scenario, calls) in [
        ("claude", "ok", 1),
        ("claude", "tool", 2),
        ("codex", "ok", 1),
        // The usage of the whole conversation, according to its usage scope.
        ("codex", "resume", 2),
        ("gemini", "tool", 2),
        ("opencode", "tool", 2),
    ] {
        let usage = Recorded::of(cli, scenario).finish().judged.usage;
        let tokens = TokenUsage { cost_micros: 0, ..usage };
        let expected = TokenUsage {
            input_tokens: 11 * calls,
            output_tokens: 7 * calls,
            ..TokenUsage::default()
        };
        assert_eq!(tokens, expected, "{cli}/{scenario}");
        assert_eq!(usage.cost_micros > 0, cli == "claude", "{cli}/{scenario}");
    }
}

#[test]
fn keeps_the_retry_delay_of_the_provider() {
    let wait = |cli, scenario| Recorded::of(cli, scenario).finish().judged.verdict.retry_after;
    for cli in ["claude", "opencode"] {
        assert_eq!(wait(cli, "429-retry-after"), Some(Duration::from_secs(2)), "{cli}");
    }
    for cli in ["claude", "codex", "gemini", "opencode"] {
        assert_eq!(wait(cli, "429"), None, "{cli}: no delay was given");
    }
}

#[test]
fn reports_the_agents_own_retries() {
    for (cli, tries) in [("claude", 2), ("codex", 5)] {
        let mut seen = 0;
        let _finished = Recorded::of(cli, "503").emit(&mut |event| {
            seen += usize::from(matches!(event, AgentEvent::Retrying { .. }));
        });
        assert_eq!(seen, tries, "{cli}");
    }
}
