//! A pen's cgroup: a folder of the cgroup v2 file system that holds the session's processes.
//!
//! The descriptors for ending a pen are reserved when it is created, so its owner can end it even
//! with no free descriptors. They are opened only when needed: a short pen never needs them. The
//! owner locks the folder (`flock`), so a free lock proves that the owner is dead.

use std::ffi::{CStr, CString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kennel_sys::fault::{CallError, call};
use kennel_sys::pidfd;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::limits::CgroupSetting;
use crate::name::PenName;

/// A cgroup folder in which pens can be created.
#[derive(Debug)]
pub struct CgroupBase {
    pub(crate) path: PathBuf,
    pub(crate) fd: Arc<OwnedFd>,
}

impl CgroupBase {
    pub(crate) fn open(path: &Path) -> Result<Self, CallError> {
        let fd = call("open", || rustix::fs::open(path, FOLDER, Mode::empty()))
            .map_err(|error| error.on(path.display()))?;
        Ok(Self { path: path.to_owned(), fd: Arc::new(fd) })
    }

    /// Removes a folder that nothing was ever launched into. A folder with a process in it stays.
    fn remove_unused(&self, name: &str) {
        let _best_effort = rustix::fs::unlinkat(&*self.fd, name, AtFlags::REMOVEDIR);
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How often to retry a name that a sweep has just claimed.
const TRIES: u32 = 1000;

#[derive(Debug)]
pub(crate) struct Cgroup {
    base: Arc<OwnedFd>,
    name: String,
    path: PathBuf,
    folder: OwnedFd,
    kill: Reserved,
    /// Has no reserve: an empty pen can also be proved by removing its folder.
    events: Reserved,
}

/// A file of the folder that is opened when needed, with a descriptor reserved for it. Opening it
/// early would cost a hundredth of a launch.
#[derive(Debug)]
struct Reserved {
    file: OnceLock<OwnedFd>,
    reserve: Mutex<Option<OwnedFd>>,
    name: &'static str,
    flags: OFlags,
}

impl Reserved {
    fn new(folder: &OwnedFd, name: &'static str, flags: OFlags) -> Result<Self, CallError> {
        let reserve = call("dup", || folder.try_clone())?;
        Ok(Self { reserve: Mutex::new(Some(reserve)), ..Self::unreserved(name, flags) })
    }

    fn unreserved(name: &'static str, flags: OFlags) -> Self {
        let flags = flags.union(OFlags::CLOEXEC);
        Self { file: OnceLock::new(), reserve: Mutex::new(None), name, flags }
    }

    fn open(&self, folder: &OwnedFd) -> io::Result<&OwnedFd> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        drop(self.reserve.lock().unwrap_or_else(PoisonError::into_inner).take());
        let file = rustix::fs::openat(folder, self.name, self.flags, Mode::empty())?;
        Ok(self.file.get_or_init(|| file))
    }
}

impl Cgroup {
    /// Creates the folder, takes its lock, and reserves the descriptors.
    pub(crate) fn create(base: &CgroupBase, name: &PenName) -> Result<Self, CallError> {
        let name = name.to_string();
        let path = base.path.join(&name);
        for _ in 0..TRIES {
            match call("mkdir", || rustix::fs::mkdirat(&*base.fd, name.as_str(), Mode::from(0o755)))
            {
                // No other pen has this name: a sweep has claimed the folder.
                Err(error) if error.errno() == Some(Errno::EXIST.raw_os_error()) => {
                    std::thread::yield_now();
                    continue;
                }
                made => made.map_err(|error| error.on(path.display()))?,
            }
            match Self::claim(&base.fd, &name, &path) {
                Ok(Some(cgroup)) => return Ok(cgroup),
                Ok(None) => {} // a sweep saw it between mkdir and lock, and took it for a leftover
                Err(error) => {
                    base.remove_unused(&name);
                    return Err(error);
                }
            }
        }
        // The process that holds the lock may release it without removing the folder.
        base.remove_unused(&name);
        Err(CallError::new("flock", Errno::BUSY).on(path.display()))
    }

    /// Opens and locks a folder. Returns `None` if it is locked already, or gone.
    pub(crate) fn claim(
        base: &Arc<OwnedFd>,
        name: &str,
        path: &Path,
    ) -> Result<Option<Self>, CallError> {
        let at = |error: CallError| error.on(path.display());
        let folder = match call("open", || rustix::fs::openat(&**base, name, FOLDER, Mode::empty()))
        {
            Err(error) if error.errno() == Some(Errno::NOENT.raw_os_error()) => return Ok(None),
            other => other.map_err(at)?,
        };
        match call("flock", || rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive))
        {
            Err(error) if error.errno() == Some(Errno::AGAIN.raw_os_error()) => return Ok(None),
            other => other.map_err(at)?,
        }
        // The folder may have been removed between open and lock.
        if was_removed(base, name, &folder) {
            return Ok(None);
        }
        let kill = Reserved::new(&folder, "cgroup.kill", OFlags::WRONLY).map_err(at)?;
        let events = Reserved::unreserved("cgroup.events", OFlags::RDONLY);
        let base = base.clone();
        Ok(Some(Self { base, name: name.to_owned(), path: path.to_owned(), folder, kill, events }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Opens the files that are needed to end the pen, for a pen that is going to last.
    pub(crate) fn open_all(&self) -> Result<(), CallError> {
        let open = |name, file: &Reserved| call(name, || file.open(&self.folder).map(drop));
        open("open cgroup.kill", &self.kill).map_err(|error| error.on(self.path.display()))?;
        open("open cgroup.events", &self.events).map_err(|error| error.on(self.path.display()))
    }

    /// Becomes ready (as an exception, `POLLPRI`) when [`Self::populated`] changes.
    pub(crate) fn events(&self) -> Option<BorrowedFd<'_>> {
        self.events.open(&self.folder).ok().map(AsFd::as_fd)
    }

    /// Kills every process in the folder and below. One write may miss a process that keeps forking
    /// and exiting: repeat it until [`Self::populated`] is false.
    pub(crate) fn kill(&self) -> io::Result<()> {
        match rustix::io::pwrite(self.kill.open(&self.folder)?, b"1", 0) {
            Ok(_) | Err(Errno::NODEV) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills the processes in the folder and below one by one. [`Self::kill`] signals only the
    /// first thread of a process, so it does not reach the others once that thread has ended.
    pub(crate) fn kill_each(&self) -> io::Result<()> {
        let open = |pid| pidfd::open(pid).map(|handle| handle.map(|handle| (pid, handle)));
        let handles = self.pids()?.into_iter().map(open).collect::<io::Result<Vec<_>>>()?;
        // A pid that is still listed was not reused while the pidfd was opened, or else the pidfd
        // is of a dead process, which the signal does not reach.
        let still_there = self.pids()?;
        for (pid, handle) in handles.into_iter().flatten() {
            if still_there.contains(&pid) {
                let _reported_if_it_survives = pidfd::send(handle, Signal::KILL)?;
            }
        }
        Ok(())
    }

    /// Returns whether a living process is in the folder or below.
    pub(crate) fn populated(&self) -> io::Result<bool> {
        let mut text = [0_u8; 64];
        match rustix::io::pread(self.events.open(&self.folder)?, &mut text, 0) {
            Ok(length) => {
                Ok(!text[..length].split(|byte| *byte == b'\n').any(|line| line == b"populated 0"))
            }
            Err(Errno::NODEV) => Ok(false), // the folder was removed
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the pids in the folder and below.
    pub(crate) fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        add_pids(&self.folder, &mut pids)?;
        walk_below(&self.folder, |folder| add_pids(folder, &mut pids), |_, _| Ok(()))?;
        Ok(pids)
    }

    /// Removes the folder and everything that the session nested in it, bottom-up. Returns whether
    /// it is gone, which proves that no process was in it; otherwise a process is in it.
    pub(crate) fn remove(&self) -> Result<bool, CallError> {
        let unlink = || rustix::fs::unlinkat(&*self.base, self.name.as_str(), AtFlags::REMOVEDIR);
        let mut removed = unlink();
        if removed == Err(Errno::BUSY) {
            remove_below(&self.folder)?;
            removed = unlink();
        }
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::BUSY) => Ok(false),
            Err(error) => Err(CallError::new("rmdir", error).on(self.path.display())),
        }
    }

    /// Returns the CPU time of all processes that were ever in it.
    pub(crate) fn cpu(&self) -> io::Result<Option<std::time::Duration>> {
        let text = read_at(&self.folder, "cpu.stat")?;
        let microseconds = text.and_then(|text| field(&text, "usage_usec"));
        Ok(microseconds.map(std::time::Duration::from_micros))
    }

    /// Returns the memory in use, if the memory controller is enabled.
    pub(crate) fn memory(&self) -> io::Result<Option<u64>> {
        Ok(read_at(&self.folder, "memory.current")?.and_then(|text| text.trim().parse().ok()))
    }

    /// Returns the number of OOM kills in it, if the memory controller is enabled.
    pub(crate) fn oom_kills(&self) -> io::Result<Option<u64>> {
        Ok(read_at(&self.folder, "memory.events")?.and_then(|text| field(&text, "oom_kill")))
    }

    pub(crate) fn set(&self, setting: &CgroupSetting) -> Result<(), CallError> {
        let CgroupSetting { file, text, may_be_missing, .. } = setting;
        let at = |error: CallError| error.on(self.path.join(file).display());
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let opened = call("open", || rustix::fs::openat(&self.folder, *file, flags, Mode::empty()));
        let fd = match opened {
            Err(error) if *may_be_missing && error.errno() == Some(Errno::NOENT.raw_os_error()) => {
                return Ok(());
            }
            other => other.map_err(at)?,
        };
        call("write", || rustix::io::write(&fd, text.as_bytes())).map(drop).map_err(at)
    }
}

/// Reads a file of a cgroup's folder. Returns `None` if there is no such file.
fn read_at(folder: &OwnedFd, file: &str) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let fd = match rustix::fs::openat(folder, file, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NODEV) => return Ok(None),
        other => other?,
    };
    io::read_to_string(std::fs::File::from(fd)).map(Some)
}

/// Returns whether this name no longer refers to this folder.
fn was_removed(base: &OwnedFd, name: &str, folder: &OwnedFd) -> bool {
    let there = rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW);
    match (there, rustix::fs::fstat(folder)) {
        (Ok(there), Ok(ours)) => there.st_ino != ours.st_ino,
        (there, _) => there.is_err(),
    }
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

fn subfolders(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let dots = matches!(entry.file_name().to_bytes(), b"." | b"..");
        if entry.file_type() == FileType::Directory && !dots {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Adds the pids in this one folder, without those below.
fn add_pids(folder: &OwnedFd, pids: &mut Vec<i32>) -> io::Result<()> {
    match read_at(folder, "cgroup.procs") {
        Ok(text) => pids.extend(
            text.iter().flat_map(|text| text.lines()).filter_map(|pid| pid.parse::<i32>().ok()),
        ),
        // A threaded cgroup: a cgroup above it, which is not threaded, lists its processes.
        Err(error) if is(&error, Errno::OPNOTSUPP) || is(&error, Errno::NODEV) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

pub(crate) fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Visits all folders below: `enter` on the way down, `leave` (with parent folder and name) on the
/// way up. An agent may nest thousands of them, so this uses two descriptors and no recursion.
fn walk_below(
    top: &OwnedFd,
    mut enter: impl FnMut(&OwnedFd) -> io::Result<()>,
    mut leave: impl FnMut(&OwnedFd, &CStr) -> io::Result<()>,
) -> io::Result<()> {
    let open =
        |folder: &OwnedFd, name: &CStr| rustix::fs::openat(folder, name, FOLDER, Mode::empty());
    let mut here = top.try_clone()?;
    // For each folder on the way down: its name, and its siblings that are still to be visited.
    let mut way: Vec<(CString, Vec<CString>)> = Vec::new();
    let mut names = subfolders(&here)?;
    loop {
        if let Some(name) = names.pop() {
            match open(&here, &name) {
                Err(Errno::NOENT) => {}
                below => {
                    here = below?;
                    enter(&here)?;
                    way.push((name, std::mem::replace(&mut names, subfolders(&here)?)));
                }
            }
        } else if let Some((name, neighbours)) = way.pop() {
            here = open(&here, c"..")?;
            leave(&here, &name)?;
            names = neighbours;
        } else {
            return Ok(());
        }
    }
}

/// Removes all folders below, the deepest first. A busy folder stays, and so do those above it.
fn remove_below(folder: &OwnedFd) -> Result<(), CallError> {
    let remove = |above: &OwnedFd, name: &CStr| match rustix::fs::unlinkat(
        above,
        name,
        AtFlags::REMOVEDIR,
    ) {
        Ok(()) | Err(Errno::NOENT | Errno::BUSY) => Ok(()),
        Err(error) => Err(error.into()),
    };
    walk_below(folder, |_| Ok(()), remove)
        .map_err(|error| CallError::new("rmdir", error).on("a nested cgroup"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::limits::PenLimits;

    /// Creates a folder that looks like a pen's, with these files.
    fn made(files: &[&str]) -> (tempfile::TempDir, Cgroup) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("pen");
        fs::create_dir(&path).unwrap();
        for file in files {
            fs::write(path.join(file), "").unwrap();
        }
        let base = CgroupBase::open(root.path()).unwrap();
        let cgroup = Cgroup::claim(&base.fd, "pen", &path).unwrap().unwrap();
        (root, cgroup)
    }

    #[test]
    fn each_limit_is_written_to_its_file_and_only_swap_may_be_missing() {
        let limits =
            PenLimits { memory: Some(7), pids: Some(8), cpu: Some(250), best_effort: false };
        let (_root, cgroup) = made(&["memory.max", "pids.max", "cpu.max"]);
        for setting in limits.settings() {
            cgroup.set(&setting).unwrap();
        }
        let text = |file| fs::read_to_string(cgroup.path().join(file)).unwrap();
        assert_eq!([text("memory.max"), text("pids.max")], ["7", "8"]);
        assert_eq!(text("cpu.max"), "25000 100000");
        assert!(!cgroup.path().join("memory.swap.max").exists(), "no file is created");

        let (_root, bare) = made(&[]);
        let failed = limits.settings().iter().filter_map(|s| bare.set(s).err()).collect::<Vec<_>>();
        assert_eq!(failed.len(), 3);
        assert!(failed[0].to_string().contains("pen/memory.max"), "{}", failed[0]);
    }

    /// A sweep holds the folder, and then finds that there is nothing to sweep.
    #[test]
    fn a_folder_that_another_process_has_locked_is_retried() {
        let root = tempfile::tempdir().unwrap();
        let name = PenName::random(crate::HomeId::random().unwrap()).unwrap();
        let path = root.path().join(name.to_string());
        fs::create_dir(&path).unwrap();
        let held = fs::File::open(&path).unwrap();
        rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let base = CgroupBase::open(root.path()).unwrap();
        let refused = Cgroup::create(&base, &name).unwrap_err();
        assert_eq!(refused.errno(), Some(Errno::BUSY.raw_os_error()));
        assert!(!path.exists());
    }
}
