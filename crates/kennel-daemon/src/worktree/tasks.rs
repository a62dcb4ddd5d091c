//! Git commands for a session's worktree: plan, make, remove. They block.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use kennel_core::Event;
use kennel_keeper::fault::point;
use kennel_types::api::{CommitView, LossesView};
use kennel_types::{OwedKind, SessionSpec, WorktreeSpec};
use kennel_worktree::{
    BranchOutcome, Checkout, CreateWorktreeError, CreatedWorktree, Git, GitError, KeepReason,
    Losses, PlanWorktreeError, RemoveOutcome, RemoveWorktreeError, WorktreePlan, WorktreeRecord,
    WorktreeRequest, create, force_remove, remove,
};

use crate::error::ApiError;

/// The variables that git needs to find its programs and the user's settings. Only these are kept
/// of a client's environment after its worktree was made: the rest may contain secrets.
const NEEDED: &[&str] = &[
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
];

pub(crate) type GitEnvironment = Vec<(OsString, OsString)>;

/// Returns as much of an environment as the removal of a worktree needs.
pub(crate) fn needed_of(environment: &GitEnvironment) -> GitEnvironment {
    let needed = |name: &OsStr| NEEDED.iter().any(|needed| name == *needed);
    environment.iter().filter(|(name, _)| needed(name)).cloned().collect()
}

/// Plans the worktree that a session requests. Makes nothing.
pub(crate) fn plan(
    environment: GitEnvironment,
    folder: &Path,
    parent: &Path,
    session: &str,
    asked: &WorktreeSpec,
) -> Result<WorktreeSpec, ApiError> {
    let branch = asked.asked.as_deref();
    let request = WorktreeRequest { folder, parent, session, branch, base: None };
    let plan = WorktreePlan::new(&Git::new(environment), &request);
    let WorktreePlan { record, checkout, .. } = plan.map_err(refused)?;
    let written = serde_json::to_string(&record).map_err(ApiError::internal)?;
    point("daemon.worktree.planned");
    Ok(WorktreeSpec {
        asked: asked.asked.clone(),
        repo: record.repo.display().to_string(),
        path: record.path.display().to_string(),
        branch: record.branch,
        base: Some(record.base),
        uncommitted: match checkout {
            Checkout::Clean | Checkout::Bare => Some(false),
            Checkout::Dirty => Some(true),
            Checkout::Unknown => None,
        },
        record: Some(written),
    })
}

fn refused(refusal: PlanWorktreeError) -> ApiError {
    let text = chain(&refusal);
    match refusal {
        PlanWorktreeError::Look(_)
        | PlanWorktreeError::Git(GitError::Run(_) | GitError::InvalidOutput { .. }) => {
            ApiError::internal(text)
        }
        _ => ApiError::invalid(text),
    }
}

fn record_of(what: &OwedKind) -> Result<WorktreeRecord, String> {
    let OwedKind::Worktree { record: Some(written), .. } = what else {
        return Err("there is no record of how it was made".to_owned());
    };
    serde_json::from_str(written).map_err(|error| format!("can't parse its record: {error}"))
}

/// Returns the plan of a session's worktree. A worktree whose plan can't be parsed was never made.
pub(crate) fn planned(spec: &SessionSpec) -> Option<WorktreeRecord> {
    serde_json::from_str(spec.worktree.as_ref()?.record.as_ref()?).ok()
}

/// Makes a worktree, or finds an existing one.
pub(crate) fn make_worktree(git: &Git, what: &OwedKind) -> Result<CreatedWorktree, String> {
    let record = record_of(what)?;
    point("daemon.worktree.make");
    let made = create(git, &record).map_err(|error| match error {
        CreateWorktreeError::Git(GitError::Cancelled { .. }) => "it was cancelled".to_owned(),
        error => chain(&error),
    });
    point("daemon.worktree.made");
    made
}

/// Returns what a user may want to know about how it was made.
pub(crate) fn remarks(made: &CreatedWorktree) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(code) = made.hook_failed {
        remarks.push(format!("a post-checkout hook failed with code {code}: {}", made.messages));
    }
    if !made.submodules.is_empty() {
        let list = made.submodules.join(", ");
        remarks.push(format!(
            "submodules are empty until `git submodule update --init` fills them: {list}"
        ));
    }
    remarks
}

/// Removes a worktree unless it contains something of value. Returns a remark if its branch stays.
pub(crate) fn remove_worktree(git: &Git, what: OwedKind) -> (Event, Option<String>) {
    let record = match record_of(&what) {
        Ok(record) => record,
        Err(why) => return (Event::Kept { what, why }, None),
    };
    point("daemon.worktree.remove");
    let removed = remove(git, &record);
    point("daemon.worktree.removed");
    match removed {
        Ok(RemoveOutcome::Gone { branch }) => {
            (Event::CleanedUp { what }, kept_branch(&record.branch, &branch))
        }
        Ok(RemoveOutcome::Kept { why }) => {
            (Event::Kept { what, why: texts(&why).join("; ") }, None)
        }
        Err(RemoveWorktreeError::NotOurs(why)) => {
            (Event::Kept { what, why: why.to_string() }, None)
        }
        Err(error) => (Event::CleanUpFailed { what, why: chain(&error) }, None),
    }
}

fn kept_branch(branch: &str, outcome: &BranchOutcome) -> Option<String> {
    let why = match outcome {
        BranchOutcome::NotOurs | BranchOutcome::Absent | BranchOutcome::Deleted { .. } => {
            return None;
        }
        BranchOutcome::HasCommits => "it has commits that are on no other branch".to_owned(),
        BranchOutcome::InUse(at) => format!("it is checked out at {}", at.display()),
    };
    Some(format!("the branch {branch} is kept: {why}"))
}

#[derive(Debug)]
pub(crate) enum RequestedRemoval {
    /// It was removed, and this was lost.
    Removed(LossesView),
    /// It contains something of value, and the removal was not forced.
    Kept(Vec<String>),
}

pub(crate) fn remove_on_request(
    git: &Git,
    what: &OwedKind,
    force: bool,
) -> Result<RequestedRemoval, String> {
    let record = record_of(what)?;
    if force {
        let losses = force_remove(git, &record).map_err(|error| chain(&error))?;
        return Ok(RequestedRemoval::Removed(losses_view(&losses)));
    }
    Ok(match remove(git, &record).map_err(|error| chain(&error))? {
        RemoveOutcome::Gone { .. } => RequestedRemoval::Removed(LossesView::default()),
        RemoveOutcome::Kept { why } => RequestedRemoval::Kept(texts(&why)),
    })
}

pub(crate) fn losses(git: &Git, what: &OwedKind) -> LossesView {
    match record_of(what) {
        Ok(record) => losses_view(&kennel_worktree::losses(git, &record)),
        Err(why) => LossesView { unknown: Some(why), ..LossesView::default() },
    }
}

fn losses_view(losses: &Losses) -> LossesView {
    let newest = losses.commits.newest.iter();
    let newest =
        newest.map(|commit| CommitView { id: commit.id.clone(), subject: commit.subject.clone() });
    LossesView {
        why: texts(&losses.why),
        changes: losses.changes.count(),
        changed: losses.changes.some.iter().map(|path| path.display().to_string()).collect(),
        commits: losses.commits.count,
        newest: newest.collect(),
        unknown: losses.unknown.clone(),
    }
}

fn texts(why: &[KeepReason]) -> Vec<String> {
    why.iter().map(KeepReason::to_string).collect()
}

fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owed(record: Option<&str>) -> OwedKind {
        OwedKind::Worktree {
            repo: "/r".into(),
            path: "/t".into(),
            branch: "b".into(),
            record: record.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn keeps_a_worktree_without_a_valid_record() {
        let git = Git::new([]);
        for record in [None, Some("{}"), Some("half")] {
            let (event, _) = remove_worktree(&git, owed(record));
            assert!(matches!(event, Event::Kept { .. }), "{event:?}");
            assert!(make_worktree(&git, &owed(record)).is_err());
            assert!(losses(&git, &owed(record)).unknown.is_some());
            assert!(remove_on_request(&git, &owed(record), true).is_err());
        }
    }

    #[test]
    fn keeps_only_what_git_needs_of_an_environment() {
        let all = ["PATH", "HOME", "GIT_CONFIG_GLOBAL", "API_KEY", "GIT_TOKEN"];
        let all = all.map(|name| (OsString::from(name), OsString::from("x"))).to_vec();
        let kept: Vec<_> = needed_of(&all).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["PATH", "HOME", "GIT_CONFIG_GLOBAL"]);
    }

    #[test]
    fn errors_contain_their_causes() {
        let error = kennel_worktree::LockError::Open {
            path: "/lock".into(),
            source: std::io::ErrorKind::PermissionDenied.into(),
        };
        assert_eq!(chain(&error), "can't lock /lock: permission denied");
    }
}
