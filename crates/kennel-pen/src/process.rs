//! The processes in a pen.

use std::fmt;
use std::time::Duration;

use kennel_sys::identity::ProcessStat;
use kennel_types::Survivor;
use serde::{Deserialize, Serialize};

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

/// Why a process survives a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SurvivalReason {
    /// The kernel does not permit the signal: the process runs as this other user.
    NotPermitted {
        /// The user.
        uid: u32,
    },
    /// It sleeps in the kernel, or is frozen, and takes no signal until that is over, not even KILL.
    Uninterruptible,
    /// KILL was sent, and the process has not exited yet.
    Ending,
}

impl fmt::Display for SurvivalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted { uid } => write!(f, "not permitted: it runs as user {uid}"),
            Self::Uninterruptible => {
                f.write_str("uninterruptible: it waits in the kernel, or is frozen")
            }
            Self::Ending => f.write_str("killed, but not yet gone"),
        }
    }
}

/// Describes a process that survived a kill. Returns none if it has exited meanwhile.
pub(crate) fn survivor(pid: i32, refused: &[ProcessKey]) -> Option<Survivor> {
    let process = PenProcess::look(pid).filter(|process| !process.dead)?;
    let mark = subtree::open(pid).ok().flatten().map(|found| found.mark);
    let reason = if mark.is_some_and(|mark| refused.contains(&mark)) {
        SurvivalReason::NotPermitted { uid: subtree::owner_of(pid).unwrap_or(u32::MAX) }
    } else if process.state == 'D' {
        SurvivalReason::Uninterruptible
    } else {
        SurvivalReason::Ending
    };
    Some(Survivor { pid, name: process.name, why: reason.to_string() })
}

/// What a pen uses and has used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PenUsage {
    /// The CPU time of all processes that were ever in it, as far as the kernel knows.
    pub cpu: Duration,
    /// The memory in use, in bytes: that of the cgroup if it is counted, otherwise the sum of the resident
    /// memory of all processes (shared memory counts each time).
    pub memory: u64,
    /// The number of processes in it now, without dead ones that are not reaped yet.
    pub processes: u32,
}

/// A sample of a pen's activity. If the generations of two samples are equal, no process has started or exited
/// in between.
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
