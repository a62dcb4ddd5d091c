//! What was asked for, what was answered, and what was done to whom: all that an end may be explained by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tally::Tally;
use crate::wish::Wish;

/// Everything that clients and tormentor have done in a home. Shared by all of them.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Deeds>);

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    /// The sessions asked for, by name.
    pub(crate) asked: BTreeMap<String, Asked>,
    /// Their names, in the order of asking.
    order: Vec<String>,
    /// What befell the home as a whole.
    pub(crate) blows: Blows,
    /// What was wrong already before the audit.
    pub(crate) wrong: Vec<String>,
    /// What clients were told that Kennel itself failed in.
    pub(crate) internal: Vec<String>,
    /// How often what was done.
    pub(crate) tally: Tally,
}

/// A session that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) wish: Wish,
    /// The ids of sessions that were given for an answer.
    pub(crate) answered: BTreeSet<String>,
    /// The ids of launches that were.
    pub(crate) launches: BTreeSet<String>,
    /// The codes of clients that stayed to the end.
    pub(crate) codes: Vec<(&'static str, i32)>,
    /// Whether it was said that nothing was started.
    pub(crate) denied: bool,
    /// Whether somebody wanted its end.
    pub(crate) stop: bool,
    /// Whether a stop was answered with success.
    pub(crate) stopped: bool,
    /// Whether somebody wanted it off the record.
    pub(crate) removal: bool,
    /// Whether somebody wanted it given up.
    pub(crate) forgotten: bool,
    /// How often another launch was asked for.
    pub(crate) resumes: u32,
    /// Whether somebody typed something, which a terminal shows in the middle of a line.
    pub(crate) typed: bool,
    /// Signals that clients sent to it.
    pub(crate) signals: BTreeSet<i32>,
    /// Whether the tormentor killed one of its processes.
    pub(crate) agent_killed: bool,
}

/// What befell a home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Blows {
    /// The launches whose keepers were killed.
    pub(crate) keepers: BTreeSet<String>,
    /// Keepers that were killed, and nobody knows whose they were, or spares about to get a launch.
    pub(crate) keepers_of_nobody: u32,
    /// How often the yard was killed.
    pub(crate) yard: u32,
    /// How often the daemon was.
    pub(crate) daemon: u32,
    /// How often a git was.
    pub(crate) git: u32,
    /// Whether the disk was full.
    pub(crate) disk: bool,
    /// Whether calls failed, for want of descriptors or processes or since they were told to.
    pub(crate) starved: bool,
    /// Whether the daemon was told to end everything.
    pub(crate) shutdown: bool,
}

impl Asked {
    pub(crate) fn new(wish: Wish) -> Self {
        Self {
            wish,
            answered: BTreeSet::new(),
            launches: BTreeSet::new(),
            codes: Vec::new(),
            denied: false,
            stop: false,
            stopped: false,
            removal: false,
            forgotten: false,
            resumes: 0,
            typed: false,
            signals: BTreeSet::new(),
            agent_killed: false,
        }
    }
}

impl Ledger {
    /// To read and write it.
    pub(crate) fn open(&self) -> MutexGuard<'_, Deeds> {
        // A thread that panicked is reported as that; what it noted is true.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something that must not be.
    pub(crate) fn wrong(&self, what: String) {
        self.open().wrong.push(what);
    }

    /// Counts something.
    pub(crate) fn count(&self, what: &'static str) {
        self.open().tally.add(what);
    }

    /// Changes what is known of a session.
    pub(crate) fn note(&self, name: &str, change: impl FnOnce(&mut Asked)) {
        if let Some(asked) = self.open().asked.get_mut(name) {
            change(asked);
        }
    }
}

impl Deeds {
    /// Notes a request, before it is made.
    pub(crate) fn ask(&mut self, name: &str, wish: &Wish) {
        self.asked.insert(name.to_owned(), Asked::new(wish.clone()));
        self.order.push(name.to_owned());
    }

    /// Changes what is known of all that were asked for so far.
    pub(crate) fn note_all(&mut self, change: impl FnMut(&mut Asked)) {
        self.asked.values_mut().for_each(change);
    }

    /// The name of a session: 0 is the youngest.
    pub(crate) fn target(&self, back: u32) -> Option<String> {
        let back = usize::try_from(back).ok()?;
        let at = self.order.len().checked_sub(back + 1).or_else(|| self.order.len().checked_sub(1));
        self.order.get(at?).cloned()
    }
}
