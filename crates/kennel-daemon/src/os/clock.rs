//! Wall-clock time: milliseconds since 1970 inside, RFC 3339 in UTC for everybody else.
//!
//! For people and for records only. Nothing is decided by it: it may jump.

use std::time::{SystemTime, UNIX_EPOCH};

use kennel_keeper::fault::leap;
pub use kennel_types::timestamp::{ParseTimeError, parse_rfc3339, rfc3339};

/// Milliseconds since 1970, now. 0 if the clock stands before that.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + leap();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Has the timers of this runtime follow when a test moves the clock forward, from where it stands now.
#[cfg(feature = "faults")]
pub(crate) fn follow_leaps() {
    use std::time::Duration;

    const LOOK_AGAIN: Duration = Duration::from_millis(10);
    let mut followed = leap();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let further = leap().saturating_sub(followed);
            if !further.is_zero() {
                followed += further;
                // Only a clock that stands still can be moved.
                tokio::time::pause();
                tokio::time::advance(further).await;
                tokio::time::resume();
            }
        }
    });
}

/// Only tests move clocks.
#[cfg(not(feature = "faults"))]
pub(crate) fn follow_leaps() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_is_after_this_was_written() {
        assert!(now_ms() > 1_767_225_600_000);
    }
}
