//! Whether a worktree may go: a pure decision from what was found.

use std::fmt;
use std::path::PathBuf;

use crate::findings::{Changes, Findings, NestedWorth, Operation};
use crate::standing::Standing;

/// The decision.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Nothing would be lost.
    Nothing,
    /// Something would; never empty.
    Valuable(Vec<Why>),
}

/// Why a worktree is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Changes that are not committed.
    Changes(Changes),
    /// Git is in the middle of something.
    Operation(Operation),
    /// Commits that are on no other branch.
    Commits(u64),
    /// Somebody has locked it, for this reason.
    Locked(String),
    /// A repository or worktree in it, with something in it.
    Nested(PathBuf, NestedWorth),
    /// References that only it has.
    OwnRefs(u64),
    /// Somebody has moved it.
    Moved(PathBuf),
    /// Its folder is another repository's by now.
    Replaced,
    /// Its folder is not git's any more.
    Unregistered,
    /// Its repository is gone.
    RepositoryGone,
    /// The place that it is in can't be seen.
    PlaceGone,
}

/// Decides.
pub fn value(findings: &Findings) -> Verdict {
    let mut why = Vec::new();
    match &findings.standing {
        Standing::Moved(to) => why.push(Why::Moved(to.clone())),
        Standing::Replaced => why.push(Why::Replaced),
        Standing::Unregistered => why.push(Why::Unregistered),
        Standing::RepositoryGone => why.push(Why::RepositoryGone),
        Standing::PlaceGone => why.push(Why::PlaceGone),
        Standing::Absent
        | Standing::Unfinished
        | Standing::Whole
        | Standing::Condemned
        | Standing::FolderGone => {}
    }
    if !findings.changes.is_none() {
        why.push(Why::Changes(findings.changes.clone()));
    }
    why.extend(findings.operation.map(Why::Operation));
    if findings.commits.count > 0 {
        why.push(Why::Commits(findings.commits.count));
    }
    why.extend(findings.locked.clone().map(Why::Locked));
    let nested = findings.nested.iter().filter(|nested| nested.worth != NestedWorth::Nothing);
    why.extend(nested.map(|nested| Why::Nested(nested.path.clone(), nested.worth.clone())));
    if findings.own_refs > 0 {
        why.push(Why::OwnRefs(findings.own_refs));
    }
    if why.is_empty() { Verdict::Nothing } else { Verdict::Valuable(why) }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes(changes) => write!(f, "{changes}"),
            Self::Operation(operation) => write!(f, "{operation} is under way"),
            Self::Commits(1) => write!(f, "1 commit is on no other branch"),
            Self::Commits(count) => write!(f, "{count} commits are on no other branch"),
            Self::Locked(reason) if reason.is_empty() => write!(f, "it is locked"),
            Self::Locked(reason) => write!(f, "it is locked: {reason}"),
            Self::Nested(path, worth) => write!(f, "{} {worth}", path.display()),
            Self::OwnRefs(count) => write!(f, "{count} references are only here"),
            Self::Moved(to) => write!(f, "it was moved to {}", to.display()),
            Self::Replaced => write!(f, "its folder belongs to another repository by now"),
            Self::Unregistered => write!(f, "its folder is not a worktree of git's any more"),
            Self::RepositoryGone => write!(f, "its repository is gone"),
            Self::PlaceGone => write!(f, "the folder that it is in can't be seen"),
        }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (self.staged, "staged"),
            (self.modified, "modified"),
            (self.untracked, "untracked"),
            (self.conflicted, "in conflict"),
            (self.submodules, "in submodules"),
            (self.hidden, "hidden from git"),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(count, kind)| format!("{count} {kind}")).collect();
        let more = if self.more { ", and more" } else { "" };
        write!(f, "changes not committed: {}{more}", kinds.join(", "))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "a merge",
            Self::Rebase => "a rebase",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
            Self::Bisect => "a bisection",
        })
    }
}

impl fmt::Display for NestedWorth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "is a repository with nothing of its own"),
            Self::Worktree => write!(f, "is a worktree"),
            Self::Changes => write!(f, "is a repository with changes"),
            Self::Commits(count) => write!(f, "is a repository with {count} commits of its own"),
            Self::Unknown(why) => write!(f, "is a repository that can't be looked at: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
