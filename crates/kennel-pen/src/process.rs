//! The processes in a pen, what they use, and whether they are active.

use std::io;
use std::time::Duration;

use kennel_sys::identity::ProcessStat;
use kennel_sys::reap;
use kennel_types::Survivor;
use serde::{Deserialize, Serialize};

use crate::cgroup::Cgroup;
use crate::pen::Pen;
use crate::subtree::{self, ProcessKey};

/// A process in a pen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PenProcess {
    /// Its pid, for display; signals go through the pen.
    pub pid: i32,
    /// The program's short name.
    pub name: String,
    /// The kernel's state letter.
    pub state: char,
    /// Whether it has exited and waits to be reaped by its parent.
    pub dead: bool,
}

impl PenProcess {
    pub(crate) fn look(pid: i32) -> Option<Self> {
        let stat = ProcessStat::read(pid).ok()??;
        Some(Self { pid, dead: stat.is_dead(), name: stat.name, state: stat.state })
    }
}

/// Describes a process that survived a kill. Returns `None` if it has exited meanwhile.
pub(crate) fn survivor(pid: i32, refused: &[ProcessKey]) -> Option<Survivor> {
    let process = PenProcess::look(pid).filter(|process| !process.dead)?;
    let mark = subtree::open(pid).ok().flatten().map(|found| found.mark);
    let why = if mark.is_some_and(|mark| refused.contains(&mark)) {
        let uid = subtree::owner_of(pid).unwrap_or(u32::MAX);
        format!("not permitted: it runs as user {uid}")
    } else if process.state == 'D' {
        // It handles no signal until that is over, not even KILL.
        "uninterruptible: it waits in the kernel, or is frozen".to_owned()
    } else {
        "killed, but not yet gone".to_owned()
    };
    Some(Survivor { pid, name: process.name, why })
}

/// What a pen uses and has used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PenUsage {
    /// The CPU time of all processes that were ever in it, as far as the kernel knows.
    pub cpu: Duration,
    /// The memory in use, in bytes: that of the cgroup if it is counted, otherwise the sum of the
    /// resident memory of all processes (shared memory counts each time).
    pub memory: u64,
    /// The number of processes in it now, without dead ones that are not reaped yet.
    pub processes: u32,
}

/// A sample of a pen's activity. If the generations of two samples are equal, no process has
/// started or exited in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActivitySample {
    /// The CPU time of all processes that were ever in it, as far as the kernel knows.
    pub cpu: Duration,
    /// The set of processes.
    pub generation: Generation,
    /// Whether a process runs, would run if a core were free, or waits for a disk, right now.
    pub works: bool,
}

/// Changes whenever a process has started or exited, even one that lived only between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generation {
    /// The number of processes.
    pub processes: u32,
    /// The start time of the youngest process, in clock ticks.
    pub youngest: u64,
    /// The page faults of all reaped processes: every process has at least one.
    pub faults: u64,
}

impl Pen {
    /// Returns what the pen uses and has used.
    pub fn usage(&self) -> io::Result<PenUsage> {
        let mut usage = PenUsage {
            cpu: reap::reaped_cpu().saturating_sub(self.cpu_before),
            ..PenUsage::default()
        };
        for stat in self.stats()? {
            usage.cpu += cpu_of(&stat);
            usage.memory += stat.resident_pages * rustix::param::page_size() as u64;
            usage.processes += u32::from(!stat.is_dead());
        }
        if let Some(cgroup) = &self.cgroup {
            usage.cpu = cgroup.cpu()?.unwrap_or(usage.cpu);
            usage.memory = cgroup.memory()?.unwrap_or(usage.memory);
        }
        Ok(usage)
    }

    /// Samples the activity of the pen, to be compared with earlier samples.
    pub fn activity(&self) -> io::Result<ActivitySample> {
        let mut cpu = reap::reaped_cpu().saturating_sub(self.cpu_before);
        let mut generation = Generation { faults: reap::reaped_faults(), ..Generation::default() };
        let mut works = false;
        for stat in self.stats()? {
            cpu += cpu_of(&stat);
            works |= matches!(stat.state, 'R' | 'D');
            generation.processes += u32::from(!stat.is_dead());
            generation.youngest = generation.youngest.max(stat.started);
            generation.faults += stat.collected_faults;
        }
        if let Some(cgroup) = &self.cgroup {
            cpu = cgroup.cpu()?.unwrap_or(cpu);
        }
        Ok(ActivitySample { cpu, generation, works })
    }

    fn stats(&self) -> io::Result<impl Iterator<Item = ProcessStat>> {
        Ok(self.pids()?.into_iter().filter_map(|pid| ProcessStat::read(pid).ok().flatten()))
    }

    /// Returns the number of OOM kills in the pen, if the kernel counts them.
    pub fn oom_kills(&self) -> io::Result<Option<u64>> {
        self.cgroup.as_ref().map_or(Ok(None), Cgroup::oom_kills)
    }

    /// Notes the OOM kills before a KILL is sent: only later ones are attributed to the OOM killer.
    pub(crate) fn note_oom_kills(&mut self) {
        if let Ok(Some(kills)) = self.oom_kills() {
            self.oom_kills_before = kills;
        }
    }
}

/// Returns the CPU time of a process and of the children that it has reaped.
fn cpu_of(stat: &ProcessStat) -> Duration {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis((stat.cpu_ticks + stat.collected_ticks) * 1000 / ticks)
}
