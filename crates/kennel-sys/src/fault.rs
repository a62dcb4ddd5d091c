//! The seam at which tests make a system call fail.
//!
//! Every call on the launch path goes through [`call`], which names it in its error. With the feature
//! `faults` a test [`arm`]s the thread: the nth call from then on fails with the given errno *without
//! being made*, also if it is one of those that the new process makes before its exec. Or a process has all its
//! calls [`ask`] somebody. Without the feature nothing of this exists.

use std::borrow::Cow;
use std::{fmt, io};

use serde::{Deserialize, Serialize};

/// A system call that failed: which one, on what, and why.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallError {
    /// The call, for instance `clone3`.
    pub call: Cow<'static, str>,
    /// What it was called on, if that helps: a path, a limit's name.
    pub on: Option<String>,
    /// What the kernel said.
    #[serde(with = "crate::errno")]
    pub source: io::Error,
}

impl CallError {
    /// The error of `call`.
    #[must_use]
    pub fn new(call: &'static str, source: impl Into<io::Error>) -> Self {
        Self { call: call.into(), on: None, source: source.into() }
    }

    /// Adds what the call was made on.
    #[must_use]
    pub fn on(mut self, on: impl fmt::Display) -> Self {
        self.on = Some(on.to_string());
        self
    }

    /// The errno, if the error came from the kernel.
    #[must_use]
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
    /// The cause is part of the message already; only what lies behind it is left to tell.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.source)
    }
}

/// Makes a system call, unless a test wants it to fail.
///
/// # Errors
/// What the call returned, under its name.
pub fn call<T, E: Into<io::Error>>(
    name: &'static str,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, CallError> {
    if let Some(errno) = armed::strike(name) {
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

    /// Whom all calls of this process ask, if anybody.
    static JUDGE: OnceLock<fn(&'static str) -> Option<i32>> = OnceLock::new();

    /// From now on every call of this process, in whichever thread, asks `judge` with its name: an errno means that it
    /// is not made, and fails with that. The first judge stays. What the new process does before its exec is not asked.
    pub fn ask(judge: fn(&'static str) -> Option<i32>) {
        // A second one is of no use to anybody.
        JUDGE.set(judge).ok();
    }

    thread_local! {
        static PLAN: RefCell<Option<FaultPlan>> = const { RefCell::new(None) };
    }

    struct FaultPlan {
        nth: u32,
        errno: i32,
        seen: FaultTrace,
    }

    /// What happened since [`arm`].
    #[derive(Debug, Default, Clone, PartialEq, Eq)]
    pub struct FaultTrace {
        /// How many calls were asked for, the failing one included.
        pub calls: u32,
        /// The call that was made to fail, if the count was reached.
        pub failed: Option<&'static str>,
    }

    /// Calls of the new process have numbers above this: it runs beside us, so one count for both would
    /// mean nothing.
    pub const CHILD: u32 = 1000;

    /// Lets the `nth` call from now on in this thread (the first is 1) fail with `errno`, or the nth call
    /// of the new process ([`CHILD`] plus n); 0 only counts.
    pub fn arm(nth: u32, errno: i32) {
        PLAN.set(Some(FaultPlan { nth, errno, seen: FaultTrace::default() }));
    }

    /// Ends the trial and tells what was seen.
    pub fn disarm() -> FaultTrace {
        PLAN.take().map(|plan| plan.seen).unwrap_or_default()
    }

    pub(super) fn strike(name: &'static str) -> Option<i32> {
        if let Some(errno) = JUDGE.get().and_then(|judge| judge(name)) {
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

    /// After how many of its calls the new process shall fail, and with what: (0, _) is never.
    pub(crate) fn child_budget() -> (u32, i32) {
        PLAN.with_borrow(|plan| match plan {
            Some(plan) => (plan.nth.saturating_sub(CHILD), plan.errno),
            None => (0, 0),
        })
    }

    /// Notes how far the new process came with its calls, and which one failed.
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
    pub(super) fn strike(_name: &'static str) -> Option<i32> {
        None
    }

    #[inline(always)]
    pub(crate) fn child_budget() -> (u32, i32) {
        (0, 0)
    }

    #[inline(always)]
    pub(crate) fn child_spent(_calls: u32, _failed: Option<&'static str>) {}
}
