//! Resource usage of the daemon itself.

use kennel_sys::identity::ProcessStat;
use rustix::process::Resource;

use crate::os::headroom::open_descriptors;

/// What the kernel reports about this process; missing values are not exported.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct OwnProcess {
    pub(super) resident_bytes: Option<u64>,
    pub(super) cpu_seconds: Option<f64>,
    pub(super) threads: Option<u64>,
    pub(super) descriptors: Option<u64>,
    /// None: there is no limit.
    pub(super) max_descriptors: Option<u64>,
}

impl OwnProcess {
    /// Reads a few files of `/proc`, which never wait for a disk.
    pub(crate) fn read() -> Self {
        let stat = ProcessStat::read(rustix::process::getpid().as_raw_pid()).ok().flatten();
        let stat = stat.as_ref();
        #[expect(clippy::cast_precision_loss, reason = "ticks of many years")]
        let seconds = |ticks: u64| ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        let page = rustix::param::page_size() as u64;
        Self {
            resident_bytes: stat.map(|stat| stat.resident_pages * page),
            cpu_seconds: stat.map(|stat| seconds(stat.cpu_ticks)),
            threads: stat.map(|stat| stat.threads),
            descriptors: open_descriptors("/proc/self/fd".as_ref()),
            max_descriptors: rustix::process::getrlimit(Resource::Nofile).current,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_all_values() {
        let own = OwnProcess::read();
        assert!(own.resident_bytes.unwrap() > 100_000, "{own:?}");
        assert!(own.threads.unwrap() >= 1 && own.descriptors.unwrap() >= 3, "{own:?}");
        assert!(own.cpu_seconds.is_some(), "{own:?}");
    }
}
