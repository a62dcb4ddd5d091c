//! Verdicts from the reported outcome and the end of the process.

use kennel_agents::{AttemptEnd, EndedBy, OutputStream, ProcessEnd};
use kennel_types::VerdictKind::{self, *};
use kennel_types::Work;
use kennel_types::{EvidenceSource, MAX_EVIDENCE_BYTES};

use crate::recorded::{Recorded, agent, exited, judged};

fn ended(ended_by: EndedBy, end: ProcessEnd) -> AttemptEnd {
    AttemptEnd { end, ended_by }
}

fn kind(recorded: &Recorded) -> VerdictKind {
    recorded.finish().judged.verdict.kind
}

/// Returns a recording that ends after the first line with this text.
fn cut(recorded: &Recorded, has: &str) -> Recorded {
    let text = String::from_utf8(recorded.stdout.clone()).unwrap();
    let at = text.find(has).unwrap_or_else(|| panic!("{has}: {text}"));
    let end = at + text[at..].find('\n').unwrap() + 1;
    Recorded { stdout: text.as_bytes()[..end].to_vec(), ..recorded.clone() }
}

#[test]
fn a_stop_before_the_result_is_a_cancel() {
    for (cli, has) in [
        ("claude", "tool_use"),
        ("codex", "in_progress"),
        ("gemini", "tool_use"),
        ("opencode", "step_start"),
    ] {
        let run = cut(&Recorded::of(cli, "tool"), has);
        for end in [
            ProcessEnd::Exited(0),
            ProcessEnd::Exited(143),
            ProcessEnd::Signaled(15),
            ProcessEnd::Signaled(9),
            ProcessEnd::Unknown,
        ] {
            for (ended_by, expected) in [
                (EndedBy::Stopped, Cancelled),
                (EndedBy::TimedOut, TimedOut),
                (EndedBy::Kennel { why: "it shuts down".to_owned() }, Cancelled),
            ] {
                let run = Recorded { ended: ended(ended_by, end.clone()), ..run.clone() };
                let judged = run.finish().judged;
                assert_eq!(judged.verdict.kind, expected, "{cli} {end:?}");
                assert_eq!(judged.verdict.source, EvidenceSource::Kennel);
                // opencode has reported no tool yet, but one may have run.
                let work = if cli == "opencode" { Work::Unknown } else { Work::Tools };
                assert_eq!(judged.work, work, "{cli} {end:?}");
            }
        }
    }
}

#[test]
fn a_stop_after_the_result_is_a_success() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        for end in [
            ProcessEnd::Signaled(9),
            ProcessEnd::Exited(143),
            ProcessEnd::Exited(0),
            ProcessEnd::Unknown,
        ] {
            let ok = Recorded::of(cli, "ok");
            let run = Recorded { ended: ended(EndedBy::Stopped, end), ..ok };
            assert_eq!(kind(&run), Succeeded, "{}", run.name());
        }
    }
}

#[test]
fn a_turn_after_the_result_revokes_it() {
    // One agent starts another turn when it gets SIGTERM after its result.
    let ok = Recorded::of("claude", "tool");
    let again = cut(&Recorded::of("claude", "ok"), "\"type\":\"assistant\"");
    let mut run = Recorded { ended: ended(EndedBy::Stopped, ProcessEnd::Exited(143)), ..ok };
    run.stdout.extend(again.stdout);
    assert_eq!(kind(&run), Cancelled);
}

#[test]
fn has_result_is_true_after_the_result() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut reader = agent(cli).reader();
        let ok = Recorded::of(cli, "tool");
        let (most, last) = ok.stdout.split_at(ok.stdout.len() - 20);
        reader.read(OutputStream::Stdout, most, &mut |_| {});
        assert!(!reader.has_result(), "{cli}");
        reader.read(OutputStream::Stdout, last, &mut |_| {});
        assert!(reader.has_result(), "{cli}");
    }
}

#[test]
fn ignores_failures_that_a_stop_causes() {
    let stopped = ended(EndedBy::Stopped, ProcessEnd::Exited(1));
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s","errors":["aborted"]}"#;
    let finished = judged(&agent("claude"), result, "", &stopped);
    assert_eq!(finished.judged.verdict.kind, Cancelled);
}

#[test]
fn an_exit_status_can_contradict_a_success() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let ok = Recorded::of(cli, "ok");
        let ended_as = |end| Recorded { ended: ended(EndedBy::Itself, end), ..ok.clone() };
        assert_eq!(kind(&ended_as(ProcessEnd::Exited(1))), Unknown, "{cli}");
        assert_eq!(kind(&ended_as(ProcessEnd::Signaled(9))), Killed, "{cli}");
        assert_eq!(kind(&ended_as(ProcessEnd::Signaled(11))), Crashed, "{cli}");
        assert_eq!(
            kind(&ended_as(ProcessEnd::Unknown)),
            Succeeded,
            "{cli}: its result is complete"
        );
    }
}

#[test]
fn a_signal_that_kennel_did_not_send_is_a_kill() {
    for recorded in Recorded::all() {
        let run = Recorded { ended: ended(EndedBy::Itself, ProcessEnd::Signaled(9)), ..recorded };
        assert_eq!(kind(&run), Killed, "{}", run.name());
    }
    for code in [129, 130, 137, 143] {
        let finished = judged(&agent("claude"), "", "", &exited(code));
        assert_eq!(finished.judged.verdict.kind, Killed, "{code}");
    }
}

#[test]
fn exit_code_0_without_a_result_is_a_crash() {
    // This is how it ends when it is interrupted while it waits for the API.
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let verdict = judged(&agent(cli), "", "", &exited(0)).judged.verdict;
        assert_eq!((verdict.kind, verdict.source), (Crashed, EvidenceSource::Exit), "{cli}");
        let panic = judged(&agent(cli), "", "thread 'main' panicked at src/x.rs", &exited(101));
        assert_eq!(panic.judged.verdict.kind, Crashed, "{cli}");
        assert!(panic.judged.verdict.evidence.contains("panicked"), "{cli}");
        assert_eq!(panic.judged.work, Work::Unknown, "{cli}");
    }
}

#[test]
fn an_attempt_that_never_started_did_no_work() {
    let not = |ended_by| ended(ended_by, ProcessEnd::NotStarted("no such program".to_owned()));
    let finished = judged(&agent("claude"), "", "", &not(EndedBy::Itself));
    assert_eq!(finished.judged.verdict.kind, Crashed);
    assert_eq!(finished.judged.verdict.source, EvidenceSource::Kennel);
    assert_eq!(finished.judged.verdict.evidence, "no such program");
    assert_eq!(finished.judged.work, Work::None);
    let finished = judged(&agent("claude"), "", "", &not(EndedBy::Stopped));
    assert_eq!((finished.judged.verdict.kind, finished.judged.work), (Cancelled, Work::None));
}

#[test]
fn unknown_messages_are_evidence_but_no_success() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let future = "{\"type\":\"outcome\",\"v\":2,\"fine\":true}\n";
        for code in [0, 1] {
            let finished = judged(&agent(cli), future, "", &exited(code));
            let verdict = &finished.judged.verdict;
            assert_eq!(verdict.kind, Unknown, "{cli} {code}");
            assert!(verdict.evidence.contains("\"fine\":true"), "{cli}: {verdict:?}");
            assert_eq!(finished.judged.work, Work::Unknown, "{cli}");
        }
        // Only its result has an unknown form.
        let ok = Recorded::of(cli, "ok");
        let text = String::from_utf8(ok.stdout.clone()).unwrap();
        let strange = text
            .replace("\"subtype\":\"success\"", "\"subtype\":\"fine\"")
            .replace("turn.completed", "turn.finished")
            .replace("\"status\":\"success\"", "\"status\":\"fine\"")
            .replace("\"reason\":\"stop\"", "\"reason\":\"fine\"");
        let run = Recorded { stdout: strange.into_bytes(), ..ok };
        let finished = run.finish();
        assert_eq!(finished.judged.verdict.kind, Unknown, "{cli}");
        assert!(finished.judged.verdict.evidence.contains("fin"), "{cli}: {finished:?}");
    }
}

#[test]
fn an_unknown_error_text_has_an_unknown_verdict() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":418,"result":"API Error: 418 I'm a teapot, not overloaded","session_id":"s"}"#;
    let verdict = judged(&agent("claude"), result, "", &exited(1)).judged.verdict;
    assert_eq!(verdict.kind, Unknown);
    assert!(verdict.evidence.contains("teapot"));
    let failed = r#"{"type":"turn.failed","error":{"message":"the moon is full"}}"#;
    let verdict = judged(&agent("codex"), failed, "", &exited(1)).judged.verdict;
    assert_eq!((verdict.kind, verdict.evidence.as_str()), (Unknown, "the moon is full"));
    let own = r#"{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details."}}}"#;
    let verdict = judged(&agent("opencode"), own, "", &exited(1)).judged.verdict;
    assert_eq!(verdict.kind, Unknown, "its own server failed");
}

#[test]
fn a_start_failure_counts_only_before_any_work() {
    let stderr = "No conversation found with session ID: 1\n";
    let finished = judged(&agent("claude"), "", stderr, &exited(1));
    assert_eq!(finished.judged.verdict.kind, StaleConversation);
    assert_eq!(finished.judged.work, Work::None);
    // A tool may print the same text.
    let begun = cut(&Recorded::of("claude", "tool"), "tool_use");
    let stdout = String::from_utf8(begun.stdout).unwrap();
    let finished = judged(&agent("claude"), &stdout, stderr, &exited(1));
    assert_eq!(finished.judged.verdict.kind, Crashed);
    assert_eq!(finished.judged.work, Work::Tools);
}

#[test]
fn an_answer_is_never_an_error() {
    let words = "rate limit, 401 Unauthorized, No conversation found with session ID: x";
    let result = format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{words}","session_id":"s"}}"#
    );
    let finished = judged(&agent("claude"), &result, words, &exited(0));
    assert_eq!(finished.judged.verdict.kind, Succeeded);
    assert_eq!(finished.answer.as_deref(), Some(words));
}

#[test]
fn after_a_gap_a_tool_may_have_run() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let run = Recorded::of(cli, "429");
        let mut reader = agent(cli).reader();
        let half = run.stdout.len() / 2;
        reader.read(OutputStream::Stdout, &run.stdout[..half], &mut |_| {});
        reader.lost(10);
        reader.read(OutputStream::Stdout, b"the rest of a line\n", &mut |_| {});
        reader.read(OutputStream::Stdout, &run.stdout, &mut |_| {});
        let judged = reader.finish(&run.ended, &mut |_| {}).judged;
        assert_eq!((judged.verdict.kind, judged.work), (RateLimited, Work::Unknown), "{cli}");

        let tool = Recorded::of(cli, "tool");
        let mut reader = agent(cli).reader();
        reader.lost(0);
        reader.read(OutputStream::Stdout, &tool.stdout, &mut |_| {});
        let judged = reader.finish(&tool.ended, &mut |_| {}).judged;
        assert_eq!((judged.verdict.kind, judged.work), (Succeeded, Work::Tools), "{cli}");
    }
}

#[test]
fn a_gap_between_two_lines_loses_neither() {
    let ok = Recorded::of("codex", "ok");
    let at = ok.stdout.iter().rposition(|byte| *byte == b'{').unwrap();
    let at = ok.stdout[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut reader = agent("codex").reader();
    reader.read(OutputStream::Stdout, &ok.stdout[..at], &mut |_| {});
    reader.lost(100);
    reader.read(OutputStream::Stdout, &ok.stdout[at..], &mut |_| {});
    let judged = reader.finish(&ok.ended, &mut |_| {}).judged;
    assert_eq!((judged.verdict.kind, judged.work), (Succeeded, Work::Unknown));
}

#[test]
fn a_gap_after_the_result_makes_an_unknown_exit_unknown() {
    let ok = Recorded::of("codex", "ok");
    let mut reader = agent("codex").reader();
    reader.read(OutputStream::Stdout, &ok.stdout, &mut |_| {});
    reader.lost(1);
    let end = ended(EndedBy::Itself, ProcessEnd::Unknown);
    assert_eq!(reader.finish(&end, &mut |_| {}).judged.verdict.kind, Unknown);
}

#[test]
fn evidence_is_bounded() {
    let long = "ü".repeat(100_000);
    let verdict = judged(&agent("codex"), "", &long, &exited(1)).judged.verdict;
    assert!(verdict.evidence.len() <= MAX_EVIDENCE_BYTES);
    let line = format!("{{\"strange\":\"{long}\"}}\n");
    let verdict = judged(&agent("codex"), &line, "", &exited(0)).judged.verdict;
    assert_eq!(verdict.kind, Unknown);
    assert!(verdict.evidence.len() <= MAX_EVIDENCE_BYTES);
}
