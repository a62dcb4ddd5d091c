//! What would be lost with a worktree, for a person to read before they decide.

use crate::findings::{Changes, Commits, Findings};
use crate::git::Git;
use crate::judge::judge;
use crate::record::Record;
use crate::value::{Verdict, Why, value};

/// What would be lost, or was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Everything, each with its figure.
    pub why: Vec<Why>,
    /// What is not committed.
    pub changes: Changes,
    /// The commits that are on no other branch.
    pub commits: Commits,
    /// Set if it can't be told: why not. Then there may be anything.
    pub unknown: Option<String>,
}

impl Losses {
    /// Whether it is known that nothing would be lost.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.why.is_empty() && self.unknown.is_none()
    }

    fn from_findings(found: Findings) -> Self {
        let why = match value(&found) {
            Verdict::Nothing => Vec::new(),
            Verdict::Valuable(why) => why,
        };
        Self { why, changes: found.changes, commits: found.commits, unknown: None }
    }
}

/// What would be lost if the worktree were removed now.
#[must_use]
pub fn losses(git: &Git, record: &Record) -> Losses {
    match judge(git, record) {
        Ok(found) => Losses::from_findings(found),
        Err(error) => Losses { unknown: Some(error.to_string()), ..Losses::default() },
    }
}
