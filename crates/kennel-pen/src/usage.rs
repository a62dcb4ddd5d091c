//! What a pen uses, and whether it is active.

use std::io;
use std::time::Duration;

use kennel_sys::identity::ProcessStat;
use kennel_sys::reap;

use crate::cgroup::Cgroup;
use crate::pen::Pen;
use crate::process::{ActivitySample, Generation, PenUsage};

impl Pen {
    /// What the pen uses and has used.
    ///
    /// # Errors
    /// The processes could not be listed.
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
    ///
    /// # Errors
    /// The processes could not be listed.
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

    /// How many of its processes the OOM killer has killed, if the kernel counts them.
    ///
    /// # Errors
    /// The count could not be read.
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

/// The CPU time of a process and of the children that it has reaped.
fn cpu_of(stat: &ProcessStat) -> Duration {
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis((stat.cpu_ticks + stat.collected_ticks) * 1000 / ticks)
}
