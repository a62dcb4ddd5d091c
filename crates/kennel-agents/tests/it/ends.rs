//! What was told and how it ended, together.

use kennel_agents::{Because, End, Ended, Stream};
use kennel_types::{
    EvidenceSource, MOST_EVIDENCE,
    VerdictKind::{self, *},
    Work,
};

use crate::recorded::{Recorded, agent, exited, judged};

fn by(because: Because, end: End) -> Ended {
    Ended { end, because }
}

fn kind(recorded: &Recorded) -> VerdictKind {
    recorded.finish().judged.verdict.kind
}

/// A recording, cut behind the first line that has this in it.
fn cut(recorded: &Recorded, has: &str) -> Recorded {
    let text = String::from_utf8(recorded.stdout.clone()).unwrap();
    let at = text.find(has).unwrap_or_else(|| panic!("{has}: {text}"));
    let end = at + text[at..].find('\n').unwrap() + 1;
    Recorded { stdout: text.as_bytes()[..end].to_vec(), ..recorded.clone() }
}

#[test]
fn a_stop_before_the_result_is_a_cancel_whatever_it_exits_with() {
    for (cli, has) in [
        ("claude", "tool_use"),
        ("codex", "in_progress"),
        ("gemini", "tool_use"),
        ("opencode", "step_start"),
    ] {
        let run = cut(&Recorded::of(cli, "tool"), has);
        for end in
            [End::Exited(0), End::Exited(143), End::Signaled(15), End::Signaled(9), End::Unknown]
        {
            for (because, expected) in [
                (Because::Stopped, Cancelled),
                (Because::TimedOut, TimedOut),
                (Because::Kennel { why: "it shuts down".to_owned() }, Cancelled),
            ] {
                let run = Recorded { ended: by(because, end.clone()), ..run.clone() };
                let judged = run.finish().judged;
                assert_eq!(judged.verdict.kind, expected, "{cli} {end:?}");
                assert_eq!(judged.verdict.source, EvidenceSource::Kennel);
                // Of opencode no tool was told yet, but one may have run.
                let work = if cli == "opencode" { Work::Unknown } else { Work::Tools };
                assert_eq!(judged.work, work, "{cli} {end:?}");
            }
        }
    }
}

#[test]
fn a_stop_after_the_result_leaves_it_a_success() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        for end in [End::Signaled(9), End::Exited(143), End::Exited(0), End::Unknown] {
            let ok = Recorded::of(cli, "ok");
            let run = Recorded { ended: by(Because::Stopped, end), ..ok };
            assert_eq!(kind(&run), Succeeded, "{}", run.name());
        }
    }
}

#[test]
fn a_turn_after_the_result_takes_it_back() {
    // A TERM in the seconds after its result has one CLI begin another turn.
    let ok = Recorded::of("claude", "tool");
    let again = cut(&Recorded::of("claude", "ok"), "\"type\":\"assistant\"");
    let mut run = Recorded { ended: by(Because::Stopped, End::Exited(143)), ..ok };
    run.stdout.extend(again.stdout);
    assert_eq!(kind(&run), Cancelled);
}

#[test]
fn it_is_known_when_it_has_told_its_end() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let mut reader = agent(cli).reader();
        let ok = Recorded::of(cli, "tool");
        let (most, last) = ok.stdout.split_at(ok.stdout.len() - 20);
        reader.read(Stream::Stdout, most, &mut |_| {});
        assert!(!reader.has_told(), "{cli}");
        reader.read(Stream::Stdout, last, &mut |_| {});
        assert!(reader.has_told(), "{cli}");
    }
}

#[test]
fn a_failure_told_while_it_is_stopped_is_the_stops() {
    let stopped = by(Because::Stopped, End::Exited(1));
    let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s","errors":["aborted"]}"#;
    let finished = judged(&agent("claude"), result, "", &stopped);
    assert_eq!(finished.judged.verdict.kind, Cancelled);
}

#[test]
fn a_success_that_its_exit_contradicts_is_none() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let ok = Recorded::of(cli, "ok");
        let ended = |end| Recorded { ended: by(Because::Itself, end), ..ok.clone() };
        assert_eq!(kind(&ended(End::Exited(1))), Unknown, "{cli}");
        assert_eq!(kind(&ended(End::Signaled(9))), Killed, "{cli}");
        assert_eq!(kind(&ended(End::Signaled(11))), Crashed, "{cli}");
        assert_eq!(kind(&ended(End::Unknown)), Succeeded, "{cli}: it was told whole");
    }
}

#[test]
fn somebody_elses_signal_is_a_kill_whatever_was_told() {
    for recorded in Recorded::all() {
        let run = Recorded { ended: by(Because::Itself, End::Signaled(9)), ..recorded };
        assert_eq!(kind(&run), Killed, "{}", run.name());
    }
    for code in [129, 130, 137, 143] {
        let finished = judged(&agent("claude"), "", "", &exited(code));
        assert_eq!(finished.judged.verdict.kind, Killed, "{code}");
    }
}

#[test]
fn code_0_without_a_result_is_a_crash() {
    // So it ends when somebody interrupts it while it waits for the API.
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
fn one_that_was_never_started_did_nothing() {
    let not = |because| by(because, End::NotStarted("no such program".to_owned()));
    let finished = judged(&agent("claude"), "", "", &not(Because::Itself));
    assert_eq!(finished.judged.verdict.kind, Crashed);
    assert_eq!(finished.judged.verdict.source, EvidenceSource::Kennel);
    assert_eq!(finished.judged.verdict.evidence, "no such program");
    assert_eq!(finished.judged.work, Work::None);
    let finished = judged(&agent("claude"), "", "", &not(Because::Stopped));
    assert_eq!((finished.judged.verdict.kind, finished.judged.work), (Cancelled, Work::None));
}

#[test]
fn messages_of_a_version_to_come_are_kept_and_no_success() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let future = "{\"type\":\"outcome\",\"v\":2,\"fine\":true}\n";
        for code in [0, 1] {
            let finished = judged(&agent(cli), future, "", &exited(code));
            let verdict = &finished.judged.verdict;
            assert_eq!(verdict.kind, Unknown, "{cli} {code}");
            assert!(verdict.evidence.contains("\"fine\":true"), "{cli}: {verdict:?}");
            assert_eq!(finished.judged.work, Work::Unknown, "{cli}");
        }
        // Its result has another form; everything before it is as ever.
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
fn an_error_in_words_that_nobody_knows_is_unknown() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":418,"result":"API Error: 418 I'm a teapot, not overloaded","session_id":"s"}"#;
    let verdict = judged(&agent("claude"), result, "", &exited(1)).judged.verdict;
    assert_eq!(verdict.kind, Unknown);
    assert!(verdict.evidence.contains("teapot"));
    let failed = r#"{"type":"turn.failed","error":{"message":"the moon is full"}}"#;
    let verdict = judged(&agent("codex"), failed, "", &exited(1)).judged.verdict;
    assert_eq!((verdict.kind, verdict.evidence.as_str()), (Unknown, "the moon is full"));
    let own = r#"{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details."}}}"#;
    let verdict = judged(&agent("opencode"), own, "", &exited(1)).judged.verdict;
    assert_eq!(verdict.kind, Unknown, "it is its own server that failed");
}

#[test]
fn a_refusal_counts_only_before_anything_was_begun() {
    let stderr = "No conversation found with session ID: 1\n";
    let finished = judged(&agent("claude"), "", stderr, &exited(1));
    assert_eq!(finished.judged.verdict.kind, StaleConversation);
    assert_eq!(finished.judged.work, Work::None);
    // A tool's words about a conversation are not the agent's.
    let begun = cut(&Recorded::of("claude", "tool"), "tool_use");
    let stdout = String::from_utf8(begun.stdout).unwrap();
    let finished = judged(&agent("claude"), &stdout, stderr, &exited(1));
    assert_eq!(finished.judged.verdict.kind, Crashed);
    assert_eq!(finished.judged.work, Work::Tools);
}

#[test]
fn an_answer_is_never_taken_for_an_error() {
    let words = "rate limit, 401 Unauthorized, No conversation found with session ID: x";
    let result = format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{words}","session_id":"s"}}"#
    );
    let finished = judged(&agent("claude"), &result, words, &exited(0));
    assert_eq!(finished.judged.verdict.kind, Succeeded);
    assert_eq!(finished.answer.as_deref(), Some(words));
}

#[test]
fn a_gap_leaves_nobody_sure_that_no_tool_ran() {
    for cli in ["claude", "codex", "gemini", "opencode"] {
        let run = Recorded::of(cli, "429");
        let mut reader = agent(cli).reader();
        let half = run.stdout.len() / 2;
        reader.read(Stream::Stdout, &run.stdout[..half], &mut |_| {});
        reader.lost(10);
        reader.read(Stream::Stdout, b"the rest of a line\n", &mut |_| {});
        reader.read(Stream::Stdout, &run.stdout, &mut |_| {});
        let judged = reader.finish(&run.ended, &mut |_| {}).judged;
        assert_eq!((judged.verdict.kind, judged.work), (RateLimited, Work::Unknown), "{cli}");

        let tool = Recorded::of(cli, "tool");
        let mut reader = agent(cli).reader();
        reader.lost(0);
        reader.read(Stream::Stdout, &tool.stdout, &mut |_| {});
        let judged = reader.finish(&tool.ended, &mut |_| {}).judged;
        assert_eq!((judged.verdict.kind, judged.work), (Succeeded, Work::Tools), "{cli}");
    }
}

#[test]
fn a_gap_between_two_lines_costs_none_of_them() {
    let ok = Recorded::of("codex", "ok");
    let at = ok.stdout.iter().rposition(|byte| *byte == b'{').unwrap();
    let at = ok.stdout[..at].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let mut reader = agent("codex").reader();
    reader.read(Stream::Stdout, &ok.stdout[..at], &mut |_| {});
    reader.lost(100);
    reader.read(Stream::Stdout, &ok.stdout[at..], &mut |_| {});
    let judged = reader.finish(&ok.ended, &mut |_| {}).judged;
    assert_eq!((judged.verdict.kind, judged.work), (Succeeded, Work::Unknown));
}

#[test]
fn a_gap_after_the_result_leaves_an_unknown_end_unknown() {
    let ok = Recorded::of("codex", "ok");
    let mut reader = agent("codex").reader();
    reader.read(Stream::Stdout, &ok.stdout, &mut |_| {});
    reader.lost(1);
    let ended = by(Because::Itself, End::Unknown);
    assert_eq!(reader.finish(&ended, &mut |_| {}).judged.verdict.kind, Unknown);
}

#[test]
fn evidence_is_bounded() {
    let long = "ü".repeat(100_000);
    let verdict = judged(&agent("codex"), "", &long, &exited(1)).judged.verdict;
    assert!(verdict.evidence.len() <= MOST_EVIDENCE);
    let line = format!("{{\"strange\":\"{long}\"}}\n");
    let verdict = judged(&agent("codex"), &line, "", &exited(0)).judged.verdict;
    assert_eq!(verdict.kind, Unknown);
    assert!(verdict.evidence.len() <= MOST_EVIDENCE);
}
