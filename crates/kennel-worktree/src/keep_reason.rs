//! Decides from the findings whether a worktree has to be kept.

use std::fmt;
use std::path::PathBuf;

use crate::disk_state::DiskState;
use crate::findings::{Findings, NestedWorth, Operation, UncommittedChanges};

/// Why a worktree is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    Changes(UncommittedChanges),
    /// A git operation in progress.
    Operation(Operation),
    /// Commits that no other branch has.
    Commits(u64),
    /// A lock of git, with its reason.
    Locked(String),
    /// A repository or worktree in it that has contents of value.
    Nested(PathBuf, NestedWorth),
    /// References that only this worktree has.
    OwnRefs(u64),
    Moved(PathBuf),
    /// Its folder now belongs to another repository.
    Replaced,
    /// Git has no entry for its folder.
    Unregistered,
    /// Its repository doesn't exist any more.
    RepositoryGone,
    /// The folder and its parent are missing.
    ParentGone,
}

/// Returns why a worktree with these findings is kept. Without a reason, its removal loses nothing.
#[must_use]
pub fn keep_reasons(findings: &Findings) -> Vec<KeepReason> {
    let mut why = Vec::new();
    match &findings.state {
        DiskState::Moved(to) => why.push(KeepReason::Moved(to.clone())),
        DiskState::Replaced => why.push(KeepReason::Replaced),
        DiskState::Unregistered => why.push(KeepReason::Unregistered),
        DiskState::RepositoryGone => why.push(KeepReason::RepositoryGone),
        DiskState::ParentGone => why.push(KeepReason::ParentGone),
        DiskState::Absent
        | DiskState::Unfinished
        | DiskState::Complete
        | DiskState::BeingRemoved
        | DiskState::FolderGone => {}
    }
    if !findings.changes.is_none() {
        why.push(KeepReason::Changes(findings.changes.clone()));
    }
    why.extend(findings.operation.map(KeepReason::Operation));
    if findings.commits.count > 0 {
        why.push(KeepReason::Commits(findings.commits.count));
    }
    why.extend(findings.locked.clone().map(KeepReason::Locked));
    let nested = findings.nested.iter().filter(|nested| nested.worth != NestedWorth::Nothing);
    why.extend(nested.map(|nested| KeepReason::Nested(nested.path.clone(), nested.worth.clone())));
    if findings.own_refs > 0 {
        why.push(KeepReason::OwnRefs(findings.own_refs));
    }
    why
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes(changes) => write!(f, "{changes}"),
            Self::Operation(operation) => write!(f, "{operation} is in progress"),
            Self::Commits(1) => write!(f, "1 commit is on no other branch"),
            Self::Commits(count) => write!(f, "{count} commits are on no other branch"),
            Self::Locked(reason) if reason.is_empty() => write!(f, "it is locked"),
            Self::Locked(reason) => write!(f, "it is locked: {reason}"),
            Self::Nested(path, worth) => write!(f, "{} {worth}", path.display()),
            Self::OwnRefs(count) => write!(f, "{count} references exist only here"),
            Self::Moved(to) => write!(f, "it was moved to {}", to.display()),
            Self::Replaced => write!(f, "its folder now belongs to another repository"),
            Self::Unregistered => {
                write!(f, "its folder is no longer registered as a worktree in git")
            }
            Self::RepositoryGone => write!(f, "its repository is gone"),
            Self::ParentGone => {
                write!(f, "its parent folder is missing; its disk may not be mounted")
            }
        }
    }
}

impl fmt::Display for UncommittedChanges {
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
        write!(f, "uncommitted changes: {}{more}", kinds.join(", "))
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
            Self::Unknown(why) => write!(f, "is a repository that can't be read: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
