//! Which process exactly: a pid alone is a number that the next process may get.

use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::{fmt, fs, io};

/// Everything that tells one process from all others that this machine ever ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The boot: a random id that the kernel makes at every start.
    pub boot: String,
    /// The pid namespace, by its inode.
    pub pid_namespace: u64,
    /// The pid in that namespace.
    pub pid: i32,
    /// When it started, in clock ticks since the boot.
    pub started: u64,
}

impl Identity {
    /// The identity of the process with this number, now.
    ///
    /// Sound only while the caller knows that the number can't change hands: for a child of its own
    /// that is not yet reaped, or with a pidfd that is seen to exist afterwards.
    ///
    /// # Errors
    /// `ESRCH` if there is no such process.
    pub fn of(pid: i32) -> io::Result<Self> {
        let stat = Stat::read(pid)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        Ok(Self {
            boot: boot_id()?.to_owned(),
            pid_namespace: pid_namespace()?,
            pid,
            started: stat.started,
        })
    }

    /// Whether this very process still exists; a zombie does.
    ///
    /// # Errors
    /// The question could not be answered.
    pub fn exists(&self) -> io::Result<bool> {
        if self.boot != boot_id()? || self.pid_namespace != pid_namespace()? {
            return Ok(false);
        }
        Ok(Stat::read(self.pid)?.is_some_and(|stat| stat.started == self.started))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} (started at tick {})", self.pid, self.started)
    }
}

/// The kernel's id of this boot.
///
/// # Errors
/// `/proc` can't be read.
pub fn boot_id() -> io::Result<&'static str> {
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(boot) = BOOT.get() {
        return Ok(boot);
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned();
    Ok(BOOT.get_or_init(|| boot))
}

/// The inode of this process's pid namespace.
///
/// # Errors
/// `/proc` can't be read.
pub fn pid_namespace() -> io::Result<u64> {
    static NAMESPACE: OnceLock<u64> = OnceLock::new();
    if let Some(namespace) = NAMESPACE.get() {
        return Ok(*namespace);
    }
    let inode = fs::metadata("/proc/self/ns/pid")?.ino();
    Ok(*NAMESPACE.get_or_init(|| inode))
}

/// What Kennel reads of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The program's short name.
    pub name: String,
    /// The state letter: `R`, `S`, `D`, `T`, `Z` and so on. `Z` with more than one thread is a process
    /// whose first thread has ended: it is not dead.
    pub state: char,
    /// The parent's pid.
    pub parent: i32,
    /// CPU used by itself, in clock ticks.
    pub cpu_ticks: u64,
    /// How many threads it has.
    pub threads: u64,
    /// When it started, in clock ticks since the boot.
    pub started: u64,
    /// Resident memory, in pages.
    pub resident_pages: u64,
}

impl Stat {
    /// Reads it; `None` if there is no such process.
    ///
    /// # Errors
    /// It could not be read, or not be understood.
    pub fn read(pid: i32) -> io::Result<Option<Self>> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(text) => Self::parse(&text).map(Some).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("/proc/{pid}/stat: not understood"),
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name may hold spaces and parentheses: the last `)` ends it.
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
            threads: number(17)?,
            started: number(19)?,
            resident_pages: number(21)?,
        })
    }

    /// Whether it has ended, all threads of it, and only waits to be reaped.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read_whole() {
        let line = b"42 (a) b (c) S 7 1 1 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 3 0 12345 1000 77 18446744073709551615 0";
        let stat = Stat::parse(line).expect("parses");
        assert_eq!(stat.name, "a) b (c");
        assert_eq!((stat.state, stat.parent, stat.cpu_ticks), ('S', 7, 11));
        assert_eq!(
            (stat.threads, stat.started, stat.resident_pages),
            (3, 12345, 77)
        );
    }

    #[test]
    fn a_zombie_leader_with_threads_is_not_dead() {
        let zombie = |threads| Stat {
            name: "x".into(),
            state: 'Z',
            parent: 1,
            cpu_ticks: 0,
            threads,
            started: 1,
            resident_pages: 0,
        };
        assert!(zombie(1).is_dead());
        assert!(!zombie(2).is_dead());
    }

    #[test]
    fn our_own_identity_exists_and_one_from_another_boot_or_time_does_not() {
        let pid = rustix::process::getpid().as_raw_pid();
        let me = Identity::of(pid).expect("we exist");
        assert!(me.exists().expect("can be asked"));
        let earlier = Identity {
            started: me.started - 1,
            ..me.clone()
        };
        assert!(!earlier.exists().expect("can be asked"));
        let other_boot = Identity {
            boot: "00000000-0000-0000-0000-000000000000".into(),
            ..me.clone()
        };
        assert!(!other_boot.exists().expect("can be asked"));
        let other_namespace = Identity {
            pid_namespace: me.pid_namespace + 1,
            ..me
        };
        assert!(!other_namespace.exists().expect("can be asked"));
    }
}
