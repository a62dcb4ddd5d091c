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
use crate::ground::Ground;
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
    /// The pens of this home, on this ground, whose owner has died.
    ///
    /// # Errors
    /// The listing failed, which says nothing about what is there.
    pub fn leftovers(&self, home: &HomeId) -> Result<Vec<Leftover>, CallError> {
        let Ok(base) = self.cgroup() else {
            return Ok(Vec::new());
        };
        let listing = std::fs::read_dir(base.path())
            .map_err(|error| CallError::new("getdents", error).on(base.path().display()))?;
        let mut found = Vec::new();
        for entry in listing {
            let entry = entry.map_err(|error| CallError::new("getdents", error))?;
            let Some(name) = entry.file_name().to_str().and_then(PenName::parse) else {
                continue;
            };
            if name.home == *home
                && let Some(cgroup) = claim(base, &name, &entry.path())?
            {
                found.push(Leftover { name, cgroup });
            }
        }
        Ok(found)
    }
}

fn claim(base: &CgroupBase, name: &PenName, path: &Path) -> Result<Option<Cgroup>, CallError> {
    Cgroup::claim(&base.fd, &name.to_string(), path)
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
            if self.cgroup.populated()? {
                let events = self.cgroup.events();
                let emptied = &mut [PollFd::new(&events, PollFlags::PRI)];
                let _looked_at_again = poll(emptied, Some(deadline.min(now + PAUSE)))?;
            }
        }
    }
}
