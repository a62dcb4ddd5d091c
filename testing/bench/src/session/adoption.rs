//! The daemon is killed, and comes back to all its sessions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_types::Phase;
use rustix::process::Signal;

use super::home::{Brief, BriefPage, Home, LONG, start_many, wait_readable};
use super::http::Client;
use super::process;
use super::rest::{IDLE, until_quiet};
use super::{Run, request};
use crate::stats::{Row, Samples, nanoseconds, print_table};
use crate::target::Target;

/// Section 4.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
pub(super) fn section(run: &mut Run) -> Result<()> {
    let (sessions, rounds) = if run.quick { (100, 3) } else { (1000, 9) };
    println!("4. the daemon is killed with {sessions} live sessions");
    let home = run.home("adoption")?;
    start_many(&home, &request::session(&IDLE)?, sessions)?;
    let before = pids(&home.connect()?.get::<BriefPage>("/v1/sessions")?.sessions);
    ensure!(before.len() == sessions, "{} sessions", before.len());
    let (mut since_start, mut since_kill) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let daemon = home.daemon()?;
        until_quiet(&[daemon, home.yard])?;
        let times = kill_and_adopt(&home, daemon, &before)?;
        since_start.push(nanoseconds(times.since_start));
        since_kill.push(nanoseconds(times.since_kill));
    }
    let start = Samples::new(since_start, 1);
    print_table(
        &[
            Row { name: "from the start of the new daemon", samples: &start },
            Row { name: "from the kill of the old one", samples: &Samples::new(since_kill, 1) },
        ],
        &[],
    );
    println!();
    let what = format!("adoption: {sessions} sessions, from the daemon's start");
    run.targets.push(Target::at_most(&what, start.median() as f64 / 1e6, 250.0, "ms"));
    home.stop()?;
    Ok(())
}

struct Times {
    since_start: Duration,
    since_kill: Duration,
}

/// Kills the daemon, has the yard start the next one at once, and asks that one until it answers that all
/// run. The yard itself would wait a tenth of a second first.
fn kill_and_adopt(home: &Home, daemon: i32, expected: &BTreeMap<String, i32>) -> Result<Times> {
    let handle = kennel_sys::pidfd::open(daemon)?.context("the daemon is gone")?;
    let killed = Instant::now();
    let _sent_or_gone = kennel_sys::pidfd::send(&handle, Signal::KILL)?;
    wait_readable(&handle, killed + LONG)?;
    let (started, daemon) = loop {
        let asked = Instant::now();
        match home.ask_yard(true)?.0 {
            Some(pid) if pid != daemon => break (asked, pid),
            _ => ensure!(killed.elapsed() < LONG, "no daemon is started"),
        }
    };
    loop {
        ensure!(killed.elapsed() < LONG, "the sessions are not adopted");
        let Some((sessions, answered)) = list(home) else {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        };
        if pids(&sessions) != *expected {
            continue;
        }
        // It can run them only if it is connected to their keepers.
        let descriptors = process::descriptors(daemon)?;
        ensure!(descriptors >= expected.len(), "only {descriptors} descriptors: not adopted");
        let (since_start, since_kill) = (answered - started, answered - killed);
        return Ok(Times { since_start, since_kill });
    }
}

/// The answer, and when it was there.
fn list(home: &Home) -> Option<(Vec<Brief>, Instant)> {
    let mut client = Client::connect(&home.folder).ok()?;
    let answer = client.ask("GET", "/v1/sessions", b"").ok()?;
    let answered = Instant::now();
    let page: BriefPage = serde_json::from_slice(&answer.body).ok()?;
    Some((page.sessions, answered))
}

/// The pids of those that run.
fn pids(sessions: &[Brief]) -> BTreeMap<String, i32> {
    let running = sessions.iter().filter(|session| session.phase == Phase::Running);
    running.filter_map(|session| Some((session.id.clone(), session.pid?))).collect()
}
