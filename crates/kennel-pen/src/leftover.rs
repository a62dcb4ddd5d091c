//! Pens whose owner has died: they are found and ended by name.
//!
//! An owner locks its pen's folder as long as it lives, so a free lock proves that it is dead. Only
//! cgroup pens can be found this way: processes of a subtree pen were reparented to a subreaper.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_sys::fault::CallError;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::cgroup::{Cgroup, CgroupBase};
use crate::host_support::{HostSupport, cgroup_mount};
use crate::name::{HomeId, PenName};
use crate::pen::poll;

/// A pen whose owner has died. This process now holds its lock.
#[derive(Debug)]
pub struct Leftover {
    name: PenName,
    cgroup: Cgroup,
}

/// The result of ending a leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum LeftoverEnd {
    /// No process is in it, and it is removed. Processes that had left the cgroup are not counted:
    /// only their owner knew them.
    Removed,
    /// These processes are still in it.
    StillAlive(Vec<i32>),
}

/// The result of claiming a pen.
#[derive(Debug)]
#[must_use]
pub enum Claim {
    /// Its owner has died, and this process owns it now.
    Ours(Leftover),
    /// Another process owns it.
    Held,
    /// There is no such pen, which proves that no process is in it.
    Gone,
}

impl HostSupport {
    /// Returns the folders of all pens with this name in the hierarchy, those with a live owner
    /// included. There is at most one, unless a home was copied.
    pub fn find_pens(name: &PenName) -> Result<Vec<PathBuf>, CallError> {
        let all = Self::pens(&name.home)?.into_iter();
        Ok(all.filter(|(other, _)| other == name).map(|(_, path)| path).collect())
    }

    /// Returns the names and folders of all pens of this home, those with a live owner included.
    ///
    /// # Errors
    /// The folders could not be listed, so it is unknown which pens exist.
    pub fn pens(home: &HomeId) -> Result<Vec<(PenName, PathBuf)>, CallError> {
        let mut found = Vec::new();
        walk(home, |_, name, path| found.push((name, path)))?;
        Ok(found)
    }

    /// Returns the pens of this home whose owner has died, anywhere in the hierarchy: the owner may
    /// have been started in another login session.
    pub fn leftovers(home: &HomeId) -> Result<Vec<Leftover>, CallError> {
        let mut found = Vec::new();
        walk(home, |base, name, path| {
            // A pen with a live owner, or one that is already gone, is not a leftover.
            found.extend(claim(base, name, &path).ok().flatten());
        })?;
        Ok(found)
    }
}

/// Calls `visit` for each pen of this home with the folder above, its name and its own folder.
fn walk(home: &HomeId, mut visit: impl FnMut(&Path, PenName, PathBuf)) -> Result<(), CallError> {
    let Some(mount) = cgroup_mount() else { return Ok(()) };
    let mut pending = vec![mount.clone()];
    while let Some(folder) = pending.pop() {
        let listing = match std::fs::read_dir(&folder) {
            Ok(listing) => listing,
            Err(error) if folder == mount => {
                return Err(CallError::new("getdents", error).on(folder.display()));
            }
            Err(_) => continue, // already gone, or another user's
        };
        for entry in listing.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir())) {
            let path = entry.path();
            let name = entry.file_name().to_str().and_then(PenName::parse);
            match name.filter(|name| name.home == *home) {
                Some(name) => visit(&folder, name, path),
                None => pending.push(path),
            }
        }
    }
    Ok(())
}

fn claim(base: &Path, name: PenName, path: &Path) -> Result<Option<Leftover>, CallError> {
    let base = CgroupBase::open(base)?;
    Ok(Cgroup::claim(&base.fd, &name.to_string(), path)?.map(|cgroup| Leftover { name, cgroup }))
}

impl Leftover {
    /// Claims the pen in this folder, whose name must be `name`, if its owner has died.
    ///
    /// # Errors
    /// A call failed, so the state of the pen is unknown; or this is not the folder of that pen.
    pub fn claim_path(path: &Path, name: &PenName) -> Result<Claim, CallError> {
        let wrong = || CallError::new("open", Errno::INVAL).on(path.display());
        let base = path.parent().ok_or_else(wrong)?;
        if path.file_name().and_then(|last| last.to_str()) != Some(name.to_string().as_str()) {
            return Err(wrong());
        }
        let exists = || match rustix::fs::lstat(path) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(CallError::new("lstat", error).on(path.display())),
        };
        if !exists()? {
            return Ok(Claim::Gone);
        }
        match claim(base, name.clone(), path) {
            Ok(Some(leftover)) => Ok(Claim::Ours(leftover)),
            Ok(None) => Ok(if exists()? { Claim::Held } else { Claim::Gone }),
            // The folder above may be removed as well.
            Err(_) if !exists()? => Ok(Claim::Gone),
            Err(error) => Err(error),
        }
    }

    /// Returns the name of the pen.
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// Returns the folder of the pen.
    pub fn path(&self) -> PathBuf {
        self.cgroup.path().to_owned()
    }

    /// Returns the pids of its processes, for display.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        self.cgroup.pids()
    }

    /// Kills every process in it until it is empty, and removes it.
    ///
    /// # Errors
    /// A call failed. The pen is still there.
    pub fn end(&self, deadline: Instant) -> io::Result<LeftoverEnd> {
        const PAUSE: Duration = Duration::from_millis(10);
        let mut kill_rounds = 0_u32;
        loop {
            if self.cgroup.remove().map_err(io::Error::other)? {
                return Ok(LeftoverEnd::Removed);
            }
            self.cgroup.kill()?;
            if kill_rounds > 0 {
                self.cgroup.kill_each()?;
            }
            kill_rounds = kill_rounds.saturating_add(1);
            let now = Instant::now();
            if now >= deadline {
                return Ok(LeftoverEnd::StillAlive(self.cgroup.pids()?));
            }
            // Read first: the event stays set until then.
            let populated = self.cgroup.populated()?;
            let events = self.cgroup.events();
            let mut emptied =
                events.iter().map(|fd| PollFd::new(fd, PollFlags::PRI)).collect::<Vec<_>>();
            let fds = if populated { &mut emptied[..] } else { &mut [] };
            let _looked_at_again = poll(fds, Some(deadline.min(now + PAUSE)))?;
        }
    }
}
