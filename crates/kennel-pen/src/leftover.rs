//! Pens whose owner has died: found and ended by name.
//!
//! An owner holds the lock of its pen's folder as long as it lives, so a free lock proves a dead owner.
//! Only cgroup pens can be found this way; who was in a subtree pen fell to the next subreaper above.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_sys::fault::CallError;
use rustix::event::{PollFd, PollFlags};

use crate::cgroup::{Cgroup, CgroupBase, Removed};
use crate::ground::{Ground, cgroup_mount};
use crate::name::{HomeId, PenName};
use crate::pen::poll;

/// A pen whose owner has died. Its lock is ours now.
#[derive(Debug)]
pub struct Leftover {
    name: PenName,
    cgroup: Cgroup,
}

/// What came of ending a leftover.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum LeftoverEnd {
    /// Nobody was or is in it, and it is removed. Processes that had left the cgroup are not counted:
    /// only their owner could have known them.
    Removed,
    /// These are still in it.
    StillAlive(Vec<i32>),
}

impl Ground {
    /// The pens of this home whose owner has died: everywhere in the hierarchy, since the owner may have
    /// been started from another login.
    ///
    /// # Errors
    /// The listing failed, which says nothing about what is there.
    pub fn leftovers(home: &HomeId) -> Result<Vec<Leftover>, CallError> {
        let Some(mount) = cgroup_mount() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut pending = vec![mount.clone()];
        while let Some(folder) = pending.pop() {
            let listing = match std::fs::read_dir(&folder) {
                Ok(listing) => listing,
                Err(error) if folder == mount => {
                    return Err(CallError::new("getdents", error).on(folder.display()));
                }
                Err(_) => continue, // gone meanwhile, or another user's
            };
            for entry in
                listing.flatten().filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()))
            {
                let path = entry.path();
                let name = entry.file_name().to_str().and_then(PenName::parse);
                let ours = name.filter(|name| name.home == *home);
                match ours.map(|name| claim(&folder, name, &path)) {
                    Some(Ok(Some(leftover))) => found.push(leftover),
                    Some(_) => {} // a live one, or gone meanwhile
                    None => pending.push(path),
                }
            }
        }
        Ok(found)
    }
}

fn claim(base: &Path, name: PenName, path: &Path) -> Result<Option<Leftover>, CallError> {
    let base = CgroupBase::open(base)?;
    Ok(Cgroup::claim(&base.fd, &name.to_string(), path)?.map(|cgroup| Leftover { name, cgroup }))
}

impl Leftover {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &PenName {
        &self.name
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.cgroup.path().to_owned()
    }

    /// Kills everyone in it until nobody is left, and removes it.
    ///
    /// # Errors
    /// A call failed; what was there is still there.
    pub fn end(&self, deadline: Instant) -> io::Result<LeftoverEnd> {
        const PAUSE: Duration = Duration::from_millis(10);
        loop {
            if let Removed::Yes = self.cgroup.remove().map_err(io::Error::other)? {
                return Ok(LeftoverEnd::Removed);
            }
            self.cgroup.kill()?;
            let now = Instant::now();
            if now >= deadline {
                return Ok(LeftoverEnd::StillAlive(self.cgroup.pids()?));
            }
            // Read first: the event is one until it was read.
            let populated = self.cgroup.populated()?;
            let events = self.cgroup.events();
            let mut emptied =
                events.iter().map(|fd| PollFd::new(fd, PollFlags::PRI)).collect::<Vec<_>>();
            let fds = if populated { &mut emptied[..] } else { &mut [] };
            let _looked_at_again = poll(fds, Some(deadline.min(now + PAUSE)))?;
        }
    }
}
