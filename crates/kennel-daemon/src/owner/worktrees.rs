//! The owner's part in worktrees: it starts the tasks and handles their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kennel_core::Event;
use kennel_types::api::{WorktreeLosses, WorktreesView};
use kennel_types::{OwedKind, SessionId, WorktreeState};
use kennel_worktree::CreatedWorktree;

use super::Owner;
use crate::error::{Answer, ApiError, or_refuse};
use crate::launch::request::LaunchRequest;
use crate::owner::bus::Disconnect;
use crate::owner::waiters::Waiter;
use crate::worktree::tasks::{self, GitEnvironment, RequestedRemoval};
use crate::worktree::worktrees::{self, SessionWorktree, WorktreeEvent};

impl Owner {
    /// Plans the worktree before the session is admitted.
    pub(super) fn plan_worktree(
        &mut self,
        launch: Box<LaunchRequest>,
        disconnect: Option<Disconnect>,
        waiter: Waiter,
    ) {
        let id = match self.ids.session() {
            Ok(id) => id,
            Err(refused) => return waiter.refuse(refused),
        };
        let bus = self.bus.clone();
        self.worktrees.plan(id, launch, move |planned| {
            bus.call(move |owner| match planned {
                // The client has disconnected before anything was created: nothing is started.
                _ if waiter.is_abandoned() => {}
                Ok(launch) => owner.create(launch, disconnect, waiter),
                Err(refused) => waiter.refuse(refused),
            });
        });
    }

    /// The environment of the client that a session's worktree was made with.
    fn git_environment(&self, id: &SessionId) -> Option<&GitEnvironment> {
        self.launches.get(id).and_then(|runtime| runtime.git_environment.as_ref())
    }

    pub(super) fn make_worktree(&mut self, id: &SessionId, what: OwedKind) {
        let Some(runtime) = self.launches.get_mut(id) else { return };
        let environment = runtime.launch.as_ref().map(|launch| launch.env().clone());
        let needed = self.worktrees.environment_for_removal(environment.as_ref());
        runtime.git_environment = Some(needed);
        let cancel = Arc::new(AtomicBool::new(false));
        runtime.making = Some(cancel.clone());
        let owner = self.bus.sender(Self::worktree_event);
        self.worktrees.make(id, what, environment, cancel, owner);
    }

    /// The session is no longer wanted: cancels the git command that makes its worktree.
    pub(super) fn cancel_worktree(&self, id: &SessionId) {
        let making = self.launches.get(id).and_then(|runtime| runtime.making.as_ref());
        if let Some(cancel) = making {
            cancel.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn clean_up_worktree(&self, id: &SessionId, what: OwedKind) {
        let owner = self.bus.sender(Self::worktree_event);
        self.worktrees.clean_up(id, what, self.git_environment(id), owner);
    }

    fn worktree_event(&mut self, event: WorktreeEvent) {
        match event {
            WorktreeEvent::Made { session, what, made } => self.worktree_made(&session, what, made),
            WorktreeEvent::CleanedUp { session, event, remark } => {
                if let Some(remark) = remark {
                    self.note(Some(session.clone()), "worktree", remark);
                }
                self.apply(&session, &event);
            }
            WorktreeEvent::Removed { worktree, by, removed, answer } => {
                self.worktrees.removal_done(&worktree.view.path);
                answer.send(self.worktree_removed(*worktree, &by, removed)).ok();
            }
        }
    }

    fn worktree_made(
        &mut self,
        id: &SessionId,
        what: OwedKind,
        made: Result<CreatedWorktree, String>,
    ) {
        self.launches.update(id, |runtime| runtime.making = None);
        let made = match made {
            Ok(made) => made,
            Err(why) => return self.apply(id, &Event::MakeFailed { what, why }),
        };
        for remark in tasks::remarks(&made) {
            self.note(Some(id.clone()), "worktree", remark);
        }
        let runtime = self.launches.get_mut(id);
        if let Some(launch) = runtime.and_then(|runtime| runtime.launch.as_mut()) {
            launch.move_into_worktree(made.cwd);
        }
        self.apply(id, &Event::Made { what });
    }

    pub(crate) fn list_worktrees(&self) -> WorktreesView {
        let worktrees = worktrees::all(&self.world).into_iter().map(|it| it.view).collect();
        WorktreesView { worktrees }
    }

    pub(crate) fn worktree_losses(&self, reference: &str, answer: Answer<WorktreeLosses>) {
        let found = worktrees::find(&self.world, reference);
        let Some((worktree, answer)) = or_refuse(found, answer) else { return };
        let environment = self.git_environment(&worktree.session);
        self.worktrees.losses(worktree, environment, answer);
    }

    /// Removes a worktree at a user's request; with `force` even if something is lost.
    pub(crate) fn remove_worktree(
        &mut self,
        reference: &str,
        force: bool,
        by: String,
        answer: Answer<WorktreeLosses>,
    ) {
        let found = worktrees::find(&self.world, reference);
        let found = found.and_then(|found| self.worktrees.check_removable(found));
        let Some((worktree, answer)) = or_refuse(found, answer) else { return };
        let owner = self.bus.sender(Self::worktree_event);
        let runtime = self.launches.get(&worktree.session);
        let environment = runtime.and_then(|it| it.git_environment.as_ref());
        self.worktrees.remove(worktree, force, by, environment, owner, answer);
    }

    fn worktree_removed(
        &mut self,
        worktree: SessionWorktree,
        by: &str,
        removed: Result<RequestedRemoval, String>,
    ) -> Result<WorktreeLosses, ApiError> {
        let SessionWorktree { session: id, view, what } = worktree;
        let losses = match removed {
            Ok(RequestedRemoval::Removed(losses)) => losses,
            Ok(RequestedRemoval::Kept(why)) => {
                let text = format!("{} is kept: {}", view.path, why.join("; "));
                return Err(ApiError::conflict(text)
                    .hint(format!("`kennel worktrees rm --force {id}` removes it anyway")));
            }
            Err(failed) => return Err(ApiError::conflict(failed)),
        };
        let lost = if losses.why.is_empty() {
            "nothing was lost".to_owned()
        } else {
            losses.why.join("; ")
        };
        let cause = format!("{} was removed by {by}: {lost}", view.path);
        self.note(Some(id.clone()), "worktree_removed", cause);
        match view.state {
            WorktreeState::Kept => self.apply(&id, &Event::CleanedUp { what }),
            // The next try of the cleanup finds that it is gone.
            WorktreeState::Owed | WorktreeState::InUse => self.retry_now(&id),
        }
        Ok(WorktreeLosses { worktree: view, losses })
    }
}
