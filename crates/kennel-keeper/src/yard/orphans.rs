//! Those who fell to the yard.
//!
//! They get a TERM first, and a moment to act on it: a git that is killed at once leaves its lock files, and nobody
//! would know that they are nobody's. The moment is one for all, from the first of them on, so that those who keep
//! coming can't draw it out.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::{EndOutcome, HomeId, OtherChildren, Pen, PenId, PenName, RemovalFailure};
use kennel_sys::reap::WaitStatus;
use rustix::process::Signal;

/// How long they may take to end after TERM.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// The length of one bout of killing, between which requests are heard.
const BOUT: Duration = Duration::from_millis(250);

/// The orphans, seen as a pen in which all children are but the daemon and the keepers.
pub(super) struct Orphans {
    pen: Pen,
    /// Whether all that we know of had their TERM.
    asked: bool,
}

/// What is left of them.
#[must_use]
pub(super) enum OrphansLeft {
    Nobody,
    /// They were asked to end, and may still do so.
    Asked,
    These(Vec<String>),
}

impl Orphans {
    /// Takes all children but these.
    pub(super) fn gather(home: &HomeId, known: &[i32]) -> io::Result<Self> {
        let session = PenId::parse("yard").map_err(io::Error::other)?;
        let name = PenName { home: home.clone(), session };
        // First of all: a pen that does not know them would strike at them when it is dropped.
        let known = OtherChildren::of(known.iter().copied())?;
        let pen = Pen::adopt_children(name, known).map_err(io::Error::other)?;
        Ok(Self { pen, asked: false })
    }

    /// There may be others, who were not asked to end.
    pub(super) fn look_again(&mut self) {
        self.asked = false;
    }

    /// A child that is none.
    pub(super) fn add_known(&mut self, pid: i32) -> io::Result<()> {
        self.pen.add_other(pid)
    }

    /// Ends them: asks them until this moment, which never blocks; then kills them, for a while.
    pub(super) fn end(&mut self, kill_at: Instant) -> io::Result<OrphansLeft> {
        if Instant::now() < kill_at {
            if !std::mem::replace(&mut self.asked, true) {
                self.pen.signal(Signal::TERM)?;
            }
            return if self.pen.is_empty()? { self.settle() } else { Ok(OrphansLeft::Asked) };
        }
        match self.pen.end(Instant::now() + BOUT)? {
            EndOutcome::Empty => self.settle(),
            EndOutcome::StillAlive(survivors) => {
                Ok(OrphansLeft::These(survivors.iter().map(ToString::to_string).collect()))
            }
        }
    }

    /// Over and done with: a pen that is dropped otherwise counts as abandoned, and the next one would begin by
    /// killing every child.
    fn settle(&mut self) -> io::Result<OrphansLeft> {
        match self.pen.try_remove() {
            Ok(()) => Ok(OrphansLeft::Nobody),
            Err(RemovalFailure::Occupied) => {
                Ok(OrphansLeft::These(vec!["one that fell to the yard just now".to_owned()]))
            }
            Err(RemovalFailure::Call(error)) => Err(io::Error::other(error)),
        }
    }

    /// The known ones that have ended meanwhile.
    pub(super) fn known_ended(&mut self) -> Vec<(i32, WaitStatus)> {
        self.pen.others_exited()
    }
}
