//! Waits for conditions.

use std::thread;
use std::time::{Duration, Instant};

/// The time limit for a condition. A condition that takes longer, even on a busy machine with two
/// cores, will not hold.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Returns the time [`DEADLINE`] from now.
#[must_use]
pub fn soon() -> Instant {
    Instant::now() + DEADLINE
}

/// Polls until `condition` holds.
///
/// # Panics
/// If it does not hold in time.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let found = look_until(soon(), || condition().then_some(()));
    assert!(found.is_some(), "not true after {DEADLINE:?}: {what}");
}

/// Polls until `look` returns something; returns `None` if it has not by the deadline.
///
/// Polls less often if a poll takes long or the condition takes long to hold: a poll that starts a
/// program takes CPU time from the processes that the test waits for.
pub fn look_until<Seen>(deadline: Instant, mut look: impl FnMut() -> Option<Seen>) -> Option<Seen> {
    const SHORTEST: Duration = Duration::from_millis(3);
    const LONGEST: Duration = Duration::from_millis(250);
    let start = Instant::now();
    loop {
        let begun = Instant::now();
        let seen = look();
        if seen.is_some() || Instant::now() >= deadline {
            return seen;
        }
        thread::sleep(begun.elapsed().max(start.elapsed() / 10).clamp(SHORTEST, LONGEST));
    }
}
