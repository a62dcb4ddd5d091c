//! What must come in time from a keeper.

use std::time::Duration;

/// Something that a keeper owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// Its greeting.
    Ready,
    /// The process, after it was told to go.
    Born,
    /// The program, after the grant.
    Opened,
    /// Its word that a stop is under way.
    Ending,
    /// Its word that nothing was launched.
    Dismissed,
    /// The end, after the grace.
    Finished,
    /// An answer to the question how things are.
    Answer,
    /// Its own end, after it was released.
    Departed,
}

impl Deadline {
    /// How long it may take.
    pub(crate) fn patience(self) -> Duration {
        Duration::from_secs(match self {
            Self::Ready | Self::Dismissed | Self::Finished => 10,
            Self::Born => 30,
            Self::Opened => 60,
            Self::Ending | Self::Answer | Self::Departed => 5,
        })
    }

    /// Whether a keeper that is silent half the time is told to go on, in case it was stopped.
    pub(crate) fn wakes(self) -> bool {
        !matches!(self, Self::Finished)
    }

    /// What is missing, for people to read.
    pub(crate) fn missing(self) -> &'static str {
        match self {
            Self::Ready => "its keeper did not greet in time",
            Self::Born => "its keeper did not make the process in time",
            Self::Opened => "its keeper did not start the program in time",
            Self::Ending => "its keeper did not answer to a stop",
            Self::Dismissed => "its keeper did not answer when the launch was called off",
            Self::Finished => "its keeper has not ended it in time",
            Self::Answer => "its keeper does not answer",
            Self::Departed => "its keeper did not leave when it was released",
        }
    }
}
