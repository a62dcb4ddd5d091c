//! What sessions have used lately. Pure, and bounded: so many samples of each, so many sessions that have ended.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use kennel_types::api::{SessionUsage, UsageSample, UsageView};

/// The most samples of a session.
const MOST: usize = 300;
/// Of how many that have ended they are kept.
const ENDED: usize = 50;

/// The samples of all sessions.
#[derive(Debug, Default)]
pub(super) struct History {
    tracks: HashMap<String, Track>,
    /// Those that are over, the first one first.
    ended: VecDeque<String>,
}

#[derive(Debug, Default)]
struct Track {
    samples: VecDeque<UsageSample>,
    /// When the last was taken, by a clock that never leaps.
    last: Option<Instant>,
}

impl History {
    /// Notes what all live sessions use; who is not among them has ended.
    pub(super) fn note(&mut self, now: Instant, at_ms: u64, live: &[SessionUsage]) {
        for SessionUsage { id, usage, .. } in live {
            if let Some(usage) = usage {
                self.tracks.entry(id.clone()).or_default().note(now, at_ms, usage);
            }
        }
        let live: HashSet<&str> = live.iter().map(|usage| usage.id.as_str()).collect();
        // One whose keeper could not be asked for a moment may be back.
        self.ended.retain(|id| !live.contains(id.as_str()));
        let is_new = |id: &&String| !live.contains(id.as_str()) && !self.ended.contains(*id);
        let over: Vec<String> = self.tracks.keys().filter(is_new).cloned().collect();
        self.ended.extend(over);
        while self.ended.len() > ENDED {
            if let Some(id) = self.ended.pop_front() {
                self.tracks.remove(&id);
            }
        }
    }

    /// The last samples of a session, so many at most.
    pub(super) fn samples(&self, id: &str, most: usize) -> Vec<UsageSample> {
        let Some(track) = self.tracks.get(id) else { return Vec::new() };
        let skipped = track.samples.len().saturating_sub(most);
        track.samples.iter().skip(skipped).cloned().collect()
    }
}

impl Track {
    fn note(&mut self, now: Instant, at_ms: u64, usage: &UsageView) {
        let UsageView { cpu_ms, memory_bytes, processes } = *usage;
        let before = self.last.replace(now).zip(self.samples.back());
        let cpu_percent = before.and_then(|(then, before)| {
            let wall_ms = now.saturating_duration_since(then).as_secs_f64() * 1000.0;
            let percent = cpu_ms.saturating_sub(before.cpu_ms) as f64 / wall_ms * 100.0;
            percent.is_finite().then(|| (percent * 10.0).round() / 10.0)
        });
        if self.samples.len() == MOST {
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
    fn cpu_is_told_as_a_share_of_the_time_between_samples() {
        let (mut history, start) = (History::default(), Instant::now());
        for (after, cpu_ms) in [(0, 100), (2000, 600), (4000, 600), (6000, 500)] {
            let now = start + Duration::from_millis(after);
            history.note(now, 7000 + after, &[usage("a", cpu_ms)]);
        }
        // The same moment twice has no share.
        history.note(start + Duration::from_secs(6), 13_000, &[usage("a", 500)]);
        let shares: Vec<_> = history.samples("a", 99).iter().map(|it| it.cpu_percent).collect();
        assert_eq!(shares, [None, Some(25.0), Some(0.0), Some(0.0), None]);
        let last = history.samples("a", 2);
        assert_eq!(last.iter().map(|it| it.at_ms).collect::<Vec<_>>(), [13_000, 13_000]);
        assert_eq!((last[0].memory_bytes, last[0].processes), (4096, 2));
        assert_eq!(history.samples("b", 9), []);
    }

    #[test]
    fn there_are_so_many_samples_and_no_more() {
        let (mut history, start) = (History::default(), Instant::now());
        for n in 0..2 * MOST as u64 {
            history.note(start + Duration::from_secs(n), n, &[usage("a", n)]);
        }
        let samples = history.samples("a", usize::MAX);
        assert_eq!((samples.len(), samples[0].at_ms), (MOST, MOST as u64), "the last ones");
    }

    #[test]
    fn of_those_that_have_ended_the_last_are_kept() {
        let (mut history, now) = (History::default(), Instant::now());
        for n in 0..200 {
            history.note(now, n, &[usage(&format!("s{n}"), 0), usage("stays", 0)]);
        }
        history.note(now, 200, &[usage("stays", 0)]);
        assert_eq!(history.tracks.len(), ENDED + 1);
        assert_eq!(history.samples("s199", 9).len(), 1);
        assert_eq!(history.samples("s149", 9), []);
        assert_eq!(history.samples("stays", usize::MAX).len(), 201);
        // Who can't be asked has not ended; who is back is not dropped as one of the ended.
        let silent = SessionUsage { usage: None, ..usage("stays", 0) };
        history.note(now, 201, &[silent, usage("s199", 0)]);
        assert!(!history.ended.iter().any(|id| id == "stays" || id == "s199"));
        assert_eq!(history.samples("s199", 9).len(), 2);
    }
}
