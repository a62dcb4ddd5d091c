//! Numbers that only grow.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, from any thread.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn one_more(&self) {
        self.add(1);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One counter for each of a few names.
#[derive(Debug)]
pub(crate) struct Counters<const N: usize> {
    names: [&'static str; N],
    counts: [Counter; N],
}

impl<const N: usize> Counters<N> {
    pub(crate) fn new(names: [&'static str; N]) -> Self {
        Self { names, counts: std::array::from_fn(|_| Counter::default()) }
    }

    /// Counts one more of this name; nothing if there is no such name.
    pub(crate) fn one_more(&self, name: &str) {
        match self.names.iter().position(|other| *other == name) {
            Some(index) => self.counts[index].one_more(),
            None => debug_assert!(false, "{name} is counted nowhere"),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.names.into_iter().zip(self.counts.iter().map(Counter::get))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_own_count_and_all_are_told() {
        let counters = Counters::new(["a", "b", "c"]);
        counters.one_more("b");
        counters.one_more("b");
        counters.one_more("c");
        assert_eq!(counters.all().collect::<Vec<_>>(), [("a", 0), ("b", 2), ("c", 1)]);
    }
}
