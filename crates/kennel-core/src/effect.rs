//! What is to be done.

use std::time::Duration;

use kennel_types::OwedKind;

/// To be carried out; the answer comes as an [`crate::Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the session as it is now.
    Record {
        /// Whether it must be durable: then [`crate::Event::Recorded`] or
        /// [`crate::Event::RecordFailed`] follows. Otherwise it is written sometime soon.
        durable: bool,
    },
    /// Make this, which is on record as owed. [`crate::Event::Made`] or [`crate::Event::MakeFailed`] follows, and
    /// not before nobody makes it any more.
    Make {
        /// What.
        what: OwedKind,
        /// Whether a former launch had it too, and may have left it there: then it is taken as it is.
        again: bool,
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
    /// Tell the keeper to end everything. If a user started it, and there is none: end that process, and no other.
    Stop {
        /// KILL follows TERM after this long.
        grace: Duration,
    },
    /// Look for the sign that it is up, and mind the time, from when the program began to run: [`crate::Event::BecameReady`] or
    /// [`crate::Event::ReadyOverdue`] follows. If [`kennel_types::Readiness::Report`] was asked for, only the time.
    AwaitReady,
    /// Nobody needs that any more.
    StopAwaiting,
    /// End the pen without the keeper: it is dead, or gets killed now.
    EndPen,
    /// Find out what became of a launch. If a user started it: look for that very process; while it is there,
    /// follow it ([`crate::Event::Gone`] when it has ended).
    Probe,
    /// Remove this, or what there is of it; it is fine if nothing is, or if what is there is somebody else's. Of a
    /// launch that a former daemon left, a process of that daemon may still be making it. [`crate::Event::CleanedUp`],
    /// [`crate::Event::Kept`] or [`crate::Event::CleanUpFailed`] follows.
    CleanUp {
        /// What.
        what: OwedKind,
    },
    /// The outcome is on record: the keeper may go.
    Release,
    /// Come back with [`crate::Event::RetryDue`] after a while.
    RetryLater,
}
