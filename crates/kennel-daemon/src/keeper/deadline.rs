//! The deadlines of keepers.

use std::time::Duration;

/// Something that a keeper must do in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// Its greeting.
    Ready,
    /// The process, after the request to make it.
    Born,
    /// The program, after the grant.
    Opened,
    /// The confirmation of a stop.
    Ending,
    /// The confirmation that nothing was launched.
    Dismissed,
    /// The end, after the grace.
    Finished,
    /// An answer to a request for its state.
    Answer,
    /// Its own end, after it was released.
    Departed,
}

impl Deadline {
    /// Returns how long it may take.
    pub(crate) fn patience(self) -> Duration {
        Duration::from_secs(match self {
            Self::Ready | Self::Dismissed | Self::Finished => 10,
            Self::Born => 30,
            Self::Opened => 60,
            Self::Ending | Self::Answer | Self::Departed => 5,
        })
    }

    /// Whether a keeper that is silent for half of the time gets SIGCONT, in case it was stopped.
    pub(crate) fn wakes(self) -> bool {
        !matches!(self, Self::Finished)
    }

    /// Returns what is missing, for the log.
    pub(crate) fn missing(self) -> &'static str {
        match self {
            Self::Ready => "its keeper did not connect in time",
            Self::Born => "its keeper did not create the process in time",
            Self::Opened => "its keeper did not start the program in time",
            Self::Ending => "its keeper did not confirm a stop",
            Self::Dismissed => "its keeper did not confirm that the launch is cancelled",
            Self::Finished => "its keeper did not end it in time",
            Self::Answer => "its keeper does not answer",
            Self::Departed => "its keeper did not leave when it was released",
        }
    }
}
