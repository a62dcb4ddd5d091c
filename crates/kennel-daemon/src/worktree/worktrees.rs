//! Worktrees of sessions: planned before a session is admitted, made before its launch, removed
//! after its end, or kept until a user removes them.
//!
//! ```text
//! create ── plan (nothing is made) ── admitted, record durable ── make ── launch … end ── clean up
//!              │                                                                             │
//!           refused                                   removed, or kept until `worktrees rm` ──┘
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kennel_core::{Event, FindError, Session, World};
use kennel_types::api::WorktreeLosses;
use kennel_types::{OwedKind, Phase, SessionId, WorktreeState, WorktreeView};
use kennel_worktree::{CreatedWorktree, Git};
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

use crate::error::{Answer, ApiError, ApiErrorKind};
use crate::event_sender::EventSender;
use crate::launch::request::LaunchRequest;
use crate::worktree::tasks::{self, GitEnvironment, RequestedRemoval};

/// How many git commands run at once. One may hang for minutes and must not take all blocking
/// threads.
const GIT_LIMIT: usize = 16;

/// What git needs to make and remove worktrees, and which of them users are removing.
#[derive(Debug)]
pub(crate) struct Worktrees {
    folder: PathBuf,
    /// The daemon's own environment, for worktrees of a former daemon.
    environment: GitEnvironment,
    permits: Arc<Semaphore>,
    being_removed: HashSet<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct SessionWorktree {
    pub(crate) session: SessionId,
    pub(crate) view: WorktreeView,
    pub(crate) what: OwedKind,
}

#[derive(Debug)]
pub(crate) enum WorktreeEvent {
    Made {
        session: SessionId,
        what: OwedKind,
        made: Result<CreatedWorktree, String>,
    },
    /// The cleanup of a session has removed it, kept it, or failed. The remark describes what
    /// happened to its branch.
    CleanedUp {
        session: SessionId,
        event: Event,
        remark: Option<String>,
    },
    Removed {
        worktree: Box<SessionWorktree>,
        by: String,
        removed: Result<RequestedRemoval, String>,
        answer: Answer<WorktreeLosses>,
    },
}

impl Worktrees {
    pub(crate) fn new(folder: PathBuf, environment: GitEnvironment) -> Self {
        let permits = Arc::new(Semaphore::new(GIT_LIMIT));
        Self { folder, environment, permits, being_removed: HashSet::new() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns git with the environment of a session's client, or the daemon's own.
    fn git(&self, environment: Option<&GitEnvironment>) -> Git {
        Git::new(environment.unwrap_or(&self.environment).clone())
    }

    /// Does blocking work with git once there is a permit.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(Result<T, JoinError>) + Send + 'static,
    ) {
        let permits = self.permits.clone();
        tokio::spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await;
            done(spawn_blocking(work).await);
        });
    }

    /// Plans the worktree of a session that will have this id. The result is passed to `done`, with
    /// the launch that has the plan in it.
    pub(crate) fn plan(
        &self,
        id: SessionId,
        mut launch: Box<LaunchRequest>,
        done: impl FnOnce(Result<Box<LaunchRequest>, ApiError>) + Send + 'static,
    ) {
        launch.id = Some(id.clone());
        let parent = self.folder.clone();
        let plan = move || {
            let asked = launch.spec.worktree.clone().unwrap_or_default();
            let (environment, folder) = (launch.env().clone(), launch.cwd());
            let plan = tasks::plan(environment, folder, &parent, id.as_str(), &asked)?;
            launch.spec.worktree = Some(plan);
            Ok(launch)
        };
        self.run(plan, |planned| {
            done(planned.unwrap_or_else(|error| Err(ApiError::internal(error))));
        });
    }

    /// Makes a worktree with the client's environment, so that its settings, hooks and credentials
    /// apply.
    pub(crate) fn make(
        &self,
        session: &SessionId,
        what: OwedKind,
        environment: Option<GitEnvironment>,
        cancel: Arc<AtomicBool>,
        owner: EventSender<WorktreeEvent>,
    ) {
        let (session, again) = (session.clone(), what.clone());
        let path = path_of(&what).to_owned();
        let conflict = self.being_removed.contains(&path);
        let git = self.git(environment.as_ref()).cancelled_by(cancel);
        let make = move || {
            if conflict {
                return Err(format!("the worktree {path} is being removed; try again"));
            }
            tasks::make_worktree(&git, &what)
        };
        self.run(make, move |made| {
            let made = made.unwrap_or_else(|error| Err(error.to_string()));
            owner.send(WorktreeEvent::Made { session, what: again, made });
        });
    }

    /// Returns as much of a client's environment as is needed to remove the worktree later.
    pub(crate) fn environment_for_removal(
        &self,
        client: Option<&GitEnvironment>,
    ) -> GitEnvironment {
        tasks::needed_of(client.unwrap_or(&self.environment))
    }

    /// Removes the worktree of a session that has ended, unless it contains something of value.
    pub(crate) fn clean_up(
        &self,
        session: &SessionId,
        what: OwedKind,
        environment: Option<&GitEnvironment>,
        owner: EventSender<WorktreeEvent>,
    ) {
        let (git, session, again) = (self.git(environment), session.clone(), what.clone());
        self.run(
            move || tasks::remove_worktree(&git, what),
            move |removed| {
                let (event, remark) = removed.unwrap_or_else(|error| {
                    (Event::CleanUpFailed { what: again, why: error.to_string() }, None)
                });
                owner.send(WorktreeEvent::CleanedUp { session, event, remark });
            },
        );
    }

    pub(crate) fn losses(
        &self,
        worktree: SessionWorktree,
        environment: Option<&GitEnvironment>,
        answer: Answer<WorktreeLosses>,
    ) {
        let (git, SessionWorktree { view, what, .. }) = (self.git(environment), worktree);
        self.run(
            move || tasks::losses(&git, &what),
            move |losses| {
                let losses = losses.map(|losses| WorktreeLosses { worktree: view, losses });
                answer.send(losses.map_err(ApiError::internal)).ok();
            },
        );
    }

    /// Removes a worktree at a user's request; [`Worktrees::removal_done`] must follow.
    pub(crate) fn remove(
        &mut self,
        worktree: SessionWorktree,
        force: bool,
        by: String,
        environment: Option<&GitEnvironment>,
        owner: EventSender<WorktreeEvent>,
        answer: Answer<WorktreeLosses>,
    ) {
        let git = self.git(environment);
        self.being_removed.insert(worktree.view.path.clone());
        let (worktree, what) = (Box::new(worktree.clone()), worktree.what);
        self.run(
            move || tasks::remove_on_request(&git, &what, force),
            move |removed| {
                let removed = removed.unwrap_or_else(|error| Err(error.to_string()));
                owner.send(WorktreeEvent::Removed { worktree, by, removed, answer });
            },
        );
    }

    pub(crate) fn removal_done(&mut self, path: &str) {
        self.being_removed.remove(path);
    }

    pub(crate) fn check_removable(
        &self,
        worktree: SessionWorktree,
    ) -> Result<SessionWorktree, ApiError> {
        let SessionWorktree { session, view, .. } = &worktree;
        if view.state == WorktreeState::InUse {
            let text = format!("session {session} has not ended and works in {}", view.path);
            return Err(ApiError::conflict(text).hint("stop it first"));
        }
        if self.being_removed.contains(&view.path) {
            return Err(ApiError::conflict(format!("{} is being removed", view.path)));
        }
        Ok(worktree)
    }
}

/// Returns all worktrees, those of the oldest session first.
pub(crate) fn all(world: &World) -> Vec<SessionWorktree> {
    let owed = world.sessions().flat_map(|session| {
        let ended = matches!(session.phase, Phase::Reaped | Phase::Cleaned);
        let state = if ended { WorktreeState::Owed } else { WorktreeState::InUse };
        session.owed.iter().filter_map(move |owed| {
            let mut found = worktree_of(session, &owed.what, state)?;
            found.view.failures = owed.failures;
            found.view.failed_because = owed.why.clone();
            Some(found)
        })
    });
    let kept = world.kept().filter_map(|(id, kept)| {
        let mut found = worktree_of(world.get(id)?, &kept.what, WorktreeState::Kept)?;
        found.view.kept_because = Some(kept.why.clone());
        Some(found)
    });
    owed.chain(kept).collect()
}

/// Finds a worktree by its path, its branch, or a reference to its session. A branch may have the
/// name of a session; a session's id always means the session.
pub(crate) fn find(world: &World, reference: &str) -> Result<SessionWorktree, ApiError> {
    let all = all(world);
    let is_id = SessionId::parse(reference).is_ok() && world.find(reference).is_ok();
    let named = |it: &&SessionWorktree| it.view.path == reference || it.view.branch == reference;
    let mut matching: Vec<_> = all.iter().filter(|it| !is_id && named(it)).cloned().collect();
    if matching.is_empty() {
        match world.find(reference) {
            Ok(id) => matching.extend(all.into_iter().filter(|it| it.session.is_same_session(id))),
            Err(FindError::NotFound { .. }) => {}
            Err(ambiguous) => return Err(ambiguous.into()),
        }
    }
    let one = matching.pop().ok_or_else(|| {
        ApiError::not_found(format!("there is no worktree {reference:?}"))
            .hint("`kennel worktrees` lists all")
    })?;
    if !matching.is_empty() {
        let text = format!("{reference} matches several worktrees");
        return Err(ApiError::new(ApiErrorKind::Ambiguous, text).hint("give the path of one"));
    }
    Ok(one)
}

/// Returns the path of a worktree that this session has left and that was not removed or taken
/// over.
pub(crate) fn kept_path<'a>(world: &'a World, id: &SessionId) -> Option<&'a str> {
    world.kept_by(id).next().map(|kept| path_of(&kept.what))
}

fn path_of(what: &OwedKind) -> &str {
    match what {
        OwedKind::Worktree { path, .. } | OwedKind::PenFolder { path } => path,
        OwedKind::RuntimeFiles => "",
    }
}

fn worktree_of(
    session: &Session,
    what: &OwedKind,
    state: WorktreeState,
) -> Option<SessionWorktree> {
    let OwedKind::Worktree { repo, path, branch, .. } = what else { return None };
    let view = WorktreeView {
        session: session.id.to_string(),
        name: session.spec.name.clone(),
        state,
        repo: repo.clone(),
        path: path.clone(),
        branch: branch.clone(),
        kept_because: None,
        failures: 0,
        failed_because: None,
    };
    Some(SessionWorktree { session: session.id.clone(), view, what: what.clone() })
}

#[cfg(test)]
mod tests {
    use kennel_types::{IdMaker, LaunchToken, Owed};

    use super::*;
    use crate::launch::request::tests::request;

    fn world(branches: &[&str], phase: Phase) -> (World, Vec<SessionId>) {
        let (mut world, mut ids) = (World::default(), IdMaker::default());
        let sessions = branches.iter().map(|branch| {
            let what = OwedKind::Worktree {
                repo: "/r".into(),
                path: format!("/t/{branch}"),
                branch: (*branch).to_owned(),
                record: None,
            };
            let owed = vec![Owed { what, failures: 0, why: None }];
            let spec = request(&["true"]).spec;
            let mut session = Session::new(ids.next(1, 1), spec, LaunchToken::new(1), owed);
            session.phase = phase;
            session
        });
        let sessions: Vec<_> = sessions.collect();
        let ids = sessions.iter().map(|session| session.id.clone()).collect();
        let _effects = world.restore(sessions);
        (world, ids)
    }

    #[test]
    fn finds_a_worktree_by_path_branch_or_session() {
        let (world, ids) = world(&["a", "b"], Phase::Reaped);
        assert_eq!(all(&world).len(), 2);
        for reference in ["/t/b", "b", ids[1].as_str()] {
            assert_eq!(find(&world, reference).unwrap().session, ids[1], "{reference}");
        }
        assert_eq!(find(&world, "c").unwrap_err().problem().code, "not_found");
    }

    #[test]
    fn refuses_to_remove_a_worktree_that_is_in_use_or_being_removed() {
        let mut worktrees = Worktrees::new("/t".into(), Vec::new());
        let (used, _) = world(&["a"], Phase::Running);
        let refused = worktrees.check_removable(find(&used, "a").unwrap()).unwrap_err();
        assert!(refused.problem().detail.contains("has not ended"));
        let (ended, _) = world(&["a"], Phase::Reaped);
        let worktree = worktrees.check_removable(find(&ended, "a").unwrap()).unwrap();
        worktrees.being_removed.insert(worktree.view.path.clone());
        assert!(worktrees.check_removable(worktree.clone()).is_err());
        worktrees.removal_done(&worktree.view.path);
        assert!(worktrees.check_removable(worktree).is_ok());
    }
}
