//! `cargo xtask vm`: runs the tests that need systemd and delegated cgroups in a virtual machine.
//!
//! ```text
//! recipe ── mmdebstrap ──> disk (cached) ┐
//! cargo test --no-run ───> job disk ─────┴─ qemu ──> results ──> verdict
//! ```
//! The machine is a small Debian of the same release as the host (so that programs built here run
//! there), made from the packages that the host's apt is configured for, with systemd and all
//! controllers in cgroup v2. In it the tests of pens, keepers and limits run as root and as a user,
//! each program in a scope with `Delegate=yes`, and those of limits also in a scope without it.

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
use report::VmReport;

const PROGRAMS: [Program; 6] = [
    Program { name: "qemu-system-x86_64", packages: &["qemu-system-x86"] },
    Program { name: "mmdebstrap", packages: &["mmdebstrap"] },
    Program { name: "mke2fs", packages: &["e2fsprogs"] },
    Program { name: "strip", packages: &["binutils"] },
    Program { name: "setpriv", packages: &["util-linux"] },
    Program { name: "cc", packages: &["gcc", "libc6-dev"] },
];

/// Runs the test programs whose names, such as `kennel-pen/limits`, contain `filter`; all without
/// one.
pub(crate) fn run(filter: Option<&str>) -> anyhow::Result<()> {
    let begun = Instant::now();
    programs::provide(&PROGRAMS)?;
    let folder = target_folder()?.join("vm");
    fs::create_dir_all(&folder).with_context(|| format!("can't make {}", folder.display()))?;
    let _lock = lock(&folder)?;
    let image = image::provide(&folder)?;
    let tests = plan::build(filter)?;
    let plan = plan::plan(&tests, filter);
    ensure!(!plan.is_empty(), "no test program has {:?} in its name", filter.unwrap_or_default());
    let job = job::make(&folder, &tests, &plan)?;
    let prepared = begun.elapsed();
    let accelerator = boot::accelerator(&folder, &image)?;
    println!("\n=== {} runs, with {accelerator}", plan.len());
    let results = boot::boot(&folder, &image, accelerator, &job)?;
    let report = VmReport::read(&results);
    report.print();
    let (prepared, all) = (prepared.as_secs(), begun.elapsed().as_secs());
    println!("{all} s in total, of which {prepared} s for the preparation");
    verdict(&report, plan.len(), &folder)
}

/// Locks the folder: two runs can't share the disks.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let file = File::create(&path).with_context(|| format!("can't make {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("another `cargo xtask vm` is running in this workspace")
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("can't lock {}", path.display()))
        }
    }
}

fn verdict(report: &VmReport, planned: usize, folder: &Path) -> anyhow::Result<()> {
    let mut faults = report.faults();
    if !report.done || report.runs.len() != planned {
        let ended = report.runs.iter().filter(|run| run.code.is_some()).count();
        faults.push(format!("the machine ended after {ended} of {planned} runs"));
    }
    if faults.is_empty() {
        println!("everything passed in the machine");
        return Ok(());
    }
    let list: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    bail!("failures in the machine:{list}\nits output is in {}", folder.display())
}
