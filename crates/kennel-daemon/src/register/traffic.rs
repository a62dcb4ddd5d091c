//! What the thread that writes has done, for those who watch.

use std::time::Duration;

use crate::metrics::{Counter, Histogram};

/// From a commit without a flush to one on a slow disk.
const COMMIT: &[Duration] = &[
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Counted as it happens.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// How long those took of which something was taken.
    pub(crate) commits: Histogram,
    /// Writes that were not taken.
    pub(crate) failed: Counter,
    /// Events that were.
    pub(crate) events: Counter,
}

impl Default for Traffic {
    fn default() -> Self {
        let (failed, events) = (Counter::default(), Counter::default());
        Self { commits: Histogram::new(COMMIT), failed, events }
    }
}
