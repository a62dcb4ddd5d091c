//! How long things take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts durations by the first bound that they do not exceed.
#[derive(Debug)]
pub(crate) struct Histogram {
    bounds: &'static [Duration],
    /// One for each bound, and one for what exceeds all.
    buckets: Box<[AtomicU64]>,
    nanos: AtomicU64,
}

/// What a histogram has counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Counted {
    /// How many took at most this many seconds. Never falls from one to the next.
    pub(crate) up_to: Vec<(f64, u64)>,
    pub(crate) count: u64,
    /// In seconds.
    pub(crate) sum: f64,
}

impl Histogram {
    /// With these bounds, the lowest first.
    pub(crate) fn new(bounds: &'static [Duration]) -> Self {
        debug_assert!(bounds.is_sorted(), "{bounds:?}");
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, nanos: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let index = self.bounds.partition_point(|bound| *bound < took);
        self.buckets[index].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// The count is that of the buckets, so that both agree whoever counts meanwhile.
    pub(crate) fn counted(&self) -> Counted {
        let mut count = 0;
        let mut cumulative = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let bounds = self.bounds.iter().map(Duration::as_secs_f64);
        let up_to = bounds.zip(cumulative.by_ref()).collect();
        cumulative.for_each(drop);
        let sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        Counted { up_to, count, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: &[Duration] = &[Duration::from_millis(10), Duration::from_secs(1)];

    #[test]
    fn buckets_are_cumulative_and_a_bound_belongs_to_its_own() {
        let histogram = Histogram::new(BOUNDS);
        for millis in [1, 10, 11, 1000, 1001] {
            histogram.observe(Duration::from_millis(millis));
        }
        let counted = histogram.counted();
        assert_eq!(counted.up_to, [(0.01, 2), (1.0, 4)]);
        assert_eq!(counted.count, 5);
        assert!((counted.sum - 2.023).abs() < 1e-9, "{counted:?}");
    }

    #[test]
    fn an_empty_one_has_all_its_buckets() {
        let counted = Histogram::new(BOUNDS).counted();
        assert_eq!(counted, Counted { up_to: vec![(0.01, 0), (1.0, 0)], count: 0, sum: 0.0 });
    }
}
