//! Which process the OOM killer chooses first.

use std::fs;

/// How much higher the OOM score of an agent is than that of its owner.
const AGENT_OFFSET: i32 = 200;
/// The kernel's maximum.
const MAX_SCORE: i32 = 1000;
const SCORE: &str = "/proc/self/oom_score_adj";

/// The OOM score of this process before it was raised. Dropping this restores it.
#[derive(Debug)]
pub struct OomScore {
    before: i32,
}

impl OomScore {
    /// Raises the score of this process, which a child inherits. Dropping the result restores it.
    ///
    /// The score can't be set for the child alone: as long as it shares this process's memory, the
    /// kernel gives both the same score. Returns `None` if the score can't be changed.
    #[must_use]
    pub fn raised() -> Option<Self> {
        Self::raised_from(own_score()?)
    }

    /// As [`Self::raised`], but afterwards this process has the score `own`.
    #[must_use]
    pub fn raised_from(own: i32) -> Option<Self> {
        let before = own.min(MAX_SCORE);
        fs::write(SCORE, before.saturating_add(AGENT_OFFSET).min(MAX_SCORE).to_string()).ok()?;
        Some(Self { before })
    }
}

/// Returns the score of this process, if it can be read.
pub fn own_score() -> Option<i32> {
    fs::read_to_string(SCORE).ok()?.trim().parse().ok()
}

impl Drop for OomScore {
    fn drop(&mut self) {
        // Always allowed: it is not below the score that this process started with.
        fs::write(SCORE, self.before.to_string()).ok();
    }
}
