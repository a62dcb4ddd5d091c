//! Waiting for what must come true.

use std::thread;
use std::time::{Duration, Instant};

/// What takes longer than this on a busy machine with two cores will not happen.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// [`DEADLINE`] from now.
#[must_use]
pub fn soon() -> Instant {
    Instant::now() + DEADLINE
}

/// Polls until `condition` holds.
///
/// # Panics
/// If it does not come true in time.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    const POLL_INTERVAL: Duration = Duration::from_millis(3);
    let deadline = soon();
    while !condition() {
        assert!(Instant::now() < deadline, "did not come true in {DEADLINE:?}: {what}");
        thread::sleep(POLL_INTERVAL);
    }
}
