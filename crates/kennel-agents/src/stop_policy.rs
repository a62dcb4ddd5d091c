//! How an agent is stopped before it is killed.

use serde::Deserialize;

/// The signal that asks an agent to stop, and its receivers. The pen kills what is left after the
/// grace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPolicy {
    pub signal: StopSignal,
    /// Whether every process in the pen gets it, and not only the program that was started.
    pub whole_tree: bool,
    /// Whether the agent may start another turn if it gets the signal after its result, so that it
    /// has to be killed immediately.
    pub kill_after_result: bool,
    /// The observed behaviour that this policy is based on.
    pub why: &'static str,
}

/// The signal that asks an agent to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// `SIGTERM`.
    #[default]
    Term,
    /// `SIGINT`.
    Int,
    /// No signal: the agent is killed immediately.
    None,
}
