//! Who is in a pen.

use std::fmt;
use std::time::Duration;

use kennel_sys::identity::ProcessStat;

use crate::subtree::{self, ProcessKey};

/// A process in a pen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PenProcess {
    /// Its pid, for people to read; signals go through the pen.
    pub pid: i32,
    /// The program's short name.
    pub name: String,
    /// The kernel's state letter.
    pub state: char,
    /// Whether it has ended and only waits for its parent to notice.
    pub dead: bool,
}

impl PenProcess {
    pub(crate) fn look(pid: i32) -> Option<Self> {
        let stat = ProcessStat::read(pid).ok()??;
        Some(Self { pid, dead: stat.is_dead(), name: stat.name, state: stat.state })
    }
}

/// A process that could not be ended, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its pid, for people to read.
    pub pid: i32,
    /// The program's short name.
    pub name: String,
    /// Why it is still there.
    pub why: SurvivalReason,
}

/// Why a process survives a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivalReason {
    /// The kernel does not let us signal it: it runs as this other user.
    NotPermitted {
        /// Its user.
        uid: u32,
    },
    /// It sleeps in the kernel, or is frozen, and takes no signal, not even KILL, until that is over.
    Uninterruptible,
    /// The signal was sent; the process has not ended yet.
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

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} ({}): {}", self.pid, self.name, self.why)
    }
}

impl Survivor {
    pub(crate) fn look(pid: i32, refused: &[ProcessKey]) -> Option<Self> {
        let member = PenProcess::look(pid).filter(|member| !member.dead)?;
        let mark = subtree::open(pid).ok().flatten().map(|found| found.mark);
        let why = if mark.is_some_and(|mark| refused.contains(&mark)) {
            SurvivalReason::NotPermitted { uid: subtree::owner_of(pid).unwrap_or(u32::MAX) }
        } else if member.state == 'D' {
            SurvivalReason::Uninterruptible
        } else {
            SurvivalReason::Ending
        };
        Some(Self { pid, name: member.name, why })
    }
}

/// What a pen uses and has used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PenUsage {
    /// CPU time of all processes that were ever in it, as far as the machine tells.
    pub cpu: Duration,
    /// Memory in use now, in bytes: of the cgroup where it counts memory, else the resident memory of
    /// all processes added up (what they share is counted each time).
    pub memory: u64,
    /// How many processes are in it now, the dead but not yet noticed ones left out.
    pub processes: u32,
}

/// Signs of life of a pen: equal ones, apart from the CPU, mean that no process has come or gone between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActivitySample {
    /// CPU time of all processes that were ever in it, as far as the machine tells.
    pub cpu: Duration,
    /// Which processes it has.
    pub generation: Generation,
    /// Whether one of them runs, would run if a core were free, or waits for a disk: at this very moment.
    pub works: bool,
}

/// Changes whenever a process has come or gone, even if it lived but for a moment between two looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Generation {
    /// How many there are.
    pub processes: u32,
    /// When the youngest was born, in the kernel's ticks.
    pub youngest: u64,
    /// The page faults of all that were reaped: none ends without one.
    pub faults: u64,
}
