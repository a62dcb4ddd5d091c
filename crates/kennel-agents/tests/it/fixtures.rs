//! The verdict on every recording.

use std::collections::BTreeSet;
use std::time::Duration;

use kennel_agents::Happening;
use kennel_types::{
    EvidenceSource::{self, Kennel, Result, Stderr},
    Usage,
    VerdictKind::{self, *},
    Work,
};

use crate::recorded::Recorded;

/// What is expected of a recording.
struct Expected {
    cli: &'static str,
    scenario: &'static str,
    kind: VerdictKind,
    source: EvidenceSource,
    /// Whether it told a conversation.
    conversation: bool,
    work: Work,
    answer: Option<&'static str>,
}

const fn told(cli: &'static str, scenario: &'static str, kind: VerdictKind) -> Expected {
    Expected {
        cli,
        scenario,
        kind,
        source: Result,
        conversation: true,
        work: Work::None,
        answer: None,
    }
}

/// One that did not even begin.
const fn refused(cli: &'static str, scenario: &'static str, kind: VerdictKind) -> Expected {
    Expected { source: Stderr, conversation: false, ..told(cli, scenario, kind) }
}

const fn answered(cli: &'static str, scenario: &'static str, answer: &'static str) -> Expected {
    Expected { answer: Some(answer), ..told(cli, scenario, Succeeded) }
}

const fn with_tools(cli: &'static str, answer: &'static str) -> Expected {
    Expected { work: Work::Tools, ..answered(cli, "tool", answer) }
}

const HELLO: &str = "mock says hello";

const EXPECTED: &[Expected] = &[
    answered("claude", "ok", HELLO),
    answered("claude", "resume", HELLO),
    Expected { conversation: false, ..told("claude", "stale", StaleConversation) },
    told("claude", "401", Auth),
    told("claude", "403", Auth),
    told("claude", "429", RateLimited),
    told("claude", "429-retry-after", RateLimited),
    told("claude", "500", Server),
    told("claude", "503", Server),
    told("claude", "529", Overloaded),
    told("claude", "refused", Unreachable),
    with_tools("claude", "tool done"),
    Expected { work: Work::Tools, ..told("claude", "max-turns", MaxTurns) },
    refused("claude", "bad-flag", RefusedFlags),
    refused("claude", "as-root", RefusedFlags),
    answered("codex", "ok", HELLO),
    answered("codex", "resume", HELLO),
    refused("codex", "stale", StaleConversation),
    told("codex", "401", Auth),
    told("codex", "403", Auth),
    told("codex", "429", RateLimited),
    told("codex", "429-retry-after", RateLimited),
    // It says that the demand is high, whatever the reason for a 500.
    told("codex", "500", Server),
    told("codex", "503", Server),
    told("codex", "529", Overloaded),
    // It waits for the network for ever, so this recording was ended.
    Expected { source: Kennel, work: Work::Unknown, ..told("codex", "refused", TimedOut) },
    with_tools("codex", "tool done"),
    refused("codex", "bad-flag", RefusedFlags),
    refused("codex", "untrusted", UntrustedFolder),
    answered("gemini", "ok", HELLO),
    answered("gemini", "resume", HELLO),
    refused("gemini", "stale", StaleConversation),
    told("gemini", "401", Auth),
    told("gemini", "403", Auth),
    told("gemini", "429", RateLimited),
    told("gemini", "429-retry-after", RateLimited),
    told("gemini", "500", Server),
    told("gemini", "503", Server),
    told("gemini", "529", Overloaded),
    told("gemini", "refused", Unreachable),
    with_tools("gemini", "tool done"),
    refused("gemini", "bad-flag", RefusedFlags),
    refused("gemini", "untrusted", UntrustedFolder),
    answered("opencode", "ok", HELLO),
    answered("opencode", "resume", HELLO),
    refused("opencode", "stale", StaleConversation),
    told("opencode", "401", Auth),
    told("opencode", "403", Auth),
    told("opencode", "429", RateLimited),
    told("opencode", "429-retry-after", RateLimited),
    told("opencode", "500", Server),
    told("opencode", "503", Server),
    told("opencode", "529", Overloaded),
    told("opencode", "refused", Unreachable),
    with_tools("opencode", "tool done"),
    refused("opencode", "bad-flag", RefusedFlags),
];

#[test]
fn every_recording_is_judged_as_expected() {
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
fn every_recording_is_expected() {
    let expected: BTreeSet<String> =
        EXPECTED.iter().map(|it| format!("{}/{}", it.cli, it.scenario)).collect();
    let recorded: BTreeSet<String> = Recorded::all().iter().map(Recorded::name).collect();
    assert_eq!(recorded, expected);
}

#[test]
fn no_machine_is_in_a_recording() {
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
fn a_resumed_conversation_is_told() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut told = Vec::new();
        let finished = Recorded::of(cli, "resume").tell(&mut |happening| {
            if let Happening::Conversation(id) = happening {
                told.push(id.to_owned());
            }
        });
        let id = finished.judged.conversation.expect("a conversation");
        assert_eq!(told, [id], "{cli}: told once");
    }
}

#[test]
fn a_tool_is_told_from_its_beginning_to_its_end() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut told = Vec::new();
        let finished = Recorded::of(cli, "tool").tell(&mut |happening| match happening {
            Happening::ToolBegan { id, about, .. } => {
                assert!(about.contains("echo hello from the tool"), "{cli}: {about}");
                told.push(format!("+{id}"));
            }
            Happening::ToolEnded { id, failed } => {
                assert!(!failed, "{cli}");
                told.push(format!("-{id}"));
            }
            Happening::Text(text) => told.push(text.to_owned()),
            _ => {}
        });
        let [began, ended, text] = &told[..] else { panic!("{cli}: {told:?}") };
        assert_eq!(began[1..], ended[1..], "{cli}");
        assert_eq!(text, "tool done", "{cli}");
        assert_eq!(finished.judged.tools, 1, "{cli}");
    }
}

#[test]
fn usage_is_the_mocks() {
    for (cli, scenario, calls) in [
        ("claude", "ok", 1),
        ("claude", "tool", 2),
        ("codex", "ok", 1),
        // Of the whole conversation, as its `usage_of` says.
        ("codex", "resume", 2),
        ("gemini", "tool", 2),
        ("opencode", "tool", 2),
    ] {
        let usage = Recorded::of(cli, scenario).finish().judged.usage;
        let tokens = Usage { cost_micros: 0, ..usage };
        let expected =
            Usage { input_tokens: 11 * calls, output_tokens: 7 * calls, ..Usage::default() };
        assert_eq!(tokens, expected, "{cli}/{scenario}");
        assert_eq!(usage.cost_micros > 0, cli == "claude", "{cli}/{scenario}");
    }
}

#[test]
fn what_the_provider_says_to_wait_is_kept_where_it_is_shown() {
    let wait = |cli, scenario| Recorded::of(cli, scenario).finish().judged.verdict.retry_after;
    for cli in ["claude", "opencode"] {
        assert_eq!(wait(cli, "429-retry-after"), Some(Duration::from_secs(2)), "{cli}");
    }
    for cli in ["claude", "codex", "gemini", "opencode"] {
        assert_eq!(wait(cli, "429"), None, "{cli}: nobody said so");
    }
}

#[test]
fn tries_of_its_own_are_told() {
    for (cli, tries) in [("claude", 2), ("codex", 5)] {
        let mut told = 0;
        let _finished = Recorded::of(cli, "503").tell(&mut |happening| {
            told += usize::from(matches!(happening, Happening::Retrying { .. }));
        });
        assert_eq!(told, tries, "{cli}");
    }
}
