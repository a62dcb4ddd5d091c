//! Limits on what a pen may use: memory, processes, CPU.
//!
//! The kernel enforces them on the pen's cgroup, set up before its first process, so they hold for
//! the whole tree. They guard against accidents, not intent: root and the user that created the pen
//! can write to its files. A cgroup that an agent nests in its pen can't exceed the pen's limits.

use std::fmt;
use std::path::PathBuf;

use kennel_sys::fault::CallError;

use crate::host_support::NoCgroup;

/// A controller of the kernel, which limits one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Memory.
    Memory,
    /// Processes and threads.
    Pids,
    /// CPU time.
    Cpu,
}

impl Controller {
    /// All controllers that Kennel uses.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// Returns the kernel's name of the controller.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The limits of a pen. None and zero mean no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PenLimits {
    /// The maximum memory of all processes, in bytes. The pen gets no swap: swapping would slow
    /// down the whole machine. When the limit is reached, the kernel kills one process, not the
    /// whole pen, so an agent can report that one of its tools used too much.
    pub memory: Option<u64>,
    /// The maximum number of processes and threads.
    pub pids: Option<u64>,
    /// The maximum CPU, in thousandths of a core.
    pub cpu: Option<u32>,
    /// Whether to create the pen without those limits that the host does not support.
    pub best_effort: bool,
}

/// The kernel's shortest CPU quota, and its default and longest period, all in microseconds.
const SHORTEST_SLICE: u64 = 1_000;
const DEFAULT_PERIOD: u64 = 100_000;
const LONGEST_PERIOD: u64 = 1_000_000;

/// One file of a pen's cgroup, and what to write to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CgroupSetting {
    pub(crate) controller: Controller,
    pub(crate) file: &'static str,
    pub(crate) text: String,
    /// Whether the file may be missing.
    pub(crate) may_be_missing: bool,
}

impl PenLimits {
    pub(crate) fn settings(&self) -> Vec<CgroupSetting> {
        let mut settings = Vec::new();
        let mut set = |controller, file, text: String, may_be_missing| {
            settings.push(CgroupSetting { controller, file, text, may_be_missing });
        };
        if let Some(bytes) = self.memory.filter(|bytes| *bytes > 0) {
            // Missing on a kernel without swap.
            set(Controller::Memory, "memory.swap.max", "0".to_owned(), true);
            set(Controller::Memory, "memory.max", bytes.to_string(), false);
        }
        if let Some(most) = self.pids.filter(|most| *most > 0) {
            set(Controller::Pids, "pids.max", most.to_string(), false);
        }
        if let Some(thousandths) = self.cpu.filter(|thousandths| *thousandths > 0) {
            set(Controller::Cpu, "cpu.max", cpu_max(thousandths), false);
        }
        settings
    }
}

fn cpu_max(thousandths: u32) -> String {
    let slice_in = |period: u64| u64::from(thousandths) * (period / 1000);
    let fits = slice_in(DEFAULT_PERIOD) >= SHORTEST_SLICE;
    let period = if fits { DEFAULT_PERIOD } else { LONGEST_PERIOD };
    format!("{} {period}", slice_in(period))
}

/// A limit that can't be set.
#[derive(Debug, thiserror::Error)]
pub enum PenLimitError {
    /// The controller can't be used where pens are created.
    #[error("can't limit {controller} in {}: {why}", .folder.display())]
    NoController {
        /// The controller.
        controller: Controller,
        /// The folder in which pens are created.
        folder: PathBuf,
        /// Why not, and what to do.
        why: NoController,
    },
    /// The host supports no cgroup pens.
    #[error("can't limit {controller}: {why}; a limit needs a cgroup pen")]
    NoCgroup {
        /// The controller of the limit.
        controller: Controller,
        /// Why there are none.
        why: NoCgroup,
    },
    /// A pen without a cgroup was requested.
    #[error(
        "can't limit {controller}: a pen without a cgroup was requested (use --pen cgroup or auto)"
    )]
    WithoutCgroup {
        /// The controller of the limit.
        controller: Controller,
    },
    /// The kernel refused the limit.
    #[error("the kernel refused the limit on {controller}")]
    Refused {
        /// The controller of the limit.
        controller: Controller,
        /// The kernel's error.
        #[source]
        source: CallError,
    },
}

/// Why a controller can't be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoController {
    /// The controller is bound to cgroup v1.
    #[error(
        "the controller is bound to cgroup v1; boot with cgroup_no_v1=all, or systemd.unified_cgroup_hierarchy=1"
    )]
    InVersionOne,
    /// The cgroup of this process does not have the controller.
    #[error("this cgroup does not have it; start Kennel in a unit with Delegate=yes{user_hint}")]
    NotHandedDown {
        /// A further hint for users other than root.
        user_hint: &'static str,
    },
    /// The kernel does not have the controller.
    #[error("it is disabled in this kernel or container (booting with cgroup_enable={0} may help)")]
    SwitchedOff(Controller),
    /// systemd manages this folder and has not delegated it.
    #[error(
        "systemd manages this cgroup; start Kennel in a unit with Delegate=yes (systemd-run --user --scope -p Delegate=yes kennel …, as root without --user)"
    )]
    NotDelegated,
    /// The folder has processes that are not Kennel's.
    #[error(
        "pid {pid} ({name}) is also in this cgroup; start Kennel in a cgroup of its own (systemd-run --user --scope -p Delegate=yes kennel …)"
    )]
    Strangers {
        /// One of these processes.
        pid: i32,
        /// Its program.
        name: String,
    },
    /// A call failed.
    #[error("{0}")]
    Call(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limits: PenLimits) -> Vec<(&'static str, String)> {
        limits.settings().into_iter().map(|setting| (setting.file, setting.text)).collect()
    }

    #[test]
    fn limits_become_settings_of_the_cgroup() {
        let limits =
            PenLimits { memory: Some(1 << 30), pids: Some(64), cpu: Some(500), best_effort: false };
        let expected = [
            ("memory.swap.max", "0"),
            ("memory.max", "1073741824"),
            ("pids.max", "64"),
            ("cpu.max", "50000 100000"),
        ];
        assert_eq!(written(limits), expected.map(|(file, text)| (file, text.to_owned())));
    }

    #[test]
    fn no_limit_and_zero_write_nothing() {
        assert_eq!(PenLimits::default().settings(), []);
        let zero = PenLimits { memory: Some(0), pids: Some(0), cpu: Some(0), best_effort: true };
        assert_eq!(zero.settings(), []);
    }

    #[test]
    fn a_small_cpu_limit_gets_a_longer_period() {
        assert_eq!(cpu_max(1), "1000 1000000");
        assert_eq!(cpu_max(9), "9000 1000000");
        assert_eq!(cpu_max(10), "1000 100000");
        assert_eq!(cpu_max(1500), "150000 100000");
        assert_eq!(cpu_max(u32::MAX), "429496729500 100000");
    }
}
