//! The time of a plan: counted while the machine is awake and a daemon runs, as a keeper counts
//! that of a session.
//!
//! The time spent is recorded with every change of the plan, and at intervals: a daemon that is
//! killed loses no more than the time since the last record.

use std::time::{Duration, Instant};

/// How often the time spent is recorded within the limit …
const RECORDS_PER_LIMIT: u32 = 8;
/// … but no more often than this …
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// … and no less often than this.
const MAX_INTERVAL: Duration = Duration::from_secs(30);

/// Counts the time that a plan spends. The clock is `CLOCK_MONOTONIC`, which stops while the
/// machine sleeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanTime {
    before: Duration,
    since: Instant,
}

impl PlanTime {
    /// Continues from what was spent before.
    pub(super) fn from_record(spent_ms: u64, now: Instant) -> Self {
        Self { before: Duration::from_millis(spent_ms), since: now }
    }

    fn spent(&self, now: Instant) -> Duration {
        self.before.saturating_add(now.saturating_duration_since(self.since))
    }

    pub(super) fn spent_ms(&self, now: Instant) -> u64 {
        u64::try_from(self.spent(now).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the pause before the next check; none if the time is over.
    pub(super) fn next_check(&self, limit: Duration, now: Instant) -> Option<Duration> {
        let left = limit.checked_sub(self.spent(now)).filter(|left| !left.is_zero())?;
        Some(left.min((limit / RECORDS_PER_LIMIT).clamp(MIN_INTERVAL, MAX_INTERVAL)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(80);

    #[test]
    fn a_later_daemon_continues_from_the_recorded_time() {
        let begun = Instant::now();
        let first = PlanTime::from_record(0, begun);
        let noted = first.spent_ms(begun + Duration::from_secs(30));
        // Hours later: no daemon has counted them.
        let again = begun + Duration::from_secs(10_000);
        let second = PlanTime::from_record(noted, again);
        assert_eq!(second.spent_ms(again), 30_000);
        assert_eq!(second.spent_ms(again + Duration::from_secs(7)), 37_000);
        assert_eq!(second.next_check(LIMIT, again + Duration::from_secs(49)), Some(secs(1)));
        assert_eq!(second.next_check(LIMIT, again + Duration::from_secs(50)), None, "it is over");
    }

    #[test]
    fn time_is_recorded_at_intervals_and_never_later_than_the_end() {
        let now = Instant::now();
        let meter = PlanTime::from_record(0, now);
        assert_eq!(meter.next_check(LIMIT, now), Some(secs(10)));
        assert_eq!(meter.next_check(secs(2), now), Some(MIN_INTERVAL));
        assert_eq!(meter.next_check(secs(100_000), now), Some(MAX_INTERVAL));
        let short = Duration::from_millis(300);
        assert_eq!(meter.next_check(short, now), Some(short));
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }
}
