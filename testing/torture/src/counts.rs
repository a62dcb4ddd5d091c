//! Counts calls and faults by name.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Adds one.
    pub(crate) fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    /// Adds several.
    pub(crate) fn add_many(&mut self, what: &'static str, many: u64) {
        *self.0.entry(what).or_default() += many;
    }

    /// Adds all counts of another.
    pub(crate) fn join(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            self.add_many(what, *count);
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> =
            self.0.iter().map(|(what, count)| format!("{what} {count}")).collect();
        f.write_str(&parts.join(", "))
    }
}
