//! Worktrees of sessions: decided on before a session is taken in, made before its launch, removed after its end,
//! or kept until a person wants no more of them.
//!
//! ```text
//! create ── plan (a look, nothing made) ── admitted, record durable ── Make ── launch … end ── CleanUp
//!              │                                                                                 │
//!           refused                                                        gone, or kept ── `worktrees rm`
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kennel_core::{Event, Session};
use kennel_types::api::{WorktreeLosses, WorktreesView};
use kennel_types::{OwedKind, Phase, SessionId, WorktreeState, WorktreeView};
use kennel_worktree::{Git, Made};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

use super::Owner;
use crate::clock;
use crate::effects::worktree::{self, Environment, RemovalFailed, Wished};
use crate::message::{Answer, Command, Message};
use crate::order::NewLaunch;
use crate::refused::{Refused, RefusedKind};
use crate::waiters::Waiter;

/// How many at once may have git at work: it may hang for minutes, and must not take the threads of all others.
const GITS: usize = 16;

/// What is needed for worktrees.
pub(super) struct Ground {
    /// Where they go.
    place: PathBuf,
    /// The daemon's own environment, for what a former daemon left.
    environment: Environment,
    permits: Arc<Semaphore>,
    /// Those that a person has removed just now, by their folders.
    clearing: HashSet<String>,
}

/// What a person wants of a worktree.
#[derive(Debug)]
pub(crate) enum WorktreeCommand {
    /// All of them.
    List { answer: Answer<WorktreesView> },
    /// What would be lost with one.
    Losses { reference: String, answer: Answer<WorktreeLosses> },
    /// One shall go; with `force` even if something is lost.
    Remove { reference: String, force: bool, by: String, answer: Answer<WorktreeLosses> },
}

/// News of a worktree.
#[derive(Debug)]
pub(crate) enum WorktreeNews {
    /// It is decided on, or refused.
    Planned { planned: Result<(), Refused>, launch: Box<NewLaunch>, asker: Asker },
    /// It was made, or not.
    Made { session: SessionId, what: OwedKind, made: Result<Made, String> },
    /// A person wanted it removed.
    Cleared {
        session: SessionId,
        worktree: Box<WorktreeView>,
        what: OwedKind,
        by: String,
        wished: Result<Wished, RemovalFailed>,
        answer: Answer<WorktreeLosses>,
    },
}

/// Who waits for a session that is not there yet.
#[derive(Debug)]
pub(crate) struct Asker {
    pub(super) tether: Option<oneshot::Receiver<()>>,
    pub(super) waiter: Waiter,
}

impl Ground {
    pub(super) fn new(place: PathBuf, environment: Environment) -> Self {
        let permits = Arc::new(Semaphore::new(GITS));
        Self { place, environment, permits, clearing: HashSet::new() }
    }

    /// Where they go.
    pub(super) fn place(&self) -> &Path {
        &self.place
    }
}

impl Owner {
    /// Looks whether and how the worktree can be made, before the session is taken in.
    pub(super) fn plan_worktree(&mut self, mut launch: Box<NewLaunch>, asker: Asker) {
        let random = match super::ask::random() {
            Ok(random) => random,
            Err(error) => {
                return asker.waiter.refuse(Refused::internal(format!("no random: {error}")));
            }
        };
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of many")]
        let id = self.ids.next(clock::now_ms(), random[0] as u32);
        launch.id = Some(id.clone());
        let (bus, permits) = (self.bus.clone(), self.ground.permits.clone());
        let place = self.ground.place.clone();
        tokio::spawn(async move {
            // Never closed.
            let _permit = permits.acquire().await;
            let looked = spawn_blocking(move || {
                let asked = launch.spec.worktree.clone().unwrap_or_default();
                let (environment, folder) = (launch.env().clone(), launch.cwd());
                let plan = worktree::plan(environment, folder, &place, id.as_str(), &asked);
                let planned = plan.map(|plan| launch.spec.worktree = Some(plan));
                (planned, launch)
            });
            match looked.await {
                Ok((planned, launch)) => {
                    let news = WorktreeNews::Planned { planned, launch, asker };
                    bus.send(Message::Worktree(Box::new(news))).ok();
                }
                Err(error) => asker.waiter.refuse(Refused::internal(error)),
            }
        });
    }

    pub(super) fn worktree_news(&mut self, news: WorktreeNews) {
        match news {
            // Whoever asked has gone, and was told of nothing; so nothing is begun.
            WorktreeNews::Planned { asker, .. } if asker.waiter.is_abandoned() => {}
            WorktreeNews::Planned { planned: Ok(()), launch, asker } => {
                self.create(launch, asker.tether, asker.waiter);
            }
            WorktreeNews::Planned { planned: Err(refused), asker, .. } => {
                asker.waiter.refuse(refused);
            }
            WorktreeNews::Made { session, what, made } => self.worktree_made(&session, what, made),
            WorktreeNews::Cleared { session, worktree, what, by, wished, answer } => {
                self.ground.clearing.remove(&worktree.path);
                let cleared = self.worktree_cleared(&session, *worktree, what, &by, wished);
                answer.send(cleared).ok();
            }
        }
    }

    // For a session.

    /// Makes it, with the client's own environment: its settings, hooks and credentials hold.
    pub(super) fn make_worktree(&mut self, id: &SessionId, what: OwedKind) {
        let path = path_of(&what).to_owned();
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        let environment = runtime.launch.as_ref().map(|launch| launch.env().clone());
        let environment = environment.unwrap_or_else(|| self.ground.environment.clone());
        runtime.git_environment = Some(worktree::needed_of(&environment));
        let cancel = Arc::new(AtomicBool::new(false));
        runtime.making = Some(cancel.clone());
        let (bus, session, permits) = (self.bus.clone(), id.clone(), self.ground.permits.clone());
        let clearing = self.ground.clearing.contains(&path);
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            let made = if clearing {
                Err(format!("somebody is just removing the worktree {path}; try again"))
            } else {
                let git = Git::new(environment).cancelled_by(cancel);
                let what = what.clone();
                let made = spawn_blocking(move || worktree::make_it(&git, &what)).await;
                made.unwrap_or_else(|error| Err(error.to_string()))
            };
            let news = WorktreeNews::Made { session, what, made };
            bus.send(Message::Worktree(Box::new(news))).ok();
        });
    }

    fn worktree_made(&mut self, id: &SessionId, what: OwedKind, made: Result<Made, String>) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.making = None;
        }
        let made = match made {
            Ok(made) => made,
            Err(why) => return self.happen(id, &Event::MakeFailed { what, why }),
        };
        for remark in worktree::remarks(&made) {
            self.note(Some(id.clone()), "worktree", remark);
        }
        let runtime = self.runtimes.get_mut(id);
        if let Some(launch) = runtime.and_then(|runtime| runtime.launch.as_mut()) {
            launch.move_into_worktree(made.cwd);
        }
        self.happen(id, &Event::Made { what });
    }

    /// Nobody wants it any more: git is told to end.
    pub(super) fn call_off_making(&self, id: &SessionId) {
        let making = self.runtimes.get(id).and_then(|runtime| runtime.making.as_ref());
        if let Some(cancel) = making {
            cancel.store(true, Ordering::Relaxed);
        }
    }

    /// Removes it, or finds that it has something of value.
    pub(super) fn remove_worktree(&self, id: &SessionId, what: OwedKind) {
        let git = self.git_for(id);
        let (bus, session, permits) = (self.bus.clone(), id.clone(), self.ground.permits.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            let again = what.clone();
            let removed = spawn_blocking(move || worktree::remove_it(&git, what)).await;
            let (event, remark) = removed.unwrap_or_else(|error| {
                (Event::CleanUpFailed { what: again, why: error.to_string() }, None)
            });
            if let Some(cause) = remark {
                let note =
                    Command::Note { session: Some(session.clone()), kind: "worktree", cause };
                bus.send(Message::Command(note)).ok();
            }
            bus.send(Message::Happened { session, event }).ok();
        });
    }

    fn git_for(&self, id: &SessionId) -> Git {
        let own = self.runtimes.get(id).and_then(|runtime| runtime.git_environment.clone());
        Git::new(own.unwrap_or_else(|| self.ground.environment.clone()))
    }

    // For a person.

    pub(super) fn worktree_command(&mut self, command: WorktreeCommand) {
        match command {
            WorktreeCommand::List { answer } => {
                let worktrees = self.worktrees().into_iter().map(|(_, view, _)| view).collect();
                answer.send(Ok(WorktreesView { worktrees })).ok();
            }
            WorktreeCommand::Losses { reference, answer } => match self.find_worktree(&reference) {
                Ok((id, worktree, what)) => self.tell_losses(&id, worktree, what, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            WorktreeCommand::Remove { reference, force, by, answer } => {
                match self.find_worktree(&reference).and_then(|found| self.may_clear(found)) {
                    Ok((id, worktree, what)) => {
                        self.clear_worktree(id, worktree, what, force, by, answer);
                    }
                    Err(refused) => drop(answer.send(Err(refused))),
                }
            }
        }
    }

    /// All worktrees, of the oldest session first.
    fn worktrees(&self) -> Vec<(SessionId, WorktreeView, OwedKind)> {
        let mut found = Vec::new();
        for session in self.world.sessions() {
            for owed in &session.owed {
                let state = match session.phase {
                    Phase::Reaped | Phase::Cleaned => WorktreeState::Owed,
                    _ => WorktreeState::InUse,
                };
                let Some(view) = view_of(session, &owed.what, state) else { continue };
                let (failures, failed_because) = (owed.failures, owed.why.clone());
                let view = WorktreeView { failures, failed_because, ..view };
                found.push((session.id.clone(), view, owed.what.clone()));
            }
        }
        for (id, kept) in self.world.kept() {
            let Some(session) = self.world.get(id) else { continue };
            let Some(view) = view_of(session, &kept.what, WorktreeState::Kept) else { continue };
            let view = WorktreeView { kept_because: Some(kept.why.clone()), ..view };
            found.push((id.clone(), view, kept.what.clone()));
        }
        found
    }

    /// One, by the id of its session, its folder, its branch, or whatever else names its session. A branch may have any
    /// name, also that of a session: an id means the session.
    fn find_worktree(
        &self,
        reference: &str,
    ) -> Result<(SessionId, WorktreeView, OwedKind), Refused> {
        let all = self.worktrees();
        let by_place = |(_, view, _): &&(_, WorktreeView, _)| {
            view.path == reference || view.branch == reference
        };
        let is_id = SessionId::parse(reference).is_ok() && self.world.find(reference).is_ok();
        let matching: Vec<_> = all.iter().filter(|it| !is_id && by_place(it)).cloned().collect();
        let matching = if matching.is_empty() {
            let id = self.world.find(reference)?.clone();
            all.into_iter().filter(|(of, _, _)| of.is_kin_of(&id)).collect()
        } else {
            matching
        };
        let mut matching = matching.into_iter();
        match (matching.next(), matching.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => {
                let text = format!("there is no worktree of {reference}");
                Err(Refused::new(RefusedKind::NotFound, text).hint("`kennel worktrees` lists all"))
            }
            (Some(_), Some(_)) => {
                let text = format!("{reference} is said of several worktrees");
                Err(Refused::new(RefusedKind::Ambiguous, text).hint("give the folder of one"))
            }
        }
    }

    fn may_clear(
        &self,
        found: (SessionId, WorktreeView, OwedKind),
    ) -> Result<(SessionId, WorktreeView, OwedKind), Refused> {
        let (id, view, _) = &found;
        if view.state == WorktreeState::InUse {
            let text = format!("session {id} has not ended, and works in {}", view.path);
            return Err(Refused::conflict(text).hint("stop it first"));
        }
        if self.ground.clearing.contains(&view.path) {
            return Err(Refused::conflict(format!("{} is just being removed", view.path)));
        }
        Ok(found)
    }

    fn tell_losses(
        &self,
        id: &SessionId,
        worktree: WorktreeView,
        what: OwedKind,
        answer: Answer<WorktreeLosses>,
    ) {
        let (git, permits) = (self.git_for(id), self.ground.permits.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            let losses = spawn_blocking(move || worktree::losses(&git, &what)).await;
            let losses = losses.map(|losses| WorktreeLosses { worktree, losses });
            answer.send(losses.map_err(Refused::internal)).ok();
        });
    }

    fn clear_worktree(
        &mut self,
        session: SessionId,
        worktree: WorktreeView,
        what: OwedKind,
        force: bool,
        by: String,
        answer: Answer<WorktreeLosses>,
    ) {
        let (git, permits) = (self.git_for(&session), self.ground.permits.clone());
        self.ground.clearing.insert(worktree.path.clone());
        let (bus, worktree) = (self.bus.clone(), Box::new(worktree));
        tokio::spawn(async move {
            let _permit = permits.acquire().await;
            let copy = what.clone();
            let wished =
                spawn_blocking(move || worktree::remove_as_wished(&git, &copy, force)).await;
            let wished = wished.unwrap_or_else(|error| Err(RemovalFailed::new(&error)));
            let news = WorktreeNews::Cleared { session, worktree, what, by, wished, answer };
            bus.send(Message::Worktree(Box::new(news))).ok();
        });
    }

    fn worktree_cleared(
        &mut self,
        id: &SessionId,
        worktree: WorktreeView,
        what: OwedKind,
        by: &str,
        wished: Result<Wished, RemovalFailed>,
    ) -> Result<WorktreeLosses, Refused> {
        let losses = match wished {
            Ok(Wished::Gone(losses)) => losses,
            Ok(Wished::Kept(why)) => {
                let text = format!("{} is kept: {}", worktree.path, why.join("; "));
                return Err(Refused::conflict(text)
                    .hint(format!("`kennel worktrees rm --force {id}` removes it with all that")));
            }
            Err(failed) => return Err(Refused::conflict(failed)),
        };
        let lost = if losses.why.is_empty() { String::new() } else { losses.why.join("; ") };
        let lost = if lost.is_empty() { "nothing was lost".to_owned() } else { lost };
        let cause = format!("{} was removed by {by}: {lost}", worktree.path);
        self.note(Some(id.clone()), "worktree_removed", cause);
        match worktree.state {
            WorktreeState::Kept => self.happen(id, &Event::CleanedUp { what }),
            // The next try finds that it is gone.
            WorktreeState::Owed | WorktreeState::InUse => self.retry_now(id),
        }
        Ok(WorktreeLosses { worktree, losses })
    }

    /// The folder of a worktree that this session has left, and that nobody has removed or taken over.
    pub(super) fn kept_worktree(&self, id: &SessionId) -> Option<&str> {
        self.world.kept_by(id).next().map(|kept| path_of(&kept.what))
    }
}

fn path_of(what: &OwedKind) -> &str {
    match what {
        OwedKind::Worktree { path, .. } | OwedKind::PenFolder { path } => path,
        OwedKind::RuntimeFiles => "",
    }
}

fn view_of(session: &Session, what: &OwedKind, state: WorktreeState) -> Option<WorktreeView> {
    let OwedKind::Worktree { repo, path, branch, .. } = what else { return None };
    Some(WorktreeView {
        session: session.id.to_string(),
        name: session.spec.name.clone(),
        state,
        repo: repo.clone(),
        path: path.clone(),
        branch: branch.clone(),
        kept_because: None,
        failures: 0,
        failed_because: None,
    })
}
