//! The recent resource usage of sessions. Pure. The number of samples per session and of ended sessions is limited.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use kennel_types::api::{SessionUsage, UsageSample, UsageView};

const MAX_SAMPLES: usize = 300;
const MAX_ENDED: usize = 50;

#[derive(Debug, Default)]
pub(super) struct UsageHistories {
    sessions: HashMap<String, SessionHistory>,
    /// Ended sessions, the earliest first.
    ended: VecDeque<String>,
}

#[derive(Debug, Default)]
struct SessionHistory {
    samples: VecDeque<UsageSample>,
    /// When the last sample was taken, by the monotonic clock.
    last: Option<Instant>,
}

impl UsageHistories {
    /// Adds a sample of all live sessions. All other sessions have ended.
    pub(super) fn add(&mut self, now: Instant, at_ms: u64, live: &[SessionUsage]) {
        for SessionUsage { id, usage, .. } in live {
            if let Some(usage) = usage {
                self.sessions.entry(id.clone()).or_default().add(now, at_ms, usage);
            }
        }
        let live: HashSet<&str> = live.iter().map(|usage| usage.id.as_str()).collect();
        // A session whose keeper was unreachable may be back.
        self.ended.retain(|id| !live.contains(id.as_str()));
        let is_new = |id: &&String| !live.contains(id.as_str()) && !self.ended.contains(*id);
        let ended: Vec<String> = self.sessions.keys().filter(is_new).cloned().collect();
        self.ended.extend(ended);
        while self.ended.len() > MAX_ENDED {
            if let Some(id) = self.ended.pop_front() {
                self.sessions.remove(&id);
            }
        }
    }

    /// Returns the last samples of a session, at most `limit`.
    pub(super) fn samples(&self, id: &str, limit: usize) -> Vec<UsageSample> {
        let Some(session) = self.sessions.get(id) else { return Vec::new() };
        let skipped = session.samples.len().saturating_sub(limit);
        session.samples.iter().skip(skipped).cloned().collect()
    }
}

impl SessionHistory {
    fn add(&mut self, now: Instant, at_ms: u64, usage: &UsageView) {
        let UsageView { cpu_ms, memory_bytes, processes } = *usage;
        let before = self.last.replace(now).zip(self.samples.back());
        let cpu_percent = before.and_then(|(then, before)| {
            let wall_ms = now.saturating_duration_since(then).as_secs_f64() * 1000.0;
            let percent = cpu_ms.saturating_sub(before.cpu_ms) as f64 / wall_ms * 100.0;
            percent.is_finite().then(|| (percent * 10.0).round() / 10.0)
        });
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(UsageSample { at_ms, cpu_percent, cpu_ms, memory_bytes, processes });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kennel_types::Phase;

    use super::*;

    fn usage(id: &str, cpu_ms: u64) -> SessionUsage {
        SessionUsage {
            id: id.to_owned(),
            name: None,
            phase: Phase::Running,
            usage: Some(UsageView { cpu_ms, memory_bytes: 4096, processes: 2 }),
            trouble: None,
            history: None,
        }
    }

    #[test]
    fn cpu_is_a_share_of_the_time_between_samples() {
        let (mut history, start) = (UsageHistories::default(), Instant::now());
        for (after, cpu_ms) in [(0, 100), (2000, 600), (4000, 600), (6000, 500)] {
            let now = start + Duration::from_millis(after);
            history.add(now, 7000 + after, &[usage("a", cpu_ms)]);
        }
        // Two samples at the same instant have no share.
        history.add(start + Duration::from_secs(6), 13_000, &[usage("a", 500)]);
        let shares: Vec<_> = history.samples("a", 99).iter().map(|it| it.cpu_percent).collect();
        assert_eq!(shares, [None, Some(25.0), Some(0.0), Some(0.0), None]);
        let last = history.samples("a", 2);
        assert_eq!(last.iter().map(|it| it.at_ms).collect::<Vec<_>>(), [13_000, 13_000]);
        assert_eq!((last[0].memory_bytes, last[0].processes), (4096, 2));
        assert_eq!(history.samples("b", 9), []);
    }

    #[test]
    fn keeps_only_the_last_samples() {
        let (mut history, start) = (UsageHistories::default(), Instant::now());
        for n in 0..2 * MAX_SAMPLES as u64 {
            history.add(start + Duration::from_secs(n), n, &[usage("a", n)]);
        }
        let samples = history.samples("a", usize::MAX);
        assert_eq!(
            (samples.len(), samples[0].at_ms),
            (MAX_SAMPLES, MAX_SAMPLES as u64),
            "the last ones"
        );
    }

    #[test]
    fn keeps_only_the_last_ended_sessions() {
        let (mut history, now) = (UsageHistories::default(), Instant::now());
        for n in 0..200 {
            history.add(now, n, &[usage(&format!("s{n}"), 0), usage("stays", 0)]);
        }
        history.add(now, 200, &[usage("stays", 0)]);
        assert_eq!(history.sessions.len(), MAX_ENDED + 1);
        assert_eq!(history.samples("s199", 9).len(), 1);
        assert_eq!(history.samples("s149", 9), []);
        assert_eq!(history.samples("stays", usize::MAX).len(), 201);
        // A session whose keeper is unreachable has not ended, and one that is back is not dropped as ended.
        let unreachable = SessionUsage { usage: None, ..usage("stays", 0) };
        history.add(now, 201, &[unreachable, usage("s199", 0)]);
        assert!(!history.ended.iter().any(|id| id == "stays" || id == "s199"));
        assert_eq!(history.samples("s199", 9).len(), 2);
    }
}
