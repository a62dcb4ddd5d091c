//! Output in pieces, output cut off, and no output of an agent's at all.

use kennel_agents::{Agent, Because, End, Ended, Happening, Stream};
use kennel_types::{VerdictKind, Work};
use proptest::prelude::*;

use crate::recorded::{Recorded, agent, exited};

const CLIS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// The line with which an agent tells its success, by its end in the output.
fn told_at(recorded: &Recorded) -> usize {
    let text = String::from_utf8(recorded.stdout.clone()).unwrap();
    let marks = ["\"type\":\"result\"", "turn.completed", "\"reason\":\"stop\""];
    let at = marks.iter().filter_map(|mark| text.rfind(mark)).max().expect("a result");
    at + text[at..].find('\n').unwrap_or(text.len() - at)
}

#[test]
fn cut_off_anywhere_it_is_no_success() {
    for recorded in Recorded::all() {
        if recorded.finish().judged.verdict.kind != VerdictKind::Succeeded {
            continue;
        }
        let end = told_at(&recorded);
        // The answer is in the output more than once: every cut is tried, in steps where the lines are long.
        let step = (end / 700).max(1);
        for cut in (0..end).step_by(step).chain(end.saturating_sub(40)..end) {
            let run = Recorded { stdout: recorded.stdout[..cut].to_vec(), ..recorded.clone() };
            for end in [End::Exited(0), End::Unknown] {
                let ended = Ended { end, because: Because::Itself };
                let run = Recorded { ended, ..run.clone() };
                let verdict = run.finish().judged.verdict;
                assert_ne!(verdict.kind, VerdictKind::Succeeded, "{} at {cut}", run.name());
            }
        }
    }
}

#[test]
fn cut_off_it_is_never_known_to_have_done_nothing() {
    for cli in CLIS {
        let tool = Recorded::of(cli, "tool");
        for cut in (0..told_at(&tool)).step_by(97) {
            let run = Recorded { stdout: tool.stdout[..cut].to_vec(), ..tool.clone() };
            assert_ne!(run.finish().judged.work, Work::None, "{cli} at {cut}");
        }
    }
}

#[test]
fn a_line_too_long_is_given_up_and_told() {
    let mut reader = agent("claude").reader();
    let mut notices = 0;
    let piece = vec![b'x'; 1 << 20];
    reader.read(Stream::Stdout, b"{\"type\":\"user\",\"message\":\"", &mut |_| {});
    for _ in 0..70 {
        reader.read(Stream::Stdout, &piece, &mut |happening| {
            notices += usize::from(matches!(happening, Happening::Notice(_)));
        });
    }
    assert_eq!(notices, 1);
    reader.read(Stream::Stdout, b"\"}\n", &mut |_| {});
    let ok = Recorded::of("claude", "ok");
    reader.read(Stream::Stdout, &ok.stdout, &mut |_| {});
    let judged = reader.finish(&ok.ended, &mut |_| {}).judged;
    assert_eq!((judged.verdict.kind, judged.work), (VerdictKind::Succeeded, Work::Unknown));
}

/// What was told, in words.
fn all(agent: &Agent, pieces: &[(Stream, &[u8])], ended: &Ended) -> (Vec<String>, String) {
    let mut told = Vec::new();
    let mut tell = |happening: Happening<'_>| told.push(format!("{happening:?}"));
    let mut reader = agent.reader();
    for (stream, piece) in pieces {
        reader.read(*stream, piece, &mut tell);
    }
    let finished = reader.finish(ended, &mut tell);
    (told, format!("{finished:?}"))
}

/// Bytes in pieces.
fn split<'a>(stream: Stream, bytes: &'a [u8], cuts: &[usize]) -> Vec<(Stream, &'a [u8])> {
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

/// Something that looks like a line of an agent's output.
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
    fn pieces_do_not_matter(
        pick in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let recordings = Recorded::all();
        let run = &recordings[pick.index(recordings.len())];
        let agent = agent(&run.cli);
        let mut pieces = split(Stream::Stdout, &run.stdout, &cuts);
        pieces.extend(split(Stream::Stderr, &run.stderr, &cuts));
        let whole = [(Stream::Stdout, &run.stdout[..]), (Stream::Stderr, &run.stderr[..])];
        prop_assert_eq!(all(&agent, &pieces, &run.ended), all(&agent, &whole, &run.ended));
    }

    #[test]
    fn the_order_of_the_streams_changes_no_verdict(pick in any::<prop::sample::Index>()) {
        let recordings = Recorded::all();
        let run = &recordings[pick.index(recordings.len())];
        let agent = agent(&run.cli);
        let one = [(Stream::Stdout, &run.stdout[..]), (Stream::Stderr, &run.stderr[..])];
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
            let pieces = [(Stream::Stdout, &stdout[..]), (Stream::Stderr, &stderr[..])];
            let mut reader = agent(cli).reader();
            for (stream, piece) in pieces {
                reader.read(stream, piece, &mut |_| {});
            }
            let judged = reader.finish(&exited(code), &mut |_| {}).judged;
            prop_assert_ne!(judged.verdict.kind, VerdictKind::Succeeded);
        }
    }

    #[test]
    fn what_only_looks_like_a_message_is_never_a_success(text in lines()) {
        let whole = text.contains("\"turn.completed\"");
        for cli in CLIS {
            let mut reader = agent(cli).reader();
            reader.read(Stream::Stdout, text.as_bytes(), &mut |_| {});
            let judged = reader.finish(&exited(0), &mut |_| {}).judged;
            // These words can make up a whole message of one of them.
            prop_assert!(judged.verdict.kind != VerdictKind::Succeeded || (whole && cli == "codex"));
        }
    }
}
