//! When a launch has been at it for too long, or has done nothing for too long: decided without a clock or I/O.
//!
//! ```text
//! last activity                                            limit − close       limit
//!      ├────────┬────────┬────────┬────────┬────────┬────────────┬───────────────┤
//!               look     look     look     look     look      look          last look: over
//! ```
//! Time is counted from the open gate and while the machine is awake; whoever asks tells what time it is. Output
//! and input are known to the moment. CPU and new processes are known only by looking, so they count as of the
//! look that found them: an end may come a little late, never early. Between two looks a window is open, and what
//! was used in it is held against what an agent uses at rest. The last window is a short one, so that work which
//! has only just begun is seen.

use std::time::Duration;

use kennel_pen::ActivitySample;

/// The idle limit is looked at in so many windows, and once more at its end.
const WINDOWS: u32 = 6;
/// No window is shorter, however short the limit.
const SHORTEST: Duration = Duration::from_millis(1);
/// The last window is as long as this, or as any other if those are shorter.
const CLOSE: Duration = Duration::from_secs(1);
/// An agent at rest is not quite still: timers, garbage collection and keep-alives of a runtime like Node take
/// about a hundredth of a core. Work takes more than this many hundredths, even if it mostly waits for a disk.
const REST_PERCENT: u32 = 3;
/// What can't be told from rest: the kernel counts the CPU of processes in ticks of 10 ms.
const NOISE: Duration = Duration::from_millis(20);
/// A look that comes so much later than asked for means that we did not run (stopped, or the machine stood still),
/// and maybe nobody did. Then the quiet begins anew.
const LATE: Duration = Duration::from_secs(10);

/// How long what may take; none is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ActivityLimits {
    /// All of it.
    pub(super) timeout: Option<Duration>,
    /// Nothing at all going on.
    pub(super) idle: Option<Duration>,
    /// No output.
    pub(super) silence: Option<Duration>,
}

/// What one look saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ActivityReading {
    /// The time of the look.
    pub(super) now: Duration,
    /// When output came last; zero if none came.
    pub(super) output: Duration,
    /// When input or a report came last; zero if none came.
    pub(super) input: Duration,
    /// The signs of life, if they could be had.
    pub(super) sample: Option<ActivitySample>,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeLimit {
    Timeout,
    Idle,
    Silence,
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum TimeVerdict {
    /// Nothing is over. Look again then; never, if there is no limit.
    CheckAgain { at: Option<Duration> },
    /// This limit is over.
    Over(TimeLimit),
}

/// A stretch of time for which the CPU is counted.
#[derive(Debug, Clone, Copy)]
struct CpuWindow {
    since: Duration,
    until: Duration,
    /// None if the look that opened it saw nothing.
    sample: Option<ActivitySample>,
    /// It is the last one before the limit.
    is_close: bool,
}

/// The looks of one launch.
#[derive(Debug)]
pub(super) struct ActivityMonitor {
    limits: ActivityLimits,
    window: CpuWindow,
    /// When a look last found life.
    alive: Duration,
    /// Before this nothing counts as quiet.
    anew: Duration,
    /// When the next look is due.
    due: Option<Duration>,
}

impl ActivityMonitor {
    /// Counts from the open gate. The signs of life are those of now, a moment later.
    pub(super) fn new(
        limits: ActivityLimits,
        now: Duration,
        sample: Option<ActivitySample>,
    ) -> Self {
        let window = CpuWindow { since: now, until: now, sample, is_close: false };
        let mut activity =
            Self { limits, window, alive: Duration::ZERO, anew: Duration::ZERO, due: None };
        (activity.window.until, activity.window.is_close) =
            activity.end_of_window(now, Duration::ZERO);
        activity.due = activity.next(Duration::ZERO);
        activity
    }

    /// When to look.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether a look needs the signs of life.
    pub(super) fn needs_activity(&self) -> bool {
        self.limits.idle.is_some()
    }

    /// Judges what was seen. A look too many does no harm.
    pub(super) fn judge(&mut self, seen: ActivityReading) -> TimeVerdict {
        let ActivityReading { now, output, input, .. } = seen;
        if self.due.is_some_and(|due| now > due.saturating_add(LATE)) {
            self.anew = now;
        }
        if self.limits.timeout.is_some_and(|limit| now >= limit) {
            return TimeVerdict::Over(TimeLimit::Timeout);
        }
        let silent_since = output.max(self.anew);
        if is_over(self.limits.silence, silent_since, now) {
            return TimeVerdict::Over(TimeLimit::Silence);
        }
        let closed = self.look_into_window(seen);
        let idle_since = self.idle_since(output, input);
        if closed == WindowState::LastOne && is_over(self.limits.idle, idle_since, now) {
            return TimeVerdict::Over(TimeLimit::Idle);
        }
        if closed != WindowState::No {
            let (until, is_close) = self.end_of_window(now, idle_since);
            self.window = CpuWindow { since: now, until, sample: seen.sample, is_close };
        }
        self.due = self.next(silent_since);
        TimeVerdict::CheckAgain { at: self.due }
    }

    fn idle_since(&self, output: Duration, input: Duration) -> Duration {
        output.max(input).max(self.alive).max(self.anew)
    }

    /// Holds what happened in the window against what happens at rest.
    fn look_into_window(&mut self, seen: ActivityReading) -> WindowState {
        let window = self.window;
        let is_busy = match (window.sample, seen.sample) {
            (Some(before), Some(after)) => {
                let length = seen.now.max(window.until).saturating_sub(window.since);
                before.generation != after.generation
                    // On a machine that is too busy, work gets hardly more CPU than rest does. Twice in a row is
                    // no accident.
                    || (before.works && after.works)
                    || after.cpu.saturating_sub(before.cpu) > at_rest(length)
            }
            // Who can't be seen can't be seen to be idle.
            _ => true,
        };
        if is_busy {
            self.alive = seen.now;
            return WindowState::Yes;
        }
        match seen.now >= window.until {
            true if window.is_close => WindowState::LastOne,
            true => WindowState::Yes,
            false => WindowState::No,
        }
    }

    /// Until when a window that begins now lasts, and whether it is the last one.
    fn end_of_window(&self, now: Duration, idle_since: Duration) -> (Duration, bool) {
        let Some(limit) = self.limits.idle else { return (Duration::MAX, false) };
        let usual = (limit / WINDOWS).max(SHORTEST);
        let close = CLOSE.min(usual);
        let last_begins = idle_since.saturating_add(limit.saturating_sub(close));
        if now >= last_begins {
            // Its full length, even if it begins late.
            return (now.saturating_add(close), true);
        }
        (now.saturating_add(usual).min(last_begins), false)
    }

    fn next(&self, silent_since: Duration) -> Option<Duration> {
        let silence = self.limits.silence.map(|limit| silent_since.saturating_add(limit));
        let idle = self.limits.idle.map(|_| self.window.until);
        [self.limits.timeout, silence, idle].into_iter().flatten().min()
    }
}

/// What became of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowState {
    /// It is still open.
    No,
    /// The next one begins.
    Yes,
    /// It was the last one, and quiet.
    LastOne,
}

fn is_over(limit: Option<Duration>, since: Duration, now: Duration) -> bool {
    limit.is_some_and(|limit| now >= since.saturating_add(limit))
}

/// The most CPU that agents use at rest in this time.
fn at_rest(time: Duration) -> Duration {
    (time / 100 * REST_PERCENT).max(NOISE)
}

#[cfg(test)]
#[path = "activity_tests.rs"]
mod tests;
