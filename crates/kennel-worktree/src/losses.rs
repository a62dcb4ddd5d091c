//! What the removal of a worktree would destroy, for a person who decides about it.

use crate::findings::{Findings, LostCommits, UncommittedChanges};
use crate::git::Git;
use crate::inspect::inspect;
use crate::keep_reason::{KeepReason, WorktreeValue, value};
use crate::record::WorktreeRecord;

/// What a removal would destroy, or has destroyed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Every reason to keep the worktree.
    pub why: Vec<KeepReason>,
    /// The uncommitted changes.
    pub changes: UncommittedChanges,
    /// The commits that no other branch has.
    pub commits: LostCommits,
    /// Why the worktree could not be inspected; then it may contain anything.
    pub unknown: Option<String>,
}

impl Losses {
    /// Returns whether it is certain that nothing would be lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.why.is_empty() && self.unknown.is_none()
    }

    fn from_findings(found: Findings) -> Self {
        let why = match value(&found) {
            WorktreeValue::None => Vec::new(),
            WorktreeValue::Valuable(why) => why,
        };
        Self { why, changes: found.changes, commits: found.commits, unknown: None }
    }
}

/// Returns what a removal of the worktree would destroy now.
#[must_use]
pub fn losses(git: &Git, record: &WorktreeRecord) -> Losses {
    match inspect(git, record) {
        Ok(found) => Losses::from_findings(found),
        Err(error) => Losses { unknown: Some(error.to_string()), ..Losses::default() },
    }
}
