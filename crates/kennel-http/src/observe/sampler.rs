//! Samples the resource usage of sessions while clients request it.
//!
//! ```text
//! idle ──first request──> a sample every two seconds ──no request for five minutes──> idle, all samples dropped
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kennel_daemon::{ApiError, clock};
use kennel_types::api::{SessionUsage, UsageSample};

use super::history::UsageHistories;
use super::recent_usage;
use crate::api::Api;

const INTERVAL: Duration = Duration::from_secs(2);
/// With many sessions, the pause is this many times as long as a sample takes, at most [`MAX_INTERVAL`].
const DUTY_FACTOR: u32 = 5;
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// How long a request keeps the sampler running.
const KEEP_RUNNING: Duration = Duration::from_secs(5 * 60);

/// The samples, and how long to continue sampling.
#[derive(Debug, Default)]
pub(super) struct UsageSampler(Mutex<SamplerState>);

#[derive(Debug, Default)]
struct SamplerState {
    history: UsageHistories,
    /// When the sampler stops. `None`: it is idle.
    until: Option<Instant>,
}

impl UsageSampler {
    fn lock(&self) -> MutexGuard<'_, SamplerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last samples of a session, at most `limit`.
    pub(super) fn samples(&self, id: &str, limit: usize) -> Vec<UsageSample> {
        self.lock().history.samples(id, limit)
    }

    /// Adds a sample. Returns whether to continue.
    fn add(&self, usages: Result<Vec<SessionUsage>, ApiError>) -> bool {
        let mut state = self.lock();
        match usages {
            Ok(live) => state.add(Instant::now(), clock::now_ms(), &live),
            // The daemon is shutting down. If not, the next request starts the sampler again.
            Err(error) => {
                tracing::debug!(why = %error.problem().detail, "the usage sampler has stopped");
                *state = SamplerState::default();
                false
            }
        }
    }
}

impl SamplerState {
    /// Keeps the sampler running. Returns whether it has to be started.
    fn request(&mut self, now: Instant) -> bool {
        self.until.replace(now + KEEP_RUNNING).is_none()
    }

    fn add(&mut self, now: Instant, at_ms: u64, live: &[SessionUsage]) -> bool {
        if self.until.is_none_or(|until| now > until) {
            *self = Self::default();
            return false;
        }
        self.history.add(now, at_ms, live);
        true
    }
}

/// Starts the sampler, or keeps it running.
pub(super) fn request(api: &Api) {
    if api.observe.sampler.lock().request(Instant::now()) {
        tokio::spawn(run(api.clone()));
    }
}

/// Lets the next request start the sampler again after a panic.
struct ResetOnPanic(Api);

impl Drop for ResetOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0.observe.sampler.lock() = SamplerState::default();
        }
    }
}

async fn run(api: Api) {
    let _reset = ResetOnPanic(api.clone());
    loop {
        let began = Instant::now();
        // Each sample has its own time, so do not reuse a previous result.
        let usages = recent_usage(&api, Duration::ZERO).await;
        if !api.observe.sampler.add(usages) {
            return;
        }
        let pause = (began.elapsed() * DUTY_FACTOR).clamp(INTERVAL, MAX_INTERVAL);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = api.daemon.shutting_down() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_while_clients_request_it_and_then_drops_everything() {
        let (mut state, start) = (SamplerState::default(), Instant::now());
        assert!(!state.add(start, 0, &[]), "no client has requested it");
        assert!(state.request(start), "the first request starts it");
        assert!(!state.request(start + KEEP_RUNNING / 2), "it is running");
        let live = [SessionUsage {
            id: "a".to_owned(),
            name: None,
            phase: kennel_types::Phase::Running,
            usage: Some(kennel_types::api::UsageView { cpu_ms: 1, memory_bytes: 1, processes: 1 }),
            trouble: None,
            history: None,
        }];
        assert!(state.add(start + KEEP_RUNNING, 1, &live));
        assert_eq!(state.history.samples("a", 9).len(), 1);
        assert!(!state.add(start + KEEP_RUNNING * 2, 2, &live));
        assert_eq!(state.history.samples("a", 9), []);
        assert!(state.request(start + KEEP_RUNNING * 2), "the next request starts it again");
    }
}
