//! Unique identities of processes: a pid alone may be reused by a later process.

use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::{fmt, fs, io};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

/// Distinguishes one process from all others that this machine ever ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The kernel's random id of this boot.
    pub boot: String,
    /// The inode of the pid namespace.
    pub pid_namespace: u64,
    /// The pid in that namespace.
    pub pid: i32,
    /// Distinguishes it from a later process with the same pid.
    pub birth: Birth,
}

/// Distinguishes a process from a later one with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Birth {
    /// The inode of its pidfd, which is unique within this boot (since Linux 6.9).
    Inode(u64),
    /// Its start time, in clock ticks since the boot.
    Tick(u64),
}

impl Birth {
    /// Returns the birth of the process of this pidfd, which was opened by this pid. `None` if it
    /// has been reaped.
    pub fn of(pidfd: BorrowedFd<'_>, pid: i32) -> io::Result<Option<Self>> {
        if has_inodes(pidfd)? {
            return Ok(Some(Self::Inode(rustix::fs::fstat(pidfd)?.st_ino)));
        }
        // It still exists afterwards, so its pid was not reused before the read.
        let stat = ProcessStat::read(pid)?.filter(|_| crate::pidfd::exists(pidfd));
        Ok(stat.map(|stat| Self::Tick(stat.started)))
    }
}

/// Returns whether every process has an inode of its own on this kernel.
fn has_inodes(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    const PIDFS_MAGIC: i64 = 0x5049_4446;
    static INODES: OnceLock<bool> = OnceLock::new();
    if let Some(known) = INODES.get() {
        return Ok(*known);
    }
    let kind = rustix::fs::fstatfs(pidfd)?.f_type;
    Ok(*INODES.get_or_init(|| kind == PIDFS_MAGIC))
}

impl ProcessIdentity {
    /// Returns the identity of the process of a pidfd that was opened by this pid.
    ///
    /// # Errors
    /// `ESRCH` if it has been reaped.
    pub fn new(pidfd: BorrowedFd<'_>, pid: i32) -> io::Result<Self> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        Ok(Self {
            boot: boot_id()?.to_owned(),
            pid_namespace: pid_namespace()?,
            pid,
            birth: Birth::of(pidfd, pid)?.ok_or_else(gone)?,
        })
    }

    /// Returns whether exactly this process still exists, possibly as a zombie.
    pub fn exists(&self) -> io::Result<bool> {
        Ok(self.open()?.is_some_and(|pidfd| crate::pidfd::exists(pidfd.as_fd())))
    }

    /// Returns the identity as one line, for a record. [`Self::parse`] reads it.
    pub fn to_record(&self) -> String {
        let Self { boot, pid_namespace, pid, birth } = self;
        let (kind, number) = match birth {
            Birth::Inode(inode) => ("inode", inode),
            Birth::Tick(tick) => ("tick", tick),
        };
        format!("{boot} {pid_namespace} {pid} {kind} {number}")
    }

    /// Parses what [`Self::to_record`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let identity = Self {
            boot: words.next()?.to_owned(),
            pid_namespace: words.next()?.parse().ok()?,
            pid: words.next()?.parse().ok()?,
            birth: match (words.next()?, words.next()?.parse().ok()?) {
                ("inode", inode) => Birth::Inode(inode),
                ("tick", tick) => Birth::Tick(tick),
                _ => return None,
            },
        };
        words.next().is_none().then_some(identity)
    }

    /// Returns the same process with its pid in this pid namespace, if `self` is from another one.
    pub fn seen_from_here(self, pidfd: BorrowedFd<'_>) -> Self {
        if pid_namespace().is_ok_and(|own| own == self.pid_namespace) {
            return self;
        }
        let here = crate::pidfd::info(pidfd, 0).ok().flatten();
        here.and_then(|info| Self::new(pidfd, info.pid).ok()).unwrap_or(self)
    }

    /// Returns a pidfd of exactly this process, if it still exists, possibly as a zombie.
    pub fn open(&self) -> io::Result<Option<OwnedFd>> {
        if self.boot != boot_id()? || self.pid_namespace != pid_namespace()? {
            return Ok(None);
        }
        let Some(pidfd) = crate::pidfd::open(self.pid)? else { return Ok(None) };
        let same = match (self.birth, Birth::of(pidfd.as_fd(), self.pid)?) {
            (Birth::Tick(tick), Some(Birth::Inode(_))) => {
                let stat =
                    ProcessStat::read(self.pid)?.filter(|_| crate::pidfd::exists(pidfd.as_fd()));
                stat.is_some_and(|stat| stat.started == tick)
            }
            (then, now) => now == Some(then),
        };
        Ok(same.then_some(pidfd))
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.birth {
            Birth::Inode(inode) => write!(f, "pid {} (inode {inode})", self.pid),
            Birth::Tick(tick) => write!(f, "pid {} (started at tick {tick})", self.pid),
        }
    }
}

/// Returns the kernel's id of this boot.
pub fn boot_id() -> io::Result<&'static str> {
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(boot) = BOOT.get() {
        return Ok(boot);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    Ok(BOOT.get_or_init(|| boot))
}

/// Returns the inode of this process's pid namespace. It is not cached: a forked child in a new
/// namespace would inherit the wrong one.
pub fn pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Returns the init of this pid namespace, which lives as long as the namespace. It distinguishes
/// namespaces whose number the kernel reuses, for instance when a container is restarted.
pub fn init() -> io::Result<ProcessIdentity> {
    const INIT: i32 = 1;
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let pidfd = crate::pidfd::open(INIT)?.ok_or_else(gone)?;
    ProcessIdentity::new(pidfd.as_fd(), INIT)
}

/// Reads a file of `/proc` that is far shorter than the buffer, in one call.
fn read_small(path: &str) -> io::Result<Vec<u8>> {
    let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = Vec::with_capacity(1024);
    rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut text))?;
    Ok(text)
}

/// What Kennel needs from `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// The program's short name.
    pub name: String,
    /// The state letter: `R`, `S`, `D`, `T`, `Z` and so on. `Z` with more than one thread is a
    /// process whose first thread has ended: it is not dead.
    pub state: char,
    /// The parent's pid.
    pub parent: i32,
    /// Its own CPU time, in clock ticks.
    pub cpu_ticks: u64,
    /// The CPU time of its reaped children, and of their reaped children, in clock ticks.
    pub collected_ticks: u64,
    /// The page faults of those children. This grows with each that is reaped.
    pub collected_faults: u64,
    /// The number of its threads.
    pub threads: u64,
    /// Its start time, in clock ticks since the boot.
    pub started: u64,
    /// Resident memory, in pages.
    pub resident_pages: u64,
}

impl ProcessStat {
    /// Reads it. Returns `None` if there is no such process.
    pub fn read(pid: i32) -> io::Result<Option<Self>> {
        let path = format!("/proc/{pid}/stat");
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("can't parse {path}"));
        match read_small(&path) {
            Ok(text) => Self::parse(&text).map(Some).ok_or_else(invalid),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name may contain spaces and parentheses: the last `)` ends it.
    fn parse(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let (head, tail) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields = tail.split_ascii_whitespace().collect::<Vec<_>>();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            cpu_ticks: number(11)? + number(12)?,
            collected_ticks: number(13)? + number(14)?,
            collected_faults: number(8)? + number(10)?,
            threads: number(17)?,
            started: number(19)?,
            resident_pages: number(21)?,
        })
    }

    /// Returns whether all its threads have ended, so that it only waits to be reaped.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read_whole() {
        let line = b"42 (a) b (c) S 7 1 1 0 -1 4194560 1 2 0 3 5 6 8 9 20 0 3 0 12345 1000 77 18446744073709551615 0";
        let stat = ProcessStat::parse(line).expect("parses");
        assert_eq!(stat.name, "a) b (c");
        assert_eq!((stat.state, stat.parent, stat.cpu_ticks), ('S', 7, 11));
        assert_eq!((stat.collected_ticks, stat.collected_faults), (17, 5));
        assert_eq!((stat.threads, stat.started, stat.resident_pages), (3, 12345, 77));
    }

    #[test]
    fn a_zombie_leader_with_threads_is_not_dead() {
        let zombie = |threads| ProcessStat {
            name: "x".into(),
            state: 'Z',
            parent: 1,
            cpu_ticks: 0,
            collected_ticks: 0,
            collected_faults: 0,
            threads,
            started: 1,
            resident_pages: 0,
        };
        assert!(zombie(1).is_dead());
        assert!(!zombie(2).is_dead());
    }

    #[test]
    fn our_own_identity_exists_and_one_from_another_boot_or_birth_does_not() {
        let pid = rustix::process::getpid().as_raw_pid();
        let own = crate::pidfd::open(pid).expect("opened").expect("we exist");
        let me = ProcessIdentity::new(own.as_fd(), pid).expect("we exist");
        let exists = |identity: &ProcessIdentity| identity.exists().expect("can be asked");
        assert!(exists(&me));
        let started = ProcessStat::read(pid).expect("read").expect("we exist").started;
        assert!(exists(&ProcessIdentity { birth: Birth::Tick(started), ..me.clone() }));
        assert!(!exists(&ProcessIdentity { birth: Birth::Tick(started - 1), ..me.clone() }));
        assert!(!exists(&ProcessIdentity { birth: Birth::Inode(1), ..me.clone() }));
        assert_eq!(ProcessIdentity::parse(&me.to_record()).as_ref(), Some(&me));
        for text in ["", "b 1 2", "b 1 2 inode x", "b 1 2 other 3", "b 1 2 tick 3 more"] {
            assert_eq!(ProcessIdentity::parse(text), None, "{text:?}");
        }
        let boot = "00000000-0000-0000-0000-000000000000".to_owned();
        assert!(!exists(&ProcessIdentity { boot, ..me.clone() }));
        assert!(!exists(&ProcessIdentity { pid_namespace: me.pid_namespace + 1, ..me }));
    }
}
