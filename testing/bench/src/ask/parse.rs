//! How fast an agent's output is read, and that memory does not grow with it.
//!
//! The stream is one of Claude Code's, of three mixes: what tools bring (few long lines), what the agent says and does
//! (many short ones), and both. The floor is a search for the ends of lines in the same bytes, which nobody can do
//! without.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kennel_agents::{Agent, Because, End, Ended, Stream};
use kennel_core::{Seat, VerdictKind};

use super::Run;
use crate::target::Target;

/// How much a reader is given at once, as the journal hands it out.
const PIECE: usize = 64 << 10;

/// A megabyte, as disks count.
const MEGA: usize = 1_000_000;

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/home/user/work","session_id":"01234567-89ab-4cde-8f01-23456789abcd","tools":["Bash","Edit","Read"],"model":"m"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"num_turns":2,"result":"done","session_id":"01234567-89ab-4cde-8f01-23456789abcd","total_cost_usd":0.25,"usage":{"input_tokens":11,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}}"#;

/// What a stream is made of.
#[derive(Clone, Copy)]
enum Mix {
    Tools,
    Words,
    Both,
}

impl Mix {
    const ALL: [(Self, &str); 3] =
        [(Self::Tools, "long lines"), (Self::Words, "short lines"), (Self::Both, "both")];

    /// About so many bytes of it, from the first line to the last.
    fn stream(self, size: usize) -> Vec<u8> {
        let mut stream = format!("{INIT}\n");
        let mut turn = 0;
        while stream.len() < size {
            turn += 1;
            if !matches!(self, Self::Tools) {
                for _ in 0..8 {
                    stream.push_str(&said(turn));
                }
            }
            if !matches!(self, Self::Words) {
                stream.push_str(&tool(turn));
            }
        }
        stream.push_str(RESULT);
        stream.push('\n');
        stream.into_bytes()
    }
}

fn said(turn: usize) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_{turn}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"I'll look at the file and then\nrun the tests, \"{turn}\" of them."}}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":11,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}},"context_management":null}},"parent_tool_use_id":null,"session_id":"01234567-89ab-4cde-8f01-23456789abcd","uuid":"91c89d87-15cf-431f-853e-5bab677944f4","request_id":"req_{turn}"}}
"#
    )
}

fn tool(turn: usize) -> String {
    // A file, as it is escaped in JSON.
    let content = r#"    let value = map.get(\"key\").unwrap_or(&0);\n"#.repeat(400);
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{turn}","type":"tool_result","content":"{content}","is_error":false}}]}},"parent_tool_use_id":null,"session_id":"01234567-89ab-4cde-8f01-23456789abcd","tool_use_result":{{"stdout":"{content}","stderr":"","interrupted":false}}}}
"#
    )
}

/// Measures all mixes.
pub(super) fn section(run: &mut Run) -> Result<()> {
    let (megabytes, rounds) = if run.quick { (20, 3) } else { (100, 7) };
    println!("parse: {megabytes} MB of stream-json, in pieces of {} KiB", PIECE >> 10);
    for (mix, name) in Mix::ALL {
        let stream = mix.stream(megabytes * MEGA);
        let mut speeds = Vec::new();
        let mut floors = Vec::new();
        let before = resident()?;
        let mut most = before;
        for _ in 0..rounds {
            floors.push(speed(&stream, floor)?);
            speeds.push(speed(&stream, |stream| read(stream, &mut most))?);
        }
        let (speed, floor) = (median(&mut speeds), median(&mut floors));
        let grown = most.saturating_sub(before) as f64 / MEGA as f64;
        println!(
            "  {name:<12}{speed:>8.0} MB/s   ends of lines alone {floor:>8.0} MB/s   memory +{grown:.1} MB"
        );
        let met = speed >= 300.0;
        run.targets.push(Target::holds(
            format!("parse, {name}: >= 300 MB/s"),
            format!("{speed:.0} MB/s"),
            met,
        ));
        run.targets.push(Target::at_most(&format!("parse, {name}: memory"), grown, 4.0, "MB"));
    }
    Ok(())
}

/// Megabytes a second.
fn speed(stream: &[u8], work: impl FnOnce(&[u8]) -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work(stream)?;
    Ok(stream.len() as f64 / MEGA as f64 / began.elapsed().as_secs_f64())
}

fn read(stream: &[u8], most: &mut usize) -> Result<()> {
    let seat = Seat { agent: "claude".to_owned(), ..Seat::default() };
    let mut reader = Agent::of(&seat)?.reader();
    let mut happenings = 0_usize;
    let mut tell = |_: kennel_agents::Happening<'_>| happenings += 1;
    for (at, piece) in stream.chunks(PIECE).enumerate() {
        reader.read(Stream::Stdout, piece, &mut tell);
        if at % 256 == 0 {
            *most = resident()?.max(*most);
        }
    }
    let ended = Ended { end: End::Exited(0), because: Because::Itself };
    let finished = reader.finish(&ended, &mut tell);
    let verdict = finished.judged.verdict;
    ensure!(verdict.kind == VerdictKind::Succeeded, "{verdict:?}");
    black_box(happenings);
    Ok(())
}

fn floor(stream: &[u8]) -> Result<()> {
    let lines: usize =
        stream.chunks(PIECE).map(|piece| piece.iter().filter(|byte| **byte == b'\n').count()).sum();
    ensure!(black_box(lines) > 1, "no lines");
    Ok(())
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// What this process has in memory, in bytes.
fn resident() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().context("VmRSS")?;
    Ok(kilobytes << 10)
}
