//! Commands: what clients request.

use std::time::{Duration, Instant};

use kennel_core::{Event, Session, StopIntent};
use kennel_keeper::fault::point;
use kennel_types::api::{DaemonView, SettingsView, StopRequest, StopResponse, StopResult};
use kennel_types::{Phase, Reason, RelaunchState, SessionId, SessionView};

use super::Owner;
use crate::error::{Answer, ApiError};
use crate::launch::limits::LaunchLimits;
use crate::os::clock;
use crate::owner::message::{Command, Inspected, Message};
use crate::owner::view;
use crate::owner::waiters::{Waiter, stop_answer};
use crate::recover::census::{LiveSession, SessionCensus};

/// How long a stop request waits beyond the grace.
const BEYOND_GRACE: Duration = Duration::from_secs(30);
/// How long it waits if survivors are already known that can't be ended.
const KNOWN_SURVIVORS: Duration = Duration::from_secs(5);

impl Owner {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Create { launch, tether, until, answer } => {
                self.create(launch, tether, Waiter::until(until, answer));
            }
            Command::Adopt { adoptee, answer } => self.adopt(*adoptee, answer),
            Command::Handle { reference, answer } => {
                drop(answer.send(self.handle_of(&reference)));
            }
            Command::AskAgain { session, launch, tether, until, answer } => {
                self.ask_again(&session, launch, tether, Waiter::until(until, answer));
            }
            Command::Resume(resume) => self.resume(resume),
            Command::List { wish, answer } => drop(answer.send(self.list(&wish))),
            Command::Show { reference, answer } => {
                let shown = self.find(&reference).and_then(|id| self.show(&id));
                answer.send(shown).ok();
            }
            Command::Inspect { reference, answer } => {
                let inspected = self.find(&reference).and_then(|id| self.inspected(id));
                answer.send(inspected).ok();
            }
            Command::Wait { reference, tether, answer } => match self.find(&reference) {
                Ok(id) => {
                    if let Some(tether) = tether {
                        self.tie_prompt(&id, tether);
                    }
                    self.wait(&id, Waiter::Settled(answer));
                }
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Stop { reference, wish, answer } => match self.find(&reference) {
                Ok(id) => self.stop(&id, wish, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Forget { reference, by, answer } => match self.find(&reference) {
                Ok(id) if self.is_adopted(&id) => self.release_process(&id, by, answer),
                found => drop(answer.send(found.and_then(|id| self.forget(&id, by)))),
            },
            Command::Remove { reference, answer } => match self.find(&reference) {
                Ok(id) => self.remove(id, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Prune { before_ms, pruning, answer } => {
                self.prune(before_ms, pruning, answer);
            }
            Command::Daemon { answer } => drop(answer.send(Ok(self.daemon_view()))),
            Command::Census { answer } => drop(answer.send(self.census())),
            Command::Keepers { answer } => self.keepers.list(answer),
            Command::Report { request, from, answer } => {
                self.agent_reported(&request, &from, answer)
            }
            Command::Note { session, kind, cause } => self.note(session, kind, cause),
            Command::Worktree(command) => self.worktree_command(command),
            Command::Plan(command) => self.plan_command(command),
            Command::Look(command) => self.status_command(command),
            Command::Member(command) => self.member_command(command),
            Command::Leave(leave) => self.leave(leave),
        }
    }

    pub(super) fn find(&self, reference: &str) -> Result<SessionId, ApiError> {
        Ok(self.world.find(reference)?.clone())
    }

    fn show(&self, id: &SessionId) -> Result<SessionView, ApiError> {
        self.view(id).ok_or_else(|| ApiError::internal(format!("session {id} is gone")))
    }

    // Waiting and stopping.

    pub(super) fn wait(&mut self, id: &SessionId, waiter: Waiter) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.await_with(waiter);
        }
        self.tell_waiters(id, None);
    }

    pub(super) fn request_stop(&mut self, id: &SessionId, grace: Option<Duration>, reason: Reason) {
        point("daemon.stop.asked");
        self.happen(id, &Event::StopAsked(StopIntent { grace, reason }));
        self.retry_now(id);
    }

    fn stop(&mut self, id: &SessionId, wish: StopRequest, answer: Answer<StopResponse>) {
        let since = Instant::now();
        let Some(session) = self.world.get(id) else { return };
        if session.has_ended() && !may_follow(session) {
            let gone = self.show(id).map(|v| stop_answer(StopResult::AlreadyGone, v, since));
            return drop(answer.send(gone));
        }
        let grace =
            if wish.now { Some(Duration::ZERO) } else { wish.grace_ms.map(Duration::from_millis) };
        let patience = if session.survivors.is_empty() {
            grace.unwrap_or(session.spec.grace).saturating_add(BEYOND_GRACE)
        } else {
            KNOWN_SURVIVORS
        };
        let patience =
            wish.wait_ms.map_or(patience, |wait| patience.min(Duration::from_millis(wait)));
        let until = since.checked_add(patience).unwrap_or(since + BEYOND_GRACE);
        self.await_stopped(id, since, until, answer);
        self.request_stop(id, grace, Reason::Stopped { by: wish.by });
    }

    /// Answers when the session is over or can't be ended for now, or at `until`.
    pub(super) fn await_stopped(
        &mut self,
        id: &SessionId,
        since: Instant,
        until: Instant,
        answer: Answer<StopResponse>,
    ) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.await_with(Waiter::Stopped { answer, since, until });
        }
        let limit = until.saturating_duration_since(Instant::now());
        self.send_later(limit, Message::StopOverdue { session: id.clone() });
    }

    fn forget(&mut self, id: &SessionId, by: String) -> Result<SessionView, ApiError> {
        if self.world.get(id).is_none_or(|session| session.phase != Phase::Lost) {
            return Err(ApiError::conflict(format!("session {id} is not lost")).hint(
                "only a session that can no longer be observed is forgotten; stop it instead",
            ));
        }
        self.happen(id, &Event::Forgotten { by });
        self.show(id)
    }

    // Views.

    fn inspected(&self, id: SessionId) -> Result<Inspected, ApiError> {
        let view = self.show(&id)?;
        let gone = || ApiError::internal(format!("session {id} is gone"));
        let launches = self.world.launches(&id).filter_map(|it| self.view(&it.id)).collect();
        let launch = view::launch(self.world.get(&id).ok_or_else(gone)?);
        let keeper_pid = self.runtimes.get(&id).and_then(|runtime| runtime.keeper_pid);
        Ok(Inspected { view, launch, launches, keeper_pid, id })
    }

    fn daemon_view(&self) -> DaemonView {
        DaemonView {
            pid: rustix::process::getpid().as_raw_pid(),
            yard_pid: self.keepers.has_yard().then_some(self.keepers.yard().pid),
            version: self.version.clone(),
            home: self.home.folder.display().to_string(),
            home_id: self.home.id.to_string(),
            started_at: clock::rfc3339(self.started_ms),
            live: self.admission.live() as u64,
            total: self.world.sessions().len() as u64,
            settings: Some(self.settings_view()),
            // Filled in by the API.
            listen: None,
            environment: [].into(),
        }
    }

    fn settings_view(&self) -> SettingsView {
        let LaunchLimits { caps, minima, key_retention } = self.admission.limits();
        let names = caps.names.iter().map(|cap| (cap.pattern.to_string(), cap.most));
        SettingsView {
            max_live: caps.live,
            max_launching: caps.launching,
            max_live_by_name: names.collect(),
            key_retention_ms: u64::try_from(key_retention.as_millis()).unwrap_or(u64::MAX),
            ended_kept: self.retention.ended_limit() as u64,
            min_free_disk: minima.disk,
            min_free_memory: minima.memory,
            worktrees: self.worktrees.folder().display().to_string(),
        }
    }

    fn census(&self) -> SessionCensus {
        let mut census = SessionCensus::default();
        census.own.extend([rustix::process::getpid().as_raw_pid(), self.keepers.yard().pid]);
        census.own.extend(self.keepers.pids());
        for session in self.world.sessions() {
            census.known.insert(session.id.clone());
            if session.is_live() {
                let runtime = self.runtimes.get(&session.id);
                let keeper = runtime.and_then(|runtime| runtime.keeper_pid);
                let lost = session.phase == Phase::Lost;
                census.live.insert(session.id.to_string(), LiveSession { keeper, lost });
            }
        }
        census
    }
}

/// Whether another launch may follow one that has ended. That is decided when it is cleaned.
fn may_follow(session: &Session) -> bool {
    match session.relaunch {
        RelaunchState::Pending => true,
        RelaunchState::Undecided => {
            session.spec.repeats() && session.phase != Phase::Cleaned || session.awaits_verdict()
        }
        RelaunchState::Launched | RelaunchState::CalledOff { .. } => false,
    }
}
