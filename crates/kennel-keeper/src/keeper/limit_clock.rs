//! The time limits of a launch, by the clock of this machine.
//!
//! [`Instant`] is `CLOCK_MONOTONIC` on Linux: it stands still while the machine is suspended, so time asleep counts
//! for no limit. (`CLOCK_BOOTTIME` would be the one that goes on.)

use std::time::{Duration, Instant};

use kennel_pen::ActivitySample;

use super::activity::{ActivityLimits, ActivityMonitor, ActivityReading, TimeLimit, TimeVerdict};
use crate::protocol::{Cause, LaunchOrder};

/// The clock, the last signs of life, and the limits.
#[derive(Debug)]
pub(super) struct LimitClock {
    opened: Instant,
    output: Instant,
    input: Instant,
    activity: ActivityMonitor,
}

impl LimitClock {
    /// For a launch whose gate was opened then. The signs of life are asked for only if they are needed.
    pub(super) fn new(
        order: &LaunchOrder,
        opened: Instant,
        pulse: impl FnOnce() -> Option<ActivitySample>,
    ) -> Self {
        let on = |limit: Option<Duration>| limit.filter(|limit| !limit.is_zero());
        let limits = ActivityLimits {
            timeout: on(order.timeout),
            idle: on(order.idle),
            silence: on(order.silence),
        };
        let pulse = limits.idle.and_then(|_| pulse());
        let activity = ActivityMonitor::new(limits, opened.elapsed(), pulse);
        Self { opened, output: opened, input: opened, activity }
    }

    /// Output came.
    pub(super) fn output(&mut self) {
        self.output = Instant::now();
    }

    /// Input or a report came.
    pub(super) fn input(&mut self) {
        self.input = Instant::now();
    }

    /// When to look; never, if there is no limit.
    pub(super) fn due(&self) -> Option<Instant> {
        self.opened.checked_add(self.activity.due()?)
    }

    /// Looks at how things are.
    pub(super) fn look(&mut self, pulse: impl FnOnce() -> Option<ActivitySample>) -> TimeVerdict {
        let pulse = if self.activity.wants_pulse() { pulse() } else { None };
        let since = |at: Instant| at.saturating_duration_since(self.opened);
        let seen = ActivityReading {
            now: since(Instant::now()),
            output: since(self.output),
            input: since(self.input),
            pulse,
        };
        self.activity.judge(seen)
    }
}

impl From<TimeLimit> for Cause {
    fn from(limit: TimeLimit) -> Self {
        match limit {
            TimeLimit::Timeout => Self::TimedOut,
            TimeLimit::Idle => Self::Idle,
            TimeLimit::Silence => Self::Silent,
        }
    }
}
