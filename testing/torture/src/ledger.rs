//! Records all requests, answers and injected faults: everything that can explain how a session
//! ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::counts::Counts;
use crate::run_arguments::RunArguments;

/// The record of one home. The clients and the fault injector share it.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<LedgerRecord>);

/// The content of the ledger.
#[derive(Debug, Default)]
pub(crate) struct LedgerRecord {
    /// The requested sessions, by name.
    pub(crate) requested: BTreeMap<String, RequestedSession>,
    /// Their names, in the order of the requests.
    order: Vec<String>,
    /// The faults that concern the whole home.
    pub(crate) faults: HomeFaults,
    /// Findings from before the audit.
    pub(crate) wrong: Vec<String>,
    /// Internal errors that were reported to clients.
    pub(crate) internal: Vec<String>,
    /// How often each call was made and each fault injected.
    pub(crate) counts: Counts,
}

/// A requested session.
#[derive(Debug, Clone)]
pub(crate) struct RequestedSession {
    pub(crate) arguments: RunArguments,
    /// The session ids that clients received.
    pub(crate) answered: BTreeSet<String>,
    /// The launch ids that clients received.
    pub(crate) launches: BTreeSet<String>,
    /// The exit codes of clients that waited to the end.
    pub(crate) codes: Vec<(&'static str, i32)>,
    /// Whether an answer stated that nothing was started.
    pub(crate) denied: bool,
    /// Whether a client requested a stop.
    pub(crate) stop: bool,
    /// Whether a stop succeeded, by its answer.
    pub(crate) stopped: bool,
    /// Whether a client requested its removal.
    pub(crate) removal: bool,
    /// Whether a client requested `forget`.
    pub(crate) forgotten: bool,
    /// How often clients requested another launch.
    pub(crate) resumes: u32,
    /// Whether a client sent input, which a terminal echoes in the middle of a line.
    pub(crate) typed: bool,
    /// The signals that clients sent to it.
    pub(crate) signals: BTreeSet<i32>,
    /// Whether the fault injector killed one of its processes.
    pub(crate) agent_killed: bool,
}

/// The faults that concern a whole home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HomeFaults {
    /// The launches whose keepers were killed.
    pub(crate) keepers: BTreeSet<String>,
    /// How many keepers of an unknown launch were killed, or spare keepers that may just have
    /// received one.
    pub(crate) unknown_keepers: u32,
    /// How often the yard was killed.
    pub(crate) yard: u32,
    /// How often the daemon was killed.
    pub(crate) daemon: u32,
    /// How often a git process was killed.
    pub(crate) git: u32,
    /// Whether the disk was full.
    pub(crate) disk: bool,
    /// Whether calls failed: too few descriptors or processes, or an injected error.
    pub(crate) starved: bool,
    /// Whether the daemon was requested to end everything.
    pub(crate) shutdown: bool,
}

impl RequestedSession {
    pub(crate) fn new(arguments: RunArguments) -> Self {
        Self {
            arguments,
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
    /// Locks the ledger.
    pub(crate) fn open(&self) -> MutexGuard<'_, LedgerRecord> {
        // A thread that panicked is reported elsewhere; what it recorded is still true.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a finding.
    pub(crate) fn wrong(&self, what: String) {
        self.open().wrong.push(what);
    }

    /// Adds one to a count.
    pub(crate) fn count(&self, what: &'static str) {
        self.open().counts.add(what);
    }

    /// Changes the record of a session.
    pub(crate) fn note(&self, name: &str, change: impl FnOnce(&mut RequestedSession)) {
        if let Some(requested) = self.open().requested.get_mut(name) {
            change(requested);
        }
    }
}

impl LedgerRecord {
    /// Records a request, before it is sent.
    pub(crate) fn ask(&mut self, name: &str, arguments: &RunArguments) {
        self.requested.insert(name.to_owned(), RequestedSession::new(arguments.clone()));
        self.order.push(name.to_owned());
    }

    /// Changes the records of all sessions requested so far.
    pub(crate) fn note_all(&mut self, change: impl FnMut(&mut RequestedSession)) {
        self.requested.values_mut().for_each(change);
    }

    /// Returns the name of a session: 0 is the youngest.
    pub(crate) fn target(&self, back: u32) -> Option<String> {
        let back = usize::try_from(back).ok()?;
        let at = self.order.len().checked_sub(back + 1).or_else(|| self.order.len().checked_sub(1));
        self.order.get(at?).cloned()
    }
}
