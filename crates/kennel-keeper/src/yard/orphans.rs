//! Those who fell to the yard.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::{End, HomeId, NotRemoved, Pen, PenName, SessionId, Strangers};
use kennel_sys::reap::Ended;

/// The length of one bout of killing, between which requests are heard.
const BOUT: Duration = Duration::from_millis(250);

/// The orphans, seen as a pen in which all children are but the daemon and the keepers.
pub(super) struct Orphans(Pen);

/// What is left of them.
pub(super) enum Left {
    Nobody,
    These(Vec<String>),
}

impl Orphans {
    /// Takes all children but these.
    pub(super) fn gather(home: &HomeId, known: &[i32]) -> io::Result<Self> {
        let session = SessionId::parse("yard").map_err(io::Error::other)?;
        let name = PenName { home: home.clone(), session };
        // First of all: a pen that does not know them would strike at them when it is dropped.
        let known = Strangers::of(known.iter().copied())?;
        let pen = Pen::take_over(name, None, None, known).map_err(io::Error::other)?;
        Ok(Self(pen))
    }

    /// A child that is none.
    pub(super) fn add_known(&mut self, pid: i32) -> io::Result<()> {
        self.0.add_stranger(pid)
    }

    /// Ends them, for a while.
    pub(super) fn end(&mut self) -> io::Result<Left> {
        match self.0.end(Instant::now() + BOUT)? {
            End::Empty => self.settle(),
            End::StillAlive(survivors) => {
                Ok(Left::These(survivors.iter().map(ToString::to_string).collect()))
            }
        }
    }

    /// Over and done with: a pen that is dropped otherwise counts as abandoned, and the next one would begin by
    /// killing every child.
    fn settle(&mut self) -> io::Result<Left> {
        match self.0.try_remove() {
            Ok(()) => Ok(Left::Nobody),
            Err(NotRemoved::Occupied) => {
                Ok(Left::These(vec!["one that fell to the yard just now".to_owned()]))
            }
            Err(NotRemoved::Call(error)) => Err(io::Error::other(error)),
        }
    }

    /// The known ones that have ended meanwhile.
    pub(super) fn known_ended(&mut self) -> Vec<(i32, Ended)> {
        self.0.strangers_ended()
    }
}
