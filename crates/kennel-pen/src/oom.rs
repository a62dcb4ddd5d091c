//! Who goes first when memory runs out.

use std::fs;

/// How much likelier an agent is to be chosen by the OOM killer than its owner.
const LIKELIER: i32 = 200;
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
        let before = raise_by(LIKELIER)?;
        Some(Self { before })
    }
}

/// Raises our own score for good; gives the one before.
pub fn raise_by(more: i32) -> Option<i32> {
    let before = fs::read_to_string(SCORE).ok()?.trim().parse::<i32>().ok()?;
    fs::write(SCORE, (before + more).min(1000).to_string()).ok()?;
    Some(before)
}

impl Drop for OomScore {
    fn drop(&mut self) {
        // Always allowed: it is not below what we started with.
        fs::write(SCORE, self.before.to_string()).ok();
    }
}
