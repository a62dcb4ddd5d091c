//! What is to be done.

use std::time::Duration;

use crate::session::OwedKind;

/// To be carried out; the answer comes as an [`crate::Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the session as it is now.
    Record {
        /// Whether it must be durable: then [`crate::Event::Recorded`] or
        /// [`crate::Event::RecordFailed`] follows. Otherwise it is written sometime soon.
        durable: bool,
    },
    /// Have the yard start a keeper, which greets and waits. It may be done while the row is written.
    StartKeeper,
    /// Tell the keeper to make pen and process.
    Go,
    /// Tell the keeper to open the gate.
    Grant,
    /// Tell the keeper, or whoever is about to become it, that nothing shall be launched: it ends what it
    /// has made and says so.
    Dismiss,
    /// Tell the keeper to end everything.
    Stop {
        /// KILL follows TERM after this long.
        grace: Duration,
    },
    /// End the pen without the keeper: it is dead, or gets killed now.
    EndPen,
    /// Find out what became of a launch.
    Probe,
    /// Remove this.
    CleanUp {
        /// What.
        what: OwedKind,
    },
    /// The outcome is on record: the keeper may go.
    Release,
    /// Come back with [`crate::Event::RetryDue`] after a while.
    RetryLater,
}
