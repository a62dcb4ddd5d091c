//! Counts the disk flushes of daemon, yard and keepers with strace.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::disk::SkipReason;
use super::home::{BenchHome, LONG, run_session};
use super::{request, serial};

/// The system calls that flush the disk.
const CALLS: [&str; 6] = ["fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"];

/// The counts.
pub(super) struct Counted {
    sessions: usize,
    calls: Vec<(String, u64)>,
}

impl Counted {
    #[expect(clippy::cast_precision_loss, reason = "some thousands")]
    pub(super) fn per_session(&self) -> f64 {
        let sum: u64 = self.calls.iter().map(|(_, count)| count).sum();
        sum as f64 / self.sessions as f64
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<String> =
            self.calls.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let (each, calls) = (self.per_session(), calls.join(", "));
        write!(f, "{each:.2} ({} sessions: {calls})", self.sessions)
    }
}

/// Counts the flushes of this many sessions, or returns why it can't.
pub(super) fn count(home: &BenchHome, sessions: usize) -> Result<Result<Counted, SkipReason>> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return Ok(Err("there is no strace".to_owned()));
    }
    let summary = home.folder.join("strace");
    let traced = [home.daemon()?, home.yard];
    let mut tracer = attach(&summary, traced)?;
    let attached = until_traced(&mut tracer, traced)?;
    if let Err(why) = attached {
        return Ok(Err(why));
    }
    let (mut client, request) = (home.connect()?, request::session(&[serial::TRUE])?);
    let done = (0..sessions).try_for_each(|_| run_session(&mut client, &request));
    let settled = home.until_idle();
    let pid = Pid::from_raw(tracer.id().cast_signed()).context("no pid")?;
    // strace detaches from all processes, and prints its counts.
    kill_process(pid, Signal::INT)?;
    tracer.wait()?;
    done?;
    settled?;
    let text = fs::read_to_string(&summary).context("what strace has counted")?;
    fs::remove_file(&summary)?;
    Ok(Ok(Counted { sessions, calls: parse(&text) }))
}

fn attach(summary: &Path, pids: [i32; 2]) -> Result<Child> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-c", "-e", &format!("trace={}", CALLS.join(","))]);
    strace.arg("-o").arg(summary);
    for pid in pids {
        strace.args(["-p", &pid.to_string()]);
    }
    strace.stdin(Stdio::null()).spawn().context("strace")
}

/// Waits until every thread is traced.
fn until_traced(tracer: &mut Child, pids: [i32; 2]) -> Result<Result<(), SkipReason>> {
    let deadline = Instant::now() + LONG;
    while !pids.iter().all(|&pid| is_traced(pid)) {
        if let Some(status) = tracer.try_wait()? {
            return Ok(Err(format!("strace: {status}")));
        }
        ensure!(Instant::now() < deadline, "strace does not attach");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(Ok(()))
}

fn is_traced(pid: i32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim() != "0")
    })
}

/// The calls in strace's table: time, seconds, each, calls, maybe errors, name.
fn parse(table: &str) -> Vec<(String, u64)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.last().filter(|name| CALLS.contains(name))?;
        Some(((*name).to_owned(), words.get(3)?.parse().ok()?))
    };
    table.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_table_of_strace() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.001000          10       200           fdatasync
 10.00    0.000100          10        10         2 fsync
------ ----------- ----------- --------- --------- ----------------
100.00    0.001100          10       210         2 total
";
        let counted = Counted { sessions: 100, calls: parse(table) };
        assert_eq!(counted.to_string(), "2.10 (100 sessions: 200 fdatasync, 10 fsync)");
    }
}
