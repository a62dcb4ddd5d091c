//! The decisions on the time limits of a launch, without a clock or I/O.
//!
//! ```text
//! last activity                                            limit − close       limit
//!      ├────────┬────────┬────────┬────────┬────────┬────────────┬───────────────┤
//!               check    check    check    check    check     check         last check: over
//! ```
//! Time counts from the open gate while the machine is awake, and the caller passes it in. The
//! times of output and input are exact. CPU use and new processes are noticed only by a check, and
//! count as of that check: a limit may end a launch a little late, but never early. The CPU time
//! between two checks, in a window, is compared with what an agent uses at rest. The last window is
//! short, so that work that has just begun is noticed.

use std::time::Duration;

use kennel_pen::ActivitySample;

use crate::protocol::Cause;

/// The number of windows in the idle limit. One more check follows at its end.
const WINDOWS: u32 = 6;
const SHORTEST_WINDOW: Duration = Duration::from_millis(1);
/// The length of the last window, unless the others are even shorter.
const CLOSE: Duration = Duration::from_secs(1);
/// The CPU use of an agent at rest: timers, garbage collection and keep-alives of a runtime like
/// Node take about a hundredth of a core. Work takes more than this, even if it waits for a disk.
const REST_PERCENT: u32 = 3;
/// Less CPU time than this counts as rest: the kernel counts it in ticks of 10 ms.
const NOISE: Duration = Duration::from_millis(20);
/// A check that is later than this means that the keeper did not run (it was stopped, or the
/// machine was), and probably neither did the agent. Then idle and silence start over.
const LATE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ActivityLimits {
    pub(super) timeout: Option<Duration>,
    /// How long the launch may show no activity at all.
    pub(super) idle: Option<Duration>,
    /// How long the launch may print nothing.
    pub(super) silence: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ActivityReading {
    pub(super) now: Duration,
    /// The time of the last output, or zero.
    pub(super) output: Duration,
    /// The time of the last input or report, or zero.
    pub(super) input: Duration,
    /// The activity of the pen, if it could be read.
    pub(super) sample: Option<ActivitySample>,
}

/// A period for which CPU time is counted.
#[derive(Debug, Clone, Copy)]
struct CpuWindow {
    since: Duration,
    until: Duration,
    /// The sample at its beginning, if it could be read.
    sample: Option<ActivitySample>,
    is_last: bool,
}

#[derive(Debug)]
pub(super) struct ActivityMonitor {
    limits: ActivityLimits,
    window: CpuWindow,
    /// When a check last noticed CPU use or a new process.
    active: Duration,
    /// Idle and silence count from this time at the earliest.
    restarted: Duration,
    due: Option<Duration>,
}

impl ActivityMonitor {
    /// `now` and the sample are taken shortly after the gate was opened, from which time counts.
    pub(super) fn new(
        limits: ActivityLimits,
        now: Duration,
        sample: Option<ActivitySample>,
    ) -> Self {
        let window = CpuWindow { since: now, until: now, sample, is_last: false };
        let zero = Duration::ZERO;
        let mut activity = Self { limits, window, active: zero, restarted: zero, due: None };
        (activity.window.until, activity.window.is_last) = activity.end_of_window(now, zero);
        activity.due = activity.next(zero);
        activity
    }

    /// Returns when to check next; never, if there is no limit.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Returns whether a check needs a sample.
    pub(super) fn needs_activity(&self) -> bool {
        self.limits.idle.is_some()
    }

    /// Returns the limit that is over, if any. Additional checks do no harm.
    pub(super) fn judge(&mut self, seen: ActivityReading) -> Option<Cause> {
        let ActivityReading { now, output, input, .. } = seen;
        if self.due.is_some_and(|due| now > due.saturating_add(LATE)) {
            self.restarted = now;
        }
        if self.limits.timeout.is_some_and(|limit| now >= limit) {
            return Some(Cause::TimedOut);
        }
        let silent_since = output.max(self.restarted);
        if is_over(self.limits.silence, silent_since, now) {
            return Some(Cause::Silent);
        }
        let closed = self.check_window(seen);
        let idle_since = output.max(input).max(self.active).max(self.restarted);
        if closed == WindowState::LastClosed && is_over(self.limits.idle, idle_since, now) {
            return Some(Cause::Idle);
        }
        if closed != WindowState::Open {
            let (until, is_last) = self.end_of_window(now, idle_since);
            self.window = CpuWindow { since: now, until, sample: seen.sample, is_last };
        }
        self.due = self.next(silent_since);
        None
    }

    /// Compares the activity in the window with that of an agent at rest.
    fn check_window(&mut self, seen: ActivityReading) -> WindowState {
        let window = self.window;
        let is_busy = match (window.sample, seen.sample) {
            (Some(before), Some(after)) => {
                let length = seen.now.max(window.until).saturating_sub(window.since);
                before.generation != after.generation
                    // On a machine that is too busy, work gets hardly more CPU than rest does. Two
                    // samples in a row are no accident.
                    || (before.works && after.works)
                    || after.cpu.saturating_sub(before.cpu) > at_rest(length)
            }
            // Without a sample the launch is not known to be idle.
            _ => true,
        };
        if is_busy {
            self.active = seen.now;
            return WindowState::Closed;
        }
        match seen.now >= window.until {
            true if window.is_last => WindowState::LastClosed,
            true => WindowState::Closed,
            false => WindowState::Open,
        }
    }

    /// Returns the end of a window that begins now, and whether it is the last one.
    fn end_of_window(&self, now: Duration, idle_since: Duration) -> (Duration, bool) {
        let Some(limit) = self.limits.idle else { return (Duration::MAX, false) };
        let length = (limit / WINDOWS).max(SHORTEST_WINDOW);
        let close = CLOSE.min(length);
        let last_begins = idle_since.saturating_add(limit.saturating_sub(close));
        if now >= last_begins {
            // It has its full length, even if it begins late.
            return (now.saturating_add(close), true);
        }
        (now.saturating_add(length).min(last_begins), false)
    }

    fn next(&self, silent_since: Duration) -> Option<Duration> {
        let silence = self.limits.silence.map(|limit| silent_since.saturating_add(limit));
        let idle = self.limits.idle.map(|_| self.window.until);
        [self.limits.timeout, silence, idle].into_iter().flatten().min()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowState {
    Open,
    /// The next one begins.
    Closed,
    /// It was the last one, and without activity.
    LastClosed,
}

fn is_over(limit: Option<Duration>, since: Duration, now: Duration) -> bool {
    limit.is_some_and(|limit| now >= since.saturating_add(limit))
}

/// Returns the maximum CPU time that an agent at rest uses in this time.
fn at_rest(time: Duration) -> Duration {
    (time / 100 * REST_PERCENT).max(NOISE)
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod tests;
