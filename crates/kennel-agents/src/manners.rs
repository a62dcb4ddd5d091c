//! How an agent is stopped before it is killed.

/// What to send first, and to whom. Whatever it does, the pen ends what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manners {
    /// The signal.
    pub signal: PoliteSignal,
    /// Whether everything in the pen gets it, and not only the program that was started.
    pub whole_tree: bool,
    /// Whether it may begin another turn if it is asked to end after it has told its result: then it is killed at once.
    pub kill_once_told: bool,
    /// Why it is done in this way, from what was measured.
    pub why: &'static str,
}

/// A signal that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoliteSignal {
    /// `SIGTERM`.
    Term,
    /// `SIGINT`.
    Int,
    /// None: it is killed at once.
    None,
}
