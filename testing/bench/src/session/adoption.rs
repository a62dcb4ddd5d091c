//! Measures how fast a new daemon adopts all sessions after the old one was killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_types::Phase;
use rustix::process::Signal;

use super::home::{BenchHome, LONG, SessionBrief, SessionBriefPage, start_many, wait_readable};
use super::process;
use super::rest::{IDLE, until_quiet};
use super::{BenchRun, request};
use crate::stats::{Row, Samples, nanoseconds, print_table};
use crate::target::Target;
use kennel_testing::HttpClient;

/// Section 4.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    let (sessions, rounds) = if run.quick { (100, 3) } else { (1000, 9) };
    println!("4. the daemon is killed with {sessions} live sessions");
    let home = run.home("adoption")?;
    start_many(&home, &request::session(&IDLE)?, sessions)?;
    let before = pids(&home.connect()?.get::<SessionBriefPage>("/v1/sessions")?.sessions);
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

struct AdoptionTimes {
    since_start: Duration,
    since_kill: Duration,
}

/// Kills the daemon, makes the yard start the next one at once, and polls that one until it lists
/// all sessions as running. (By itself the yard waits a tenth of a second first.)
fn kill_and_adopt(
    home: &BenchHome,
    daemon: i32,
    expected: &BTreeMap<String, i32>,
) -> Result<AdoptionTimes> {
    let handle = kennel_sys::pidfd::open(daemon)?.context("the daemon is gone")?;
    let killed = Instant::now();
    let _sent_or_gone = kennel_sys::pidfd::send(&handle, Signal::KILL)?;
    wait_readable(&handle, killed + LONG)?;
    let (started, daemon) = loop {
        let asked = Instant::now();
        match home.ask_yard(true)?.0 {
            Some(pid) if pid != daemon => break (asked, pid),
            _ => ensure!(killed.elapsed() < LONG, "no new daemon was started"),
        }
    };
    loop {
        ensure!(killed.elapsed() < LONG, "the sessions were not adopted");
        let Some((sessions, answered)) = list(home) else {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        };
        if pids(&sessions) != *expected {
            continue;
        }
        // It has adopted them only if it is connected to their keepers.
        let descriptors = process::descriptors(daemon)?;
        ensure!(descriptors >= expected.len(), "only {descriptors} descriptors: not adopted");
        let (since_start, since_kill) = (answered - started, answered - killed);
        return Ok(AdoptionTimes { since_start, since_kill });
    }
}

/// Returns the list of sessions, and the time of the answer.
fn list(home: &BenchHome) -> Option<(Vec<SessionBrief>, Instant)> {
    let mut client = HttpClient::connect(&home.folder).ok()?;
    let answer = client.request("GET", "/v1/sessions", b"").ok()?;
    let answered = Instant::now();
    let page: SessionBriefPage = serde_json::from_slice(&answer.body).ok()?;
    Some((page.sessions, answered))
}

/// Returns the pids of the running sessions.
fn pids(sessions: &[SessionBrief]) -> BTreeMap<String, i32> {
    let running = sessions.iter().filter(|session| session.phase == Phase::Running);
    running.filter_map(|session| Some((session.id.clone(), session.pid?))).collect()
}
