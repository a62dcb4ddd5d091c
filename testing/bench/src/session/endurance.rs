//! Compares the resources before and after thousands of sessions: they should not grow.

use std::fs;

use anyhow::{Result, ensure};

use super::home::{BenchHome, run_session};
use super::peers::at_once;
use super::process::{self, ProcessMemory};
use super::rest::until_quiet;
use super::{BenchRun, request, serial};
use crate::sweep;
use crate::target::Target;

/// Sessions before the first snapshot: they fill the caches, and exceed what is kept on record.
const WARM_UP: usize = 10_000;
/// How much the daemon's memory may grow and still count as flat: a hundred bytes for each of ten
/// thousand sessions.
const DAEMON_SLACK_KB: u64 = 1024;
/// How much the yard's memory may grow and still count as flat: some pages.
const YARD_SLACK_KB: u64 = 32;

/// Section 6.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    let (warm_up, sessions) = if run.quick { (WARM_UP / 5, 500) } else { (WARM_UP, 10_000) };
    println!("6. before and after {sessions} sessions of {}, each time pruned", serial::TRUE);
    let home = run.home("sweep")?;
    let before = HomeSnapshot::after(&home, warm_up)?;
    let after = HomeSnapshot::after(&home, sessions)?;
    println!(
        "  {:<8}{:>14}{:>18}{:>18}{:>18}",
        "", "descriptors", "RSS (kB)", "anonymous (kB)", "dirty (kB)"
    );
    for (name, before, after) in
        [("daemon", &before.daemon, &after.daemon), ("yard", &before.yard, &after.yard)]
    {
        println!("  {name:<8}{}", before.against(after));
    }
    println!(
        "  pens {} -> {}, session folders {} -> {}, register {} -> {} kB, log {} -> {} kB\n",
        before.pens,
        after.pens,
        before.folders,
        after.folders,
        before.register_kb,
        after.register_kb,
        before.log_kb,
        after.log_kb
    );
    let flat = after.is_flat_against(&before);
    run.targets.push(Target::holds(
        format!("sweep: descriptors, memory, pens, folders flat after {sessions}"),
        if flat { "flat" } else { "NOT flat" },
        flat,
    ));
    home.stop()?;
    Ok(())
}

/// The resources of one process.
struct ProcessUsage {
    descriptors: usize,
    memory: ProcessMemory,
}

impl ProcessUsage {
    fn at(pid: i32) -> Result<Self> {
        Ok(Self { descriptors: process::descriptors(pid)?, memory: ProcessMemory::of(pid)? })
    }

    fn against(&self, after: &Self) -> String {
        let (before, after_memory) = (&self.memory, &after.memory);
        let pair = |before: u64, after: u64| format!("{before} -> {after}");
        let descriptors = pair(self.descriptors as u64, after.descriptors as u64);
        let resident = pair(before.resident_kb, after_memory.resident_kb);
        let anonymous = pair(before.anonymous_kb, after_memory.anonymous_kb);
        let dirty = pair(before.private_dirty_kb, after_memory.private_dirty_kb);
        format!("{descriptors:>14}{resident:>18}{anonymous:>18}{dirty:>18}")
    }

    fn is_flat_against(&self, before: &Self, slack_kb: u64) -> bool {
        self.descriptors <= before.descriptors
            && self.memory.anonymous_kb <= before.memory.anonymous_kb + slack_kb
    }
}

struct HomeSnapshot {
    daemon: ProcessUsage,
    yard: ProcessUsage,
    pens: usize,
    folders: usize,
    register_kb: u64,
    log_kb: u64,
}

impl HomeSnapshot {
    /// Runs this many sessions, prunes them, and returns the resources.
    fn after(home: &BenchHome, sessions: usize) -> Result<Self> {
        let request = request::session(&[serial::TRUE])?;
        at_once(sessions, || home.connect(), |client, _| run_session(client, &request))?;
        home.until_idle()?;
        ensure!(home.prune()? > 0, "nothing was pruned");
        let daemon = home.daemon()?;
        until_quiet(&[daemon, home.yard])?;
        Ok(Self {
            daemon: ProcessUsage::at(daemon)?,
            yard: ProcessUsage::at(home.yard)?,
            pens: sweep::pens_of(&home.id)?.len(),
            folders: home.folders()?,
            register_kb: kilobytes(home, "register.db")? + kilobytes(home, "register.db-wal")?,
            log_kb: kilobytes(home, "log/daemon.log")?,
        })
    }

    fn is_flat_against(&self, before: &Self) -> bool {
        self.daemon.is_flat_against(&before.daemon, DAEMON_SLACK_KB)
            && self.yard.is_flat_against(&before.yard, YARD_SLACK_KB)
            && (self.pens, self.folders) == (0, 0)
    }
}

fn kilobytes(home: &BenchHome, name: &str) -> Result<u64> {
    Ok(fs::metadata(home.folder.join(name)).map_or(0, |found| found.len() >> 10))
}
