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
    let found = look_until(soon(), || condition().then_some(()));
    assert!(found.is_some(), "did not come true in {DEADLINE:?}: {what}");
}

/// Looks until there is something to be seen; none if there is nothing by then.
///
/// Between two looks it rests as long as a look takes: one that starts a program costs a core, which those need who are
/// waited for.
pub fn look_until<Seen>(deadline: Instant, mut look: impl FnMut() -> Option<Seen>) -> Option<Seen> {
    const SHORTEST: Duration = Duration::from_millis(3);
    const LONGEST: Duration = Duration::from_millis(50);
    loop {
        let begun = Instant::now();
        let seen = look();
        if seen.is_some() || Instant::now() >= deadline {
            return seen;
        }
        thread::sleep(begun.elapsed().clamp(SHORTEST, LONGEST));
    }
}
