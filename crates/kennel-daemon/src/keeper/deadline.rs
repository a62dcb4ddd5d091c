//! The deadlines of keepers.

use std::time::Duration;

/// Something that a keeper must do in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    Ready,
    Born,
    Opened,
    Ending,
    Dismissed,
    Finished,
    Answer,
    Departed,
}

impl Deadline {
    pub(crate) fn timeout(self) -> Duration {
        Duration::from_secs(self.describe().0)
    }

    /// Whether a keeper that is silent for half of the time gets SIGCONT, in case it was stopped.
    pub(crate) fn wakes(self) -> bool {
        !matches!(self, Self::Finished)
    }

    pub(crate) fn missing(self) -> &'static str {
        self.describe().1
    }

    /// Returns how many seconds it may take, and what is missing after that, for the log.
    fn describe(self) -> (u64, &'static str) {
        match self {
            Self::Ready => (10, "its keeper did not connect in time"),
            Self::Born => (30, "its keeper did not create the process in time"),
            Self::Opened => (60, "its keeper did not start the program in time"),
            Self::Ending => (5, "its keeper did not confirm a stop"),
            Self::Dismissed => (10, "its keeper did not confirm that the launch is cancelled"),
            Self::Finished => (10, "its keeper did not end it in time"),
            Self::Answer => (5, "its keeper does not answer"),
            Self::Departed => (5, "its keeper did not exit when it was released"),
        }
    }
}
