//! Measures what idle sessions cost.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::home::{BenchHome, LONG, start_many};
use super::process::{self, ProcessMemory};
use super::{BenchRun, request};
use crate::stats::Samples;
use crate::target::Target;

/// An agent that does nothing.
pub(super) const IDLE: [&str; 2] = ["/bin/sleep", "infinity"];

/// How many keepers are measured in detail.
const SAMPLED_KEEPERS: usize = 20;

/// Section 3.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    let sessions = if run.quick { 100 } else { 1000 };
    println!("3. sessions at rest");
    let home = run.home("rest")?;
    let daemon = home.daemon()?;
    let descriptors = process::descriptors(daemon)?;
    let idle = request::session(&IDLE)?;
    start_many(&home, &idle, SAMPLED_KEEPERS)?;
    measure_keepers(run, &home)?;
    start_many(&home, &idle, sessions - SAMPLED_KEEPERS)?;
    measure_all(run, &home, daemon, descriptors, sessions)?;
    let took = home.stop()?;
    println!("  all of them ended in {:.2} s\n", took.as_secs_f64());
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "kilobytes")]
fn measure_keepers(run: &mut BenchRun, home: &BenchHome) -> Result<()> {
    let keepers = home.ask_yard(false)?.1;
    ensure!(keepers.len() == SAMPLED_KEEPERS, "{} keepers", keepers.len());
    until_quiet(&keepers)?;
    let memory = keepers.iter().map(|&pid| ProcessMemory::of(pid)).collect::<Result<Vec<_>>>()?;
    let dirty = Samples::new(memory.iter().map(|m| m.private_dirty_kb).collect(), 1);
    let resident = Samples::new(memory.iter().map(|m| m.resident_kb).collect(), 1);
    let threads = keepers.iter().map(|&pid| process::threads(pid)).collect::<Result<Vec<_>>>()?;
    let most = threads.into_iter().max().unwrap_or(0);
    println!(
        "  a keeper (median of {SAMPLED_KEEPERS}): {} kB private dirty (most: {}), {} kB resident, {most} thread(s)",
        dirty.median(),
        dirty.percentile(100),
        resident.median()
    );
    let what = "rest: a keeper's private dirty memory";
    run.targets.push(Target::at_most(what, dirty.median() as f64, 128.0, "KiB"));
    run.targets.push(Target::at_most("rest: a keeper's threads", most as f64, 1.0, "thread"));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "kilobytes, descriptors, nanoseconds of a minute")]
fn measure_all(
    run: &mut BenchRun,
    home: &BenchHome,
    daemon: i32,
    descriptors_before: usize,
    sessions: usize,
) -> Result<()> {
    let keepers = home.ask_yard(false)?.1;
    ensure!(keepers.len() == sessions, "{} keepers", keepers.len());
    let all = [vec![daemon, home.yard], keepers].concat();
    until_quiet(&all)?;
    let (daemon_memory, yard_memory) = (ProcessMemory::of(daemon)?, ProcessMemory::of(home.yard)?);
    let each =
        process::descriptors(daemon)?.saturating_sub(descriptors_before) as f64 / sessions as f64;
    let span = Duration::from_secs(if run.quick { 10 } else { 60 });
    let begun = Instant::now();
    let (own, rest) = (process::cpu_nanoseconds(daemon)?, process::cpu_of_all(&all[1..])?);
    std::thread::sleep(span);
    let own = process::cpu_nanoseconds(daemon)? - own;
    let rest = process::cpu_of_all(&all[1..])? - rest;
    let share = |cpu: u64| cpu as f64 / begun.elapsed().as_nanos() as f64 * 100.0;
    println!(
        "  {sessions} idle: daemon {} kB resident ({} kB anonymous), {each:.2} descriptors a session; \
         yard {} kB private dirty",
        daemon_memory.resident_kb, daemon_memory.anonymous_kb, yard_memory.private_dirty_kb
    );
    println!(
        "  CPU over {} s, of one core: daemon {:.4} %, yard and keepers {:.4} %",
        span.as_secs(),
        share(own),
        share(rest)
    );
    let name = |what: &str| format!("rest: {sessions} idle, {what}");
    let resident = daemon_memory.resident_kb as f64 / 1024.0;
    let dirty = yard_memory.private_dirty_kb as f64;
    run.targets.extend([
        Target::at_most(&name("daemon resident"), resident, 64.0, "MiB"),
        Target::at_most(&name("yard private dirty"), dirty, 256.0, "KiB"),
        Target::at_most(&name("CPU of all"), share(own + rest), 0.1, "% of a core"),
        Target::at_most(&name("the daemon's descriptors"), each, 2.0, "a session"),
    ]);
    Ok(())
}

/// Waits until these processes have been idle for a while: their startup
/// is over.
pub(super) fn until_quiet(pids: &[i32]) -> Result<()> {
    const IDLE_TIME: Duration = Duration::from_millis(500);
    const IDLE_CPU: u64 = 1_000_000;
    let deadline = Instant::now() + LONG;
    loop {
        let before = process::cpu_of_all(pids)?;
        std::thread::sleep(IDLE_TIME);
        if process::cpu_of_all(pids)? - before < IDLE_CPU {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the processes do not become idle");
    }
}
