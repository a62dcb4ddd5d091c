//! The time limits of a launch, measured by the machine's clock.
//!
//! [`Instant`] is `CLOCK_MONOTONIC` on Linux. It stands still while the machine is suspended, so
//! that this time counts for no limit. (`CLOCK_BOOTTIME` would include it.)

use std::time::{Duration, Instant};

use kennel_pen::ActivitySample;

use super::activity::{ActivityLimits, ActivityMonitor, ActivityReading};
use crate::protocol::{Cause, LaunchOrder};

#[derive(Debug)]
pub(super) struct LimitClock {
    opened: Instant,
    output: Instant,
    input: Instant,
    activity: ActivityMonitor,
}

impl LimitClock {
    /// The activity is sampled only if a limit needs it.
    pub(super) fn new(
        order: &LaunchOrder,
        opened: Instant,
        sample: impl FnOnce() -> Option<ActivitySample>,
    ) -> Self {
        let on = |limit: Option<Duration>| limit.filter(|limit| !limit.is_zero());
        let limits = ActivityLimits {
            timeout: on(order.timeout),
            idle: on(order.idle),
            silence: on(order.silence),
        };
        let sample = limits.idle.and_then(|_| sample());
        let activity = ActivityMonitor::new(limits, opened.elapsed(), sample);
        Self { opened, output: opened, input: opened, activity }
    }

    pub(super) fn output(&mut self) {
        self.output = Instant::now();
    }

    /// Notes input or a report.
    pub(super) fn input(&mut self) {
        self.input = Instant::now();
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.opened.checked_add(self.activity.due()?)
    }

    /// Returns the limit that is over, if any.
    pub(super) fn check(
        &mut self,
        sample: impl FnOnce() -> Option<ActivitySample>,
    ) -> Option<Cause> {
        let sample = if self.activity.needs_activity() { sample() } else { None };
        let since = |at: Instant| at.saturating_duration_since(self.opened);
        let seen = ActivityReading {
            now: since(Instant::now()),
            output: since(self.output),
            input: since(self.input),
            sample,
        };
        self.activity.judge(seen)
    }
}
