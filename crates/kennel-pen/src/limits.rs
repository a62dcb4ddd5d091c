//! Limits on what a pen may use: memory, processes, CPU.
//!
//! They are the kernel's, set on the pen's cgroup before anybody is in it, so they hold for the whole tree. They
//! guard against accidents, not against intent: whoever runs as root, or as the user who made the pen, can write to
//! its files. A cgroup that an agent nests in its pen can't have more than the pen.

use std::fmt;
use std::path::PathBuf;

use kennel_sys::fault::CallError;

use crate::host_support::NoCgroup;

/// A part of the kernel that limits one thing.
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
    /// All that Kennel knows to use.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name for it.
    #[must_use]
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

/// What a pen may use; none or zero is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PenLimits {
    /// The most memory of all its processes, in bytes. It gets no swap besides: a limit that is met by swapping
    /// slows everyone down. When it is reached the kernel ends one process, not the whole pen: an agent whose tool
    /// took too much can say so.
    pub memory: Option<u64>,
    /// The most processes and threads at once.
    pub pids: Option<u64>,
    /// The most CPU, in thousandths of a core.
    pub cpu: Option<u32>,
    /// Whether a pen without those that can't be had is better than none.
    pub best_effort: bool,
}

/// The kernel's shortest slice of CPU time, and the usual and the longest time in which it is counted, all in
/// microseconds.
const SHORTEST_SLICE: u64 = 1_000;
const USUAL_PERIOD: u64 = 100_000;
const LONGEST_PERIOD: u64 = 1_000_000;

/// One file of a pen's cgroup, and what goes into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CgroupSetting {
    pub(crate) controller: Controller,
    pub(crate) file: &'static str,
    pub(crate) text: String,
    /// Whether it is fine if there is no such file.
    pub(crate) may_lack: bool,
}

impl PenLimits {
    /// Whether anything is limited at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.settings().is_empty()
    }

    /// The files to write, in this order.
    pub(crate) fn settings(&self) -> Vec<CgroupSetting> {
        let mut settings = Vec::new();
        let mut set = |controller, file, text: String, may_lack| {
            settings.push(CgroupSetting { controller, file, text, may_lack });
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
    let usual = slice_in(USUAL_PERIOD) >= SHORTEST_SLICE;
    let period = if usual { USUAL_PERIOD } else { LONGEST_PERIOD };
    format!("{} {period}", slice_in(period))
}

/// A limit that can't be set here.
#[derive(Debug, thiserror::Error)]
pub enum PenLimitError {
    /// The kernel's part for it can't be used where pens are made.
    #[error("no limit on {controller} in {}: {why}", .folder.display())]
    NoController {
        /// Which one.
        controller: Controller,
        /// Where pens are made.
        folder: PathBuf,
        /// Why not, and what to do.
        why: NoController,
    },
    /// There is no cgroup for the pen.
    #[error("no limit on {controller}: {why}; a limit needs a cgroup pen")]
    NoCgroup {
        /// What was to be limited.
        controller: Controller,
        /// Why there is none.
        why: NoCgroup,
    },
    /// A pen without a cgroup was asked for.
    #[error(
        "no limit on {controller}: the pen was asked to be one without a cgroup (use --pen cgroup or auto)"
    )]
    WithoutCgroup {
        /// What was to be limited.
        controller: Controller,
    },
    /// The kernel did not take the limit.
    #[error("the limit on {controller} was not taken")]
    Refused {
        /// What was to be limited.
        controller: Controller,
        /// What the kernel said.
        #[source]
        source: CallError,
    },
}

/// Why a part of the kernel can't be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoController {
    /// cgroup v1 has it.
    #[error(
        "cgroup v1 has it on this machine; boot with cgroup_no_v1=all, or systemd.unified_cgroup_hierarchy=1"
    )]
    InVersionOne,
    /// It is not handed down to us.
    #[error("it is not handed down to us; start Kennel in a unit with Delegate=yes{user_hint}")]
    NotHandedDown {
        /// More for those who are not root.
        user_hint: &'static str,
    },
    /// The kernel has none.
    #[error(
        "this kernel has it switched off, or this container is not given it (booting with cgroup_enable={0} may help)"
    )]
    SwitchedOff(Controller),
    /// systemd manages this folder and has not handed it over.
    #[error(
        "systemd manages this cgroup; start Kennel in a unit with Delegate=yes (systemd-run --user --scope -p Delegate=yes kennel …, as root without --user)"
    )]
    NotDelegated,
    /// Others are in the folder, which must have none but Kennel's.
    #[error(
        "pid {pid} ({name}) is in this cgroup too; start Kennel in one of its own (systemd-run --user --scope -p Delegate=yes kennel …)"
    )]
    Strangers {
        /// One of them.
        pid: i32,
        /// Its program.
        name: String,
    },
    /// The kernel did not let us.
    #[error("{step} failed: {error}")]
    Call {
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        error: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limits: PenLimits) -> Vec<(&'static str, String)> {
        limits.settings().into_iter().map(|setting| (setting.file, setting.text)).collect()
    }

    #[test]
    fn limits_become_the_kernels_words() {
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
    fn no_limit_writes_nothing_and_zero_is_none() {
        assert!(PenLimits::default().is_none());
        let zero = PenLimits { memory: Some(0), pids: Some(0), cpu: Some(0), best_effort: true };
        assert!(zero.is_none());
    }

    #[test]
    fn a_share_of_the_cpu_is_never_less_than_the_kernel_takes() {
        assert_eq!(cpu_max(1), "1000 1000000");
        assert_eq!(cpu_max(9), "9000 1000000");
        assert_eq!(cpu_max(10), "1000 100000");
        assert_eq!(cpu_max(1500), "150000 100000");
        assert_eq!(cpu_max(u32::MAX), "429496729500 100000");
    }
}
