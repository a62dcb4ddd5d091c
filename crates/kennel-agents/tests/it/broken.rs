//! Output in pieces, truncated output, and output of no agent.

use kennel_agents::{Agent, AgentEvent, AttemptEnd, EndedBy, OutputStream, ProcessEnd};
use kennel_types::{VerdictKind, Work};
use proptest::prelude::*;

use crate::recorded::{Recorded, agent, exited};

const CLIS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// Returns the end of the line that reports success.
fn result_end(recorded: &Recorded) -> usize {
    let text = String::from_utf8(recorded.stdout.clone()).unwrap();
    let marks = ["\"type\":\"result\"", "turn.completed", "\"reason\":\"stop\""];
    let at = marks.iter().filter_map(|mark| text.rfind(mark)).max().expect("a result");
    at + text[at..].find('\n').unwrap_or(text.len() - at)
}

#[test]
fn truncated_output_is_never_a_success() {
    for recorded in Recorded::all() {
        if recorded.finish().judged.verdict.kind != VerdictKind::Succeeded {
            continue;
        }
        let end = result_end(&recorded);
        // The answer occurs several times, so cut everywhere, in steps for long output.
        let step = (end / 700).max(1);
        for cut in (0..end).step_by(step).chain(end.saturating_sub(40)..end) {
            let run = Recorded { stdout: recorded.stdout[..cut].to_vec(), ..recorded.clone() };
            for end in [ProcessEnd::Exited(0), ProcessEnd::Unknown] {
                let ended = AttemptEnd { end, ended_by: EndedBy::Itself };
                let run = Recorded { ended, ..run.clone() };
                let verdict = run.finish().judged.verdict;
                assert_ne!(verdict.kind, VerdictKind::Succeeded, "{} at {cut}", run.name());
            }
        }
    }
}

#[test]
fn truncated_output_never_proves_that_no_tool_ran() {
    for cli in CLIS {
        let tool = Recorded::of(cli, "tool");
        for cut in (0..result_end(&tool)).step_by(97) {
            let run = Recorded { stdout: tool.stdout[..cut].to_vec(), ..tool.clone() };
            assert_ne!(run.finish().judged.work, Work::None, "{cli} at {cut}");
        }
    }
}

#[test]
fn skips_and_reports_a_line_that_is_too_long() {
    let mut reader = agent("claude").reader();
    let mut notices = 0;
    let piece = vec![b'x'; 1 << 20];
    reader.read(OutputStream::Stdout, b"{\"type\":\"user\",\"message\":\"", &mut |_| {});
    for _ in 0..70 {
        reader.read(OutputStream::Stdout, &piece, &mut |event| {
            notices += usize::from(matches!(event, AgentEvent::Notice { .. }));
        });
    }
    assert_eq!(notices, 1);
    reader.read(OutputStream::Stdout, b"\"}\n", &mut |_| {});
    let ok = Recorded::of("claude", "ok");
    reader.read(OutputStream::Stdout, &ok.stdout, &mut |_| {});
    let judged = reader.finish(&ok.ended, &mut |_| {}).judged;
    assert_eq!((judged.verdict.kind, judged.work), (VerdictKind::Succeeded, Work::Unknown));
}

/// Returns the events and the result as text.
fn all(
    agent: &Agent,
    pieces: &[(OutputStream, &[u8])],
    ended: &AttemptEnd,
) -> (Vec<String>, String) {
    let mut events = Vec::new();
    let mut emit = |event: AgentEvent<'_>| events.push(format!("{event:?}"));
    let mut reader = agent.reader();
    for (stream, piece) in pieces {
        reader.read(*stream, piece, &mut emit);
    }
    let finished = reader.finish(ended, &mut emit);
    (events, format!("{finished:?}"))
}

/// Splits bytes into pieces.
fn split<'a>(
    stream: OutputStream,
    bytes: &'a [u8],
    cuts: &[usize],
) -> Vec<(OutputStream, &'a [u8])> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut from = 0;
    cuts.into_iter()
        .map(|to| {
            let piece = &bytes[from..to];
            from = to;
            (stream, piece)
        })
        .collect()
}

/// Generates text that looks like a line of an agent's output.
fn lines() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("\"type\"".to_owned()),
        Just("\"result\"".to_owned()),
        Just("\"success\"".to_owned()),
        Just("\"subtype\"".to_owned()),
        Just("\"turn.completed\"".to_owned()),
        Just("\"step_finish\"".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just(":".to_owned()),
        Just(",".to_owned()),
        Just("[".to_owned()),
        Just("false".to_owned()),
        Just("\n".to_owned()),
        Just("{\"type\":\"result\",".to_owned()),
        Just("\"is_error\":".to_owned()),
        ".{0,4}",
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_size_of_pieces_does_not_matter(
        pick in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let recordings = Recorded::all();
        let run = &recordings[pick.index(recordings.len())];
        let agent = agent(&run.cli);
        let mut pieces = split(OutputStream::Stdout, &run.stdout, &cuts);
        pieces.extend(split(OutputStream::Stderr, &run.stderr, &cuts));
        let whole = [(OutputStream::Stdout, &run.stdout[..]), (OutputStream::Stderr, &run.stderr[..])];
        prop_assert_eq!(all(&agent, &pieces, &run.ended), all(&agent, &whole, &run.ended));
    }

    #[test]
    fn the_order_of_streams_does_not_change_the_verdict(pick in any::<prop::sample::Index>()) {
        let recordings = Recorded::all();
        let run = &recordings[pick.index(recordings.len())];
        let agent = agent(&run.cli);
        let one = [(OutputStream::Stdout, &run.stdout[..]), (OutputStream::Stderr, &run.stderr[..])];
        let other = [one[1], one[0]];
        prop_assert_eq!(all(&agent, &one, &run.ended).1, all(&agent, &other, &run.ended).1);
    }
}

proptest! {
    #[test]
    fn garbage_is_never_a_success(
        stdout in prop::collection::vec(any::<u8>(), 0..300),
        stderr in prop::collection::vec(any::<u8>(), 0..300),
        code in prop_oneof![Just(0), any::<i32>()],
    ) {
        for cli in CLIS {
            let pieces = [(OutputStream::Stdout, &stdout[..]), (OutputStream::Stderr, &stderr[..])];
            let mut reader = agent(cli).reader();
            for (stream, piece) in pieces {
                reader.read(stream, piece, &mut |_| {});
            }
            let judged = reader.finish(&exited(code), &mut |_| {}).judged;
            prop_assert_ne!(judged.verdict.kind, VerdictKind::Succeeded);
        }
    }

    #[test]
    fn text_that_looks_like_a_message_is_never_a_success(text in lines()) {
        let whole = text.contains("\"turn.completed\"");
        for cli in CLIS {
            let mut reader = agent(cli).reader();
            reader.read(OutputStream::Stdout, text.as_bytes(), &mut |_| {});
            let judged = reader.finish(&exited(0), &mut |_| {}).judged;
            // These words can form a complete message of codex.
            prop_assert!(judged.verdict.kind != VerdictKind::Succeeded || (whole && cli == "codex"));
        }
    }
}
