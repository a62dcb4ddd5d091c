//! Who goes first when memory runs out.

use std::fs;

/// How much likelier an agent is to be chosen by the OOM killer than its owner.
const LIKELIER: i32 = 200;
/// The kernel's own bound.
const HIGHEST: i32 = 1000;
const SCORE: &str = "/proc/self/oom_score_adj";

/// Our score as it was, put back on drop.
#[derive(Debug)]
pub struct OomScore {
    before: i32,
}

impl OomScore {
    /// Raises our own score, which a process made meanwhile inherits; put back when dropped.
    ///
    /// It can't be set for the new process alone: as long as that shares our memory, the kernel gives
    /// both the same score. `None` if the score can't be changed here.
    #[must_use]
    pub fn raised() -> Option<Self> {
        Self::raised_from(own_score()?)
    }

    /// The same, for one who is to have this score of its own afterwards.
    #[must_use]
    pub fn raised_from(own: i32) -> Option<Self> {
        let before = own.min(HIGHEST);
        fs::write(SCORE, before.saturating_add(LIKELIER).min(HIGHEST).to_string()).ok()?;
        Some(Self { before })
    }
}

/// Our own score, if it can be told here.
#[must_use]
pub fn own_score() -> Option<i32> {
    fs::read_to_string(SCORE).ok()?.trim().parse().ok()
}

impl Drop for OomScore {
    fn drop(&mut self) {
        // Always allowed: it is not below what we started with.
        fs::write(SCORE, self.before.to_string()).ok();
    }
}
