//! Wall-clock time: milliseconds since 1970 inside, RFC 3339 in UTC outside.
//!
//! For people and records only. No decision depends on it, because it may jump.

use std::time::{SystemTime, UNIX_EPOCH};

use kennel_keeper::fault::leap;
pub use kennel_types::timestamp::{ParseTimeError, parse_rfc3339, rfc3339};

/// Returns the milliseconds since 1970; 0 if the clock is before that.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + leap();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Advances the timers of this runtime when a test moves the clock forward.
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
                // Only a paused clock can be advanced.
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
