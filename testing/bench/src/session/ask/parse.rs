//! Measures the parsing of an agent's output: its speed, and that it needs no more memory than a
//! line.

use std::fs;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use kennel_agents::{Agent, AttemptEnd, EndedBy, FinishedAttempt, OutputStream, ProcessEnd};
use kennel_types::{AgentSettings, VerdictKind};
use serde_json::json;

use super::super::BenchRun;
use crate::target::Target;

/// The size of a read, as from a journal.
const PIECE: usize = 64 << 10;
/// A megabyte: 10^6 bytes.
const MEGABYTE: usize = 1_000_000;

/// Section 2.
#[expect(clippy::cast_precision_loss, reason = "megabytes")]
pub(in super::super) fn section(run: &mut BenchRun) -> Result<()> {
    let (total, rounds): (usize, usize) = if run.quick { (20, 3) } else { (100, 7) };
    println!("2. reading {total} MB of stream-json");
    let block = conversation();
    let times = (total * MEGABYTE).div_ceil(block.len());
    let (mut rates, mut most) = (Vec::new(), 0);
    for _ in 0..rounds {
        let before = reset_peak()?;
        let begun = Instant::now();
        read(&block, times)?;
        let seconds = begun.elapsed().as_secs_f64();
        rates.push((block.len() * times) as f64 / MEGABYTE as f64 / seconds);
        most = most.max(peak()?.saturating_sub(before));
    }
    rates.sort_unstable_by(f64::total_cmp);
    let rate = rates[rates.len() / 2];
    println!("  median {rate:.0} MB/s of {rounds} rounds; at most {most} kB more memory\n");
    let figure = format!("{rate:.0} MB/s");
    run.targets.push(Target::holds("ask: reading stream-json >= 300 MB/s", figure, rate >= 300.0));
    let what = format!("ask: more memory while {total} MB are read");
    run.targets.push(Target::at_most(&what, most as f64, 4096.0, "kB"));
    Ok(())
}

/// Parses the block this many times, and then a result.
fn read(block: &[u8], times: usize) -> Result<()> {
    let mut reader =
        Agent::of(&AgentSettings { agent: "claude".into(), ..AgentSettings::default() })?.reader();
    let mut events = 0;
    for _ in 0..times {
        for piece in block.chunks(PIECE) {
            reader.read(OutputStream::Stdout, piece, &mut |_| events += 1);
        }
    }
    let result = line(&json!({
        "type": "result", "subtype": "success", "is_error": false, "num_turns": 3,
        "result": "done", "session_id": ID,
    }));
    reader.read(OutputStream::Stdout, &result, &mut |_| events += 1);
    let ended = AttemptEnd { end: ProcessEnd::Exited(0), ended_by: EndedBy::Itself };
    let FinishedAttempt { judged, .. } = reader.finish(&ended, &mut |_| {});
    ensure!(
        judged.verdict.kind == VerdictKind::Succeeded,
        "the output was not recognized: {judged:?}"
    );
    ensure!(events > times, "no events were reported");
    Ok(())
}

const ID: &str = "01234567-89ab-4cde-8f01-23456789abcd";

fn line(value: &serde_json::Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Returns about a megabyte of typical agent output: text, tool calls, and tool results.
fn conversation() -> Vec<u8> {
    let mut text = line(&json!({ "type": "system", "subtype": "init", "session_id": ID }));
    let source = "fn main() {\n    println!(\"{}\", \\\"a \\u00e9\\\");\n}\n".repeat(200);
    for turn in 0..80_u32 {
        let usage = json!({ "input_tokens": 1000 + turn, "output_tokens": 50 });
        let assistant_line = |content: serde_json::Value| {
            let message = json!({
                "id": format!("msg_{turn}"), "role": "assistant", "content": [content], "usage": usage,
            });
            line(&json!({ "type": "assistant", "message": message, "session_id": ID }))
        };
        let words = "I look at the tests first, and then at what they test. ".repeat(8);
        text.extend(assistant_line(json!({ "type": "text", "text": words })));
        let input = json!({ "command": format!("cargo test -p part-{turn} 2>&1 | tail -50") });
        let id = format!("toolu_{turn}");
        text.extend(assistant_line(
            json!({ "type": "tool_use", "id": id, "name": "Bash", "input": input }),
        ));
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": source });
        let message = json!({ "role": "user", "content": [result] });
        text.extend(line(&json!({ "type": "user", "message": message, "session_id": ID })));
    }
    text
}

/// Resets the kernel's count of the peak memory; returns the resident memory in kilobytes.
fn reset_peak() -> Result<u64> {
    fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")?;
    field("VmRSS:")
}

fn peak() -> Result<u64> {
    field("VmHWM:")
}

fn field(name: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.trim().parse().ok()).with_context(|| format!("no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_conversation() {
        let block = conversation();
        assert!(block.len() > 500_000, "{}", block.len());
        read(&block, 2).unwrap();
        // Both counts are imprecise, so that they are not compared.
        assert!(peak().unwrap() > 0);
    }
}
