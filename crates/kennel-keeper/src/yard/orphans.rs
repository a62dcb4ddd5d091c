//! Orphans: processes that were reparented to the yard.
//!
//! They get TERM first, and a grace: a `git` that is killed at once leaves its lock files behind.
//! The grace begins with the first orphan and is the same for all, so new orphans can't prolong it.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::{EndOutcome, HomeId, OtherChildren, Pen, PenId, PenName, RemovalFailure};
use kennel_sys::reap::WaitStatus;
use rustix::process::Signal;

/// The time between TERM and KILL.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// The length of one round of killing. Requests are served between two rounds.
const KILL_ROUND: Duration = Duration::from_millis(250);

/// The orphans, as a pen that has all children except the daemon and the keepers.
pub(super) struct Orphans {
    pen: Pen,
    /// Whether all known orphans have received TERM.
    terminated: bool,
}

#[must_use]
pub(super) enum OrphansLeft {
    None,
    /// They have received TERM and may still exit.
    Terminating,
    /// Descriptions of those that could not be killed so far.
    Alive(Vec<String>),
}

impl Orphans {
    /// Takes all children except the known ones.
    pub(super) fn gather(home: &HomeId, known: &[i32]) -> io::Result<Self> {
        let session = PenId::parse("yard").map_err(io::Error::other)?;
        let name = PenName { home: home.clone(), session };
        // First: a pen that does not know them would kill them when it is dropped.
        let known = OtherChildren::of(known.iter().copied())?;
        let pen = Pen::adopt_children(name, known).map_err(io::Error::other)?;
        Ok(Self { pen, terminated: false })
    }

    /// Notes that there may be further orphans, which have not received TERM.
    pub(super) fn look_again(&mut self) {
        self.terminated = false;
    }

    pub(super) fn add_known(&mut self, pid: i32) -> io::Result<()> {
        self.pen.add_other(pid)
    }

    /// Sends TERM before `kill_at`, without waiting. After that, kills them for one round.
    pub(super) fn end(&mut self, kill_at: Instant) -> io::Result<OrphansLeft> {
        if Instant::now() < kill_at {
            if !std::mem::replace(&mut self.terminated, true) {
                self.pen.signal(Signal::TERM)?;
            }
            return if self.pen.is_empty()? { self.finish() } else { Ok(OrphansLeft::Terminating) };
        }
        match self.pen.end(Instant::now() + KILL_ROUND)? {
            EndOutcome::Empty => self.finish(),
            EndOutcome::StillAlive(survivors) => {
                Ok(OrphansLeft::Alive(survivors.iter().map(ToString::to_string).collect()))
            }
        }
    }

    /// Removes the empty pen. A pen that is dropped without that counts as abandoned, and the next
    /// one would begin by killing every child.
    fn finish(&mut self) -> io::Result<OrphansLeft> {
        match self.pen.try_remove() {
            Ok(()) => Ok(OrphansLeft::None),
            Err(RemovalFailure::Occupied) => {
                Ok(OrphansLeft::Alive(vec!["a process that was just reparented".to_owned()]))
            }
            Err(RemovalFailure::Call(error)) => Err(io::Error::other(error)),
        }
    }

    pub(super) fn known_ended(&mut self) -> Vec<(i32, WaitStatus)> {
        self.pen.others_exited()
    }
}
