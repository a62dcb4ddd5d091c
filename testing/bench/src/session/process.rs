//! The resources of a process, as the kernel reports them.

use std::fs;

use anyhow::{Context as _, Result};

use crate::raw::process_cpu;
use crate::stats::nanoseconds;

/// The precise counts of its memory; the fast ones lag behind by up to some hundred kilobytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessMemory {
    /// Resident, shared pages included.
    pub(crate) resident_kb: u64,
    /// Private and modified.
    pub(crate) private_dirty_kb: u64,
    /// Not backed by a file.
    pub(crate) anonymous_kb: u64,
}

impl ProcessMemory {
    pub(crate) fn of(pid: i32) -> Result<Self> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
            let number = number.and_then(|number| number.parse().ok());
            number.with_context(|| format!("no {name} in {path}"))
        };
        Ok(Self {
            resident_kb: field("Rss:")?,
            private_dirty_kb: field("Private_Dirty:")?,
            anonymous_kb: field("Anonymous:")?,
        })
    }
}

/// Returns the number of open descriptors.
pub(crate) fn descriptors(pid: i32) -> Result<usize> {
    entries(pid, "fd")
}

/// Returns the number of threads.
pub(crate) fn threads(pid: i32) -> Result<usize> {
    entries(pid, "task")
}

fn entries(pid: i32, folder: &str) -> Result<usize> {
    let path = format!("/proc/{pid}/{folder}");
    Ok(fs::read_dir(&path).with_context(|| path)?.count())
}

/// Returns its CPU time, in nanoseconds.
pub(crate) fn cpu_nanoseconds(pid: i32) -> Result<u64> {
    let cpu = process_cpu(pid).with_context(|| format!("the CPU time of {pid}"))?;
    Ok(nanoseconds(cpu))
}

/// Returns the CPU time of several processes together.
pub(crate) fn cpu_of_all(pids: &[i32]) -> Result<u64> {
    pids.iter().map(|&pid| cpu_nanoseconds(pid)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_resources_of_this_process() {
        let own = i32::try_from(std::process::id()).unwrap();
        let memory = ProcessMemory::of(own).unwrap();
        assert!(memory.resident_kb >= memory.anonymous_kb && memory.private_dirty_kb > 0);
        assert!(descriptors(own).unwrap() >= 3 && threads(own).unwrap() >= 1);
        assert!(cpu_of_all(&[own, own]).unwrap() > 0);
    }
}
