//! `cargo xtask vm`: the tests that need a machine as systemd runs it, in one of their own.
//!
//! ```text
//! recipe ── mmdebstrap ──> disk (cached) ┐
//! cargo test --no-run ───> job disk ─────┴─ qemu ──> results ──> verdict
//! ```
//! A small Debian of the release that this machine has (so that programs built here run there), from the packages
//! that apt is set up for, with systemd as its first process and all controllers in cgroup v2. In it the tests of pens,
//! keepers and limits run as root and as a user, each program in a scope that systemd has delegated, and those of
//! limits also where it has not.

mod boot;
mod image;
mod job;
mod plan;
mod recipe;
mod report;

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail, ensure};

use crate::cargo::target_folder;
use crate::programs::{self, Program};
use report::Report;

const PROGRAMS: [Program; 6] = [
    Program { name: "qemu-system-x86_64", packages: &["qemu-system-x86"] },
    Program { name: "mmdebstrap", packages: &["mmdebstrap"] },
    Program { name: "mke2fs", packages: &["e2fsprogs"] },
    Program { name: "strip", packages: &["binutils"] },
    Program { name: "setpriv", packages: &["util-linux"] },
    Program { name: "cc", packages: &["gcc", "libc6-dev"] },
];

/// Runs the tests whose names, like `kennel-pen/limits`, contain `filter`; all without one.
pub(crate) fn run(filter: Option<&str>) -> anyhow::Result<()> {
    let begun = Instant::now();
    programs::provide(&PROGRAMS)?;
    let folder = target_folder()?.join("vm");
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    let _lock = lock(&folder)?;
    let image = image::provide(&folder)?;
    let tests = plan::build(filter)?;
    let plan = plan::plan(&tests, filter);
    ensure!(!plan.is_empty(), "no test has {:?} in its name", filter.unwrap_or_default());
    let job = job::make(&folder, &tests, &plan)?;
    let prepared = begun.elapsed();
    let accelerator = boot::accelerator(&folder, &image)?;
    println!("\n=== {} runs, by {accelerator}", plan.len());
    let results = boot::boot(&folder, &image, accelerator, &job)?;
    let report = Report::read(&results);
    report.print();
    let (prepared, all) = (prepared.as_secs(), begun.elapsed().as_secs());
    println!("{all} s in all, {prepared} of them to prepare");
    verdict(&report, plan.len(), &folder)
}

/// One at a time: the disks are there once.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("can't make {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!("another `cargo xtask vm` is at work here"),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("can't lock {}", path.display()))
        }
    }
}

fn verdict(report: &Report, planned: usize, folder: &Path) -> anyhow::Result<()> {
    let mut faults = report.faults();
    if !report.done || report.runs.len() != planned {
        let ended = report.runs.iter().filter(|run| run.code.is_some()).count();
        faults.push(format!("the machine went after {ended} of {planned} runs"));
    }
    if faults.is_empty() {
        println!("everything passed in the machine");
        return Ok(());
    }
    let list: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    bail!("in the machine:{list}\nwhat was printed there is in {}", folder.display())
}
