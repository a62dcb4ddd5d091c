//! How much room the machine has for another session.
//!
//! No launch is refused for a value that can't be measured. A measurement is reused for a moment,
//! so that many launches at once need only one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_core::headroom::Measured;
use rustix::process::Resource;

use super::proc;

const FRESH: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct HeadroomMeter {
    home: PathBuf,
    yard: i32,
    /// The daemon's cgroup and those above it, as far as they limit processes.
    cgroups: Vec<PathBuf>,
    last: Option<(Instant, Measured)>,
}

impl HeadroomMeter {
    pub(crate) fn new(home: PathBuf, yard: i32) -> Self {
        Self { home, yard, cgroups: counting_cgroups(), last: None }
    }

    /// Returns what is free now, or was a moment ago.
    pub(crate) fn measured(&mut self) -> Measured {
        let now = Instant::now();
        if let Some((at, measured)) = self.last
            && now.duration_since(at) < FRESH
        {
            return measured;
        }
        let measured = self.measure();
        self.last = Some((now, measured));
        measured
    }

    fn measure(&self) -> Measured {
        Measured {
            descriptors: free_descriptors(self.yard),
            pids: self.free_pids(),
            ptys: free_ptys(),
            disk: free_disk(&self.home),
            memory: available_memory(),
        }
    }

    /// Returns how many pids the limits of the machine and of the daemon's cgroups leave.
    fn free_pids(&self) -> Option<u64> {
        let used = fs::read_to_string("/proc/loadavg").ok().and_then(|text| threads(&text));
        let most = ["pid_max", "threads-max"]
            .into_iter()
            .filter_map(|name| number(Path::new("/proc/sys/kernel").join(name)));
        let machine = most.min().zip(used).map(|(most, used)| most.saturating_sub(used));
        let groups = self.cgroups.iter().filter_map(|group| {
            let most = number(group.join("pids.max"))?;
            Some(most.saturating_sub(number(group.join("pids.current"))?))
        });
        machine.into_iter().chain(groups).min()
    }
}

/// The yard has the same limit as the daemon, because it started the daemon.
fn free_descriptors(yard: i32) -> Option<u64> {
    let most = rustix::process::getrlimit(Resource::Nofile).current?;
    let ours = open_descriptors(Path::new("/proc/self/fd"))?;
    let yards = open_descriptors(&PathBuf::from(format!("/proc/{yard}/fd"))).unwrap_or(0);
    Some(most.saturating_sub(ours.max(yards)))
}

/// Counts open descriptors. Newer kernels report the number as the size of the folder; on others
/// the entries are counted.
pub(crate) fn open_descriptors(folder: &Path) -> Option<u64> {
    match fs::metadata(folder).ok()?.len() {
        0 => u64::try_from(fs::read_dir(folder).ok()?.count()).ok(),
        count => Some(count),
    }
}

fn free_ptys() -> Option<u64> {
    let of = |name: &str| number(Path::new("/proc/sys/kernel/pty").join(name));
    Some(of("max")?.saturating_sub(of("nr")?))
}

fn free_disk(home: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(home).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn available_memory() -> Option<u64> {
    available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes = line.split_whitespace().next()?.parse::<u64>().ok()?;
    kilobytes.checked_mul(1024)
}

fn threads(text: &str) -> Option<u64> {
    text.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Reads a file that contains a number; `max` is none.
fn number(path: PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the daemon's cgroups that limit the number of processes.
fn counting_cgroups() -> Vec<PathBuf> {
    let Some(mount) = kennel_pen::cgroup_mount() else { return Vec::new() };
    let Some(path) = proc::cgroup(rustix::process::getpid().as_raw_pid()) else {
        return Vec::new();
    };
    let own = mount.join(path.trim_start_matches('/'));
    let above = own.ancestors().take_while(|folder| folder.starts_with(&mount));
    above.filter(|folder| folder.join("pids.max").exists()).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_files_of_the_kernel() {
        assert_eq!(threads("0.20 0.18 0.12 1/803 11206\n"), Some(803));
        assert_eq!(threads("nonsense"), None);
        let text = "MemTotal:  100 kB\nMemAvailable:    64 kB\n";
        assert_eq!(available(text), Some(64 << 10));
        assert_eq!(available("MemTotal: 100 kB\n"), None);
    }

    #[test]
    fn counts_descriptors_and_caches_a_measurement_for_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let pid = rustix::process::getpid().as_raw_pid();
        let mut gauge = HeadroomMeter::new(folder.path().to_owned(), pid);
        let before = gauge.measure().descriptors.unwrap();
        let held: Vec<_> = (0..20).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let after = gauge.measure().descriptors.unwrap();
        // Other tests of this process open and close descriptors in the meantime.
        assert!(after < before, "{after} {before}");
        drop(held);
        let first = gauge.measured();
        assert!(first.disk.is_some() && first.pids.is_some(), "{first:?}");
        assert_eq!(gauge.measured(), first);
    }
}
