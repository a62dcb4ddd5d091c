//! What the daemon must do for a session.

use std::time::Duration;

use kennel_types::OwedKind;

/// Something to carry out. The result arrives as an [`crate::Event`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the session as it is now.
    Record {
        /// Whether it must be durable: then [`crate::Event::Recorded`] or
        /// [`crate::Event::RecordFailed`] follows. Otherwise it is written soon.
        durable: bool,
    },
    /// Create this resource, which is on record as owed. [`crate::Event::Made`] or
    /// [`crate::Event::MakeFailed`] follows, once nothing works on it any more.
    Make {
        what: OwedKind,
        /// Whether an earlier launch had it and may have left it in place: then it is reused.
        again: bool,
    },
    /// Make the yard start a keeper, which sends a hello and waits, possibly during the write.
    StartKeeper,
    /// Order the keeper to create pen and process.
    Go,
    /// Order the keeper to open the gate.
    Grant,
    /// Order the keeper, or the process that is about to become it, to launch nothing: it ends
    /// what it has created and reports that.
    Dismiss,
    /// Order the keeper to end everything. For an adopted process, which has no keeper: end that
    /// process and no other.
    Stop { grace: Duration },
    /// Watch for the sign that the session is ready, and for its timeout, counted from when the
    /// program began to run: [`crate::Event::BecameReady`] or [`crate::Event::ReadyOverdue`]
    /// follows. With [`kennel_types::Readiness::Report`], watch only for the timeout.
    AwaitReady,
    /// Stop watching for readiness.
    StopAwaiting,
    /// End the pen without the keeper, which is dead or is killed now.
    EndPen,
    /// Find out what became of a launch. For an adopted process: look for exactly that process and
    /// follow it while it exists; [`crate::Event::Gone`] follows when it has ended.
    Probe,
    /// Remove this resource, or what exists of it. Nothing to remove, or a resource of another
    /// owner, is not an error. If an earlier daemon left the launch, one of its processes may still
    /// be creating the resource. [`crate::Event::CleanedUp`], [`crate::Event::Kept`] or
    /// [`crate::Event::CleanUpFailed`] follows.
    CleanUp { what: OwedKind },
    /// The outcome is on record: the keeper may exit.
    Release,
    /// Send [`crate::Event::RetryDue`] after a while.
    RetryLater,
}
