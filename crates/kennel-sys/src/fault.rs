//! Named system calls, which tests can make fail.
//!
//! Every call on the launch path goes through [`call`], which names it in its error. With the
//! feature `faults` a test [`arm`]s the thread: the nth call from then on fails with the given
//! errno *without being made*, also if the new process makes it before its exec. Or all calls of a
//! process [`ask`] a function. Without the feature none of this exists.

use std::borrow::Cow;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// A failed system call.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallError {
    /// The call, for instance `clone3`.
    pub call: Cow<'static, str>,
    /// The path, pid or limit that it was called on, if that helps.
    pub on: Option<String>,
    /// The kernel's error.
    #[serde(with = "crate::errno")]
    pub source: io::Error,
}

impl CallError {
    /// Creates the error of `call`.
    pub fn new(call: &'static str, source: impl Into<io::Error>) -> Self {
        Self { call: call.into(), on: None, source: source.into() }
    }

    /// Adds what the call was made on.
    #[must_use]
    pub fn on(mut self, on: impl fmt::Display) -> Self {
        self.on = Some(on.to_string());
        self
    }

    /// Returns the errno, if the error came from the kernel.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.on {
            Some(on) => write!(f, "{} {on}: {}", self.call, self.source),
            None => write!(f, "{}: {}", self.call, self.source),
        }
    }
}

impl std::error::Error for CallError {
    /// The message already contains the cause, so this returns the cause's own source.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.source)
    }
}

/// Makes a system call, unless a test requests that it fails. Adds the name to an error.
pub fn call<T, E: Into<io::Error>>(
    name: &'static str,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, CallError> {
    if let Some(errno) = armed::requested_errno(name) {
        return Err(CallError::new(name, io::Error::from_raw_os_error(errno)));
    }
    make().map_err(|error| CallError::new(name, error))
}

#[cfg(feature = "faults")]
pub use armed::{CHILD, FaultTrace, arm, ask, disarm};
pub(crate) use armed::{child_budget, child_spent};

#[cfg(feature = "faults")]
mod armed {
    use std::cell::RefCell;
    use std::sync::OnceLock;

    static HOOK: OnceLock<fn(&'static str) -> Option<i32>> = OnceLock::new();

    /// Makes every call of this process, in any thread, ask `hook` by its name from now on. If it
    /// returns an errno, the call is not made and fails with it. The first hook stays. The calls
    /// that a new process makes before its exec don't ask.
    pub fn ask(hook: fn(&'static str) -> Option<i32>) {
        HOOK.set(hook).ok();
    }

    thread_local! {
        static PLAN: RefCell<Option<FaultPlan>> = const { RefCell::new(None) };
    }

    struct FaultPlan {
        nth: u32,
        errno: i32,
        seen: FaultTrace,
    }

    /// The calls since [`arm`].
    #[derive(Debug, Default, Clone, PartialEq, Eq)]
    pub struct FaultTrace {
        /// The number of calls, including the failing one.
        pub calls: u32,
        /// The call that failed, if the count was reached.
        pub failed: Option<&'static str>,
    }

    /// Calls of the new process have numbers above this. It runs concurrently, so one count for
    /// both would be random.
    pub const CHILD: u32 = 1000;

    /// Lets the `nth` call of this thread (the first is 1) fail with `errno`, or the nth call of
    /// the new process ([`CHILD`] plus n). With 0 calls are only counted.
    pub fn arm(nth: u32, errno: i32) {
        PLAN.set(Some(FaultPlan { nth, errno, seen: FaultTrace::default() }));
    }

    /// Ends what [`arm`] began, and returns the calls.
    pub fn disarm() -> FaultTrace {
        PLAN.take().map(|plan| plan.seen).unwrap_or_default()
    }

    pub(super) fn requested_errno(name: &'static str) -> Option<i32> {
        if let Some(errno) = HOOK.get().and_then(|hook| hook(name)) {
            return Some(errno);
        }
        PLAN.with_borrow_mut(|plan| {
            let plan = plan.as_mut()?;
            plan.seen.calls += 1;
            if plan.seen.calls != plan.nth {
                return None;
            }
            plan.seen.failed = Some(name);
            Some(plan.errno)
        })
    }

    /// Returns the number of the call at which the new process fails (0 for never), and the errno.
    pub(crate) fn child_budget() -> (u32, i32) {
        PLAN.with_borrow(|plan| match plan {
            Some(plan) => (plan.nth.saturating_sub(CHILD), plan.errno),
            None => (0, 0),
        })
    }

    /// Notes how many calls the new process made, and which one failed.
    pub(crate) fn child_spent(calls: u32, failed: Option<&'static str>) {
        PLAN.with_borrow_mut(|plan| {
            if let Some(plan) = plan.as_mut()
                && plan.nth == CHILD + calls
            {
                plan.seen.failed = plan.seen.failed.or(failed);
            }
        });
    }
}

#[cfg(not(feature = "faults"))]
mod armed {
    #[inline(always)]
    pub(super) fn requested_errno(_name: &'static str) -> Option<i32> {
        None
    }

    #[inline(always)]
    pub(crate) fn child_budget() -> (u32, i32) {
        (0, 0)
    }

    #[inline(always)]
    pub(crate) fn child_spent(_calls: u32, _failed: Option<&'static str>) {}
}
