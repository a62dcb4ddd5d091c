//! Samples what sessions use, while somebody looks.
//!
//! ```text
//! nobody looks ──first ask──> a sample every two seconds ──nobody asked for five minutes──> all of it is forgotten
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kennel_types::api::{SessionUsage, UsageSample};

use super::history::History;
use super::usage::all_this_moment;
use crate::error::ApiError;
use crate::http::Api;
use crate::os::clock;

/// The pause between two samples.
const PAUSE: Duration = Duration::from_secs(2);
/// It is longer where many sessions take longer to ask: so much of the time, and at most this long.
const SHARE: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// After so long without a question nobody looks any more.
const LOOKS: Duration = Duration::from_secs(5 * 60);

/// The samples, and for how long more are wanted.
#[derive(Debug, Default)]
pub(super) struct Sampler(Mutex<Sampling>);

#[derive(Debug, Default)]
struct Sampling {
    history: History,
    /// Until when; none: nobody samples.
    until: Option<Instant>,
}

/// Whether there is more to do.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
enum Next {
    Again,
    Over,
}

impl Sampler {
    fn lock(&self) -> MutexGuard<'_, Sampling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last samples of a session, so many at most.
    pub(super) fn samples(&self, id: &str, most: usize) -> Vec<UsageSample> {
        self.lock().history.samples(id, most)
    }

    fn note(&self, found: Result<Vec<SessionUsage>, ApiError>) -> Next {
        let mut sampling = self.lock();
        match found {
            Ok(live) => sampling.note(Instant::now(), clock::now_ms(), &live),
            // The daemon leaves; else the next question starts it again.
            Err(refused) => {
                tracing::debug!(why = %refused.problem().detail, "no samples any more");
                *sampling = Sampling::default();
                Next::Over
            }
        }
    }
}

impl Sampling {
    /// Somebody looks; whether nobody did so far.
    fn ask(&mut self, now: Instant) -> bool {
        self.until.replace(now + LOOKS).is_none()
    }

    fn note(&mut self, now: Instant, at_ms: u64, live: &[SessionUsage]) -> Next {
        if self.until.is_none_or(|until| now > until) {
            *self = Self::default();
            return Next::Over;
        }
        self.history.note(now, at_ms, live);
        Next::Again
    }
}

/// Somebody looks: from now on there are samples.
pub(super) fn ask(api: &Api) {
    if api.0.instruments.sampler.lock().ask(Instant::now()) {
        tokio::spawn(sample(api.clone()));
    }
}

/// After a panic the next who asks starts it anew.
struct Restartable(Api);

impl Drop for Restartable {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0.0.instruments.sampler.lock() = Sampling::default();
        }
    }
}

async fn sample(api: Api) {
    let _restartable = Restartable(api.clone());
    let mut leaving = api.0.leaving.clone();
    loop {
        let began = Instant::now();
        let found = all_this_moment(&api).await;
        if api.0.instruments.sampler.note(found) == Next::Over {
            return;
        }
        let pause = (began.elapsed() * SHARE).clamp(PAUSE, LONGEST_PAUSE);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            // A sender that is gone means the same.
            _ = leaving.wait_for(|leaving| *leaving) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_while_somebody_looks_and_forgotten_then() {
        let (mut sampling, start) = (Sampling::default(), Instant::now());
        assert_eq!(sampling.note(start, 0, &[]), Next::Over, "nobody has asked");
        assert!(sampling.ask(start), "the first one starts it");
        assert!(!sampling.ask(start + LOOKS / 2), "it goes on");
        let live = [SessionUsage {
            id: "a".to_owned(),
            name: None,
            phase: kennel_types::Phase::Running,
            usage: Some(kennel_types::api::UsageView { cpu_ms: 1, memory_bytes: 1, processes: 1 }),
            trouble: None,
            history: None,
        }];
        assert_eq!(sampling.note(start + LOOKS, 1, &live), Next::Again);
        assert_eq!(sampling.history.samples("a", 9).len(), 1);
        assert_eq!(sampling.note(start + LOOKS * 2, 2, &live), Next::Over);
        assert_eq!(sampling.history.samples("a", 9), []);
        assert!(sampling.ask(start + LOOKS * 2), "the next one starts it again");
    }
}
