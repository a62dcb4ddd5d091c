//! Relaunching a session: because a client requests it, or because the restart policy requires it.

use kennel_types::LaunchFailure;
use std::time::Duration;

use kennel_core::{Event, Relaunch, RelaunchBy, RelaunchRefusal, Relaunched, Session, StopIntent};
use kennel_keeper::fault::point;
use kennel_types::api::{ResumeRequest, Until};
use kennel_types::{Phase, Reason, RelaunchState, SessionId, SessionView};
use rustix::fd::OwnedFd;

use super::Owner;
use super::create::owed;
use super::step::NewEvents;
use crate::error::{Answer, ApiError};
use crate::launch::admission::LaunchSlot;
use crate::launch::ids::LaunchIds;
use crate::launch::request::LaunchRequest;
use crate::owner::bus::Disconnect;
use crate::owner::waiters::{SessionProgress, Waiter};
use crate::prompt::settle::next_attempt;

/// The pause before another try of a restart for which the machine had no room.
const NO_ROOM: Duration = Duration::from_secs(10);
/// Why a launch of a former daemon does not happen.
const LOST_ENVIRONMENT: &str = "its environment was lost with the former daemon";

pub(crate) struct Resume {
    pub(crate) reference: String,
    pub(crate) request: ResumeRequest,
    /// Its standard input, if the client has handed one over.
    pub(crate) given: Option<OwnedFd>,
    pub(crate) until: Until,
    pub(crate) disconnect: Option<Disconnect>,
    pub(crate) answer: Answer<SessionView>,
}

/// Whether the restart policy may relaunch a session. It never relaunches one that is tied to a
/// client.
pub(super) fn repeats(session: &Session) -> bool {
    session.spec.repeats() && !session.spec.tethered
}

impl Owner {
    // Requests of clients.

    /// Relaunches a session after the launch that the client has seen last.
    pub(crate) fn resume(&mut self, resume: Resume) {
        // A client that has disconnected needs no launch.
        if resume.answer.is_closed() {
            return;
        }
        match self.resume_after(&resume) {
            Ok(after) => self.relaunch_for(&after, resume),
            Err(refused) => drop(resume.answer.send(Err(refused))),
        }
    }

    fn resume_after(&self, resume: &Resume) -> Result<SessionId, ApiError> {
        let found = self.find(&resume.reference)?;
        if self.is_adopted(&found) {
            return Err(RelaunchRefusal::NotLaunched(found).into());
        }
        match &resume.request.after {
            None => Ok(found),
            Some(after) if after.is_same_session(&found) => Ok(after.clone()),
            Some(after) => {
                let text = format!("{after} is not a launch of session {}", found.base());
                Err(ApiError::invalid(text))
            }
        }
    }

    fn relaunch_for(&mut self, after: &SessionId, mut resume: Resume) {
        let ready = self
            .world
            .newest(after)
            .is_some_and(|newest| newest.id == *after && newest.phase == Phase::Cleaned);
        let prepared = match ready {
            true => {
                let (request, given) = (resume.request.clone(), resume.given.take());
                self.prepare_relaunch(after, request, given).map(Some)
            }
            false => Ok(None),
        };
        let (prepared, token) = match prepared.and_then(|it| Ok((it, LaunchIds::token()?))) {
            Ok(prepared) => prepared,
            Err(refused) => return drop(resume.answer.send(Err(refused))),
        };
        let queued = matches!(prepared, Some((_, LaunchSlot::Queued)));
        let by = RelaunchBy::Caller {
            name: resume.request.by.clone(),
            parent: resume.request.parent.clone(),
            tethered: resume.request.tethered,
        };
        let how = Relaunch { token, owed: owed(), queued, by, changes: None };
        match (self.world.relaunch(after, how), prepared) {
            (Relaunched::Admitted { id, effects }, Some((launch, _))) => {
                point("daemon.relaunch.resumed");
                self.begin(&id, launch, effects, "resumed by a client");
                self.move_waiters(after, &id);
                self.stop_on_disconnect(&id, resume.disconnect);
                self.wait(&id, Waiter::Until(resume.until, resume.answer));
            }
            (Relaunched::Already { id }, _) => self.rejoin_resumed(&id, resume),
            (Relaunched::Wait { id }, _) => {
                resume.request.after = Some(after.clone());
                self.launches.update(&id, |runtime| runtime.resumers.push(resume));
            }
            (Relaunched::Refused(refusal), _) => drop(resume.answer.send(Err(refusal.into()))),
            // It is admitted only if its former launch is cleaned, and then it was prepared.
            (Relaunched::Admitted { id, .. }, None) => {
                let text = format!("there is nothing to launch for {id}");
                drop(resume.answer.send(Err(ApiError::internal(text))));
            }
        }
    }

    fn prepare_relaunch(
        &mut self,
        former: &SessionId,
        request: ResumeRequest,
        given: Option<OwnedFd>,
    ) -> Result<(Box<LaunchRequest>, LaunchSlot), ApiError> {
        let gone = || ApiError::internal(format!("session {former} is gone"));
        let session = self.world.get(former).ok_or_else(gone)?;
        if session.spec.agent.is_some() {
            return Err(RelaunchRefusal::of_agent(session).into());
        }
        let spec = session.spec.clone();
        if self.launches.get(former).is_none_or(|runtime| runtime.removing) {
            return Err(ApiError::conflict(format!("session {former} is being removed")));
        }
        let launch = Box::new(LaunchRequest::resumed(spec, request, given)?);
        let slot = self.slot_for(&launch)?;
        Ok((launch, slot))
    }

    /// Repeats the requests for another launch that came while this one was about to end.
    pub(super) fn repeat_resumes(&mut self, id: &SessionId, progress: SessionProgress) {
        let lost = self.world.get(id).is_some_and(|session| session.phase == Phase::Lost);
        if !lost && !matches!(progress, SessionProgress::Over | SessionProgress::Relaunching) {
            return;
        }
        let Some(runtime) = self.launches.get_mut(id) else { return };
        for resume in std::mem::take(&mut runtime.resumers) {
            self.bus.call(move |owner| owner.resume(resume));
        }
    }

    // The restart policy.

    /// Continues what a former daemon left: the queue, and pauses before further launches.
    pub(super) fn continue_restored(&mut self) {
        let queued = self.world.sessions().filter(|s| s.phase == Phase::Queued);
        let queued: Vec<_> = queued.map(|session| session.id.clone()).collect();
        for id in &queued {
            if self.world.get(id).is_some_and(|session| self.is_awaited(session)) {
                self.await_client(id);
            } else if !self.has_launch(id) {
                let why = LOST_ENVIRONMENT.to_owned();
                self.call_off(id, Reason::Failed { code: LaunchFailure::Internal, why });
            }
        }
        let ended = self.world.sessions().filter(|s| s.phase == Phase::Cleaned && repeats(s));
        let ended: Vec<_> = ended.map(|session| session.id.clone()).collect();
        for id in &ended {
            self.consider_restart(id);
        }
        self.continue_prompts();
        self.continue_plans();
        for id in &ended {
            self.settle_relaunch(id);
        }
        self.check_queue_soon();
    }

    fn has_launch(&self, id: &SessionId) -> bool {
        self.launches.get(id).is_some_and(|runtime| runtime.launch.is_some())
    }

    pub(super) fn call_off(&mut self, id: &SessionId, reason: Reason) {
        self.apply(id, &Event::StopAsked(StopIntent { grace: None, reason }));
    }

    /// A launch was cleaned up: decides whether the restart policy starts another one, and when.
    pub(super) fn consider_restart(&mut self, id: &SessionId) {
        let decided = |session: &Session| {
            !matches!(session.relaunch, RelaunchState::Undecided | RelaunchState::Pending)
        };
        let Some(session) = self.world.get(id) else { return };
        if session.phase != Phase::Cleaned || !repeats(session) || decided(session) {
            return;
        }
        // What follows a prompt depends on its verdict.
        if session.spec.agent.is_some() {
            return;
        }
        let ran = self.ran(id);
        let (decision, effects) = self.world.consider_restart(id, ran);
        self.carry_out_all(effects, &mut NewEvents::new());
        let Ok(after) = decision else { return };
        point("daemon.relaunch.pending");
        if !self.can_relaunch(id) {
            return self.give_up_relaunch(id);
        }
        self.note(Some(id.clone()), "restart_pending", format!("relaunched in {after:?}"));
        self.arm_restart(id, after);
    }

    pub(super) fn can_relaunch(&self, id: &SessionId) -> bool {
        self.launches.get(id).is_some_and(|runtime| runtime.next_launch.is_some())
    }

    /// The environment for another launch was lost with a former daemon.
    pub(super) fn give_up_relaunch(&mut self, id: &SessionId) {
        let by = format!("the daemon: {LOST_ENVIRONMENT}");
        self.note(Some(id.clone()), "not_restarted", LOST_ENVIRONMENT.to_owned());
        self.call_off(id, Reason::Stopped { by });
    }

    fn ran(&self, id: &SessionId) -> Duration {
        let times = self.launches.get(id).map(|runtime| runtime.times).unwrap_or_default();
        let (Some(started), Some(ended)) = (times.started_ms, times.ended_ms) else {
            return Duration::ZERO;
        };
        Duration::from_millis(ended.saturating_sub(started))
    }

    /// Starts the pause before another launch. Time in which the machine sleeps does not count.
    pub(super) fn arm_restart(&mut self, id: &SessionId, after: Duration) {
        let session = id.clone();
        let timer = self.bus.timer(after, move |owner| owner.restart_due(&session));
        self.launches.update(id, |runtime| runtime.restart = Some(timer));
    }

    fn restart_due(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        // During a shutdown it is left to the next daemon.
        if session.relaunch != RelaunchState::Pending || self.shutdown.is_under_way() {
            return;
        }
        let again = self.launches.get(id).and_then(|runtime| runtime.next_launch.as_ref());
        let Some(mut launch) = again.map(|launch| Box::new(launch.for_relaunch())) else { return };
        let attempt = next_attempt(session);
        // There is no client to refuse: it waits for its turn.
        launch.queue = true;
        let (slot, token) = match (self.slot_for_relaunch(&launch), LaunchIds::token()) {
            (Ok(slot), Ok(token)) => (slot, token),
            (Err(refused), _) | (_, Err(refused)) => {
                self.note(Some(id.clone()), "restart_put_off", refused.problem().detail);
                return self.arm_restart(id, NO_ROOM);
            }
        };
        let changes = match attempt {
            Ok(None) => None,
            Ok(Some(settled)) => {
                let changes = settled.changes();
                launch.set_prompt(settled);
                Some(changes)
            }
            Err(refused) => {
                let why = refused.problem().detail;
                self.note(Some(id.clone()), "not_restarted", why.clone());
                return self.call_off(id, Reason::Stopped { by: format!("the daemon: {why}") });
            }
        };
        let by = RelaunchBy::Policy { ran: self.ran(id) };
        let queued = slot == LaunchSlot::Queued;
        let how = Relaunch { token, owed: owed(), queued, by, changes };
        match self.world.relaunch(id, how) {
            Relaunched::Admitted { id: next, effects } => {
                point("daemon.relaunch.restarted");
                if launch.spec.agent.is_some() {
                    self.metrics.retries.inc();
                } else {
                    self.metrics.restarts.inc();
                }
                self.begin(&next, launch, effects, "relaunched because the last launch failed");
                self.move_waiters(id, &next);
            }
            Relaunched::Already { .. } | Relaunched::Wait { .. } => {}
            Relaunched::Refused(RelaunchRefusal::CalledOff(_)) => {}
            Relaunched::Refused(refusal) => {
                self.note(Some(id.clone()), "not_restarted", refusal.to_string());
                self.call_off(id, Reason::Stopped { by: format!("the daemon: {refusal}") });
            }
        }
    }

    /// Clients that wait for the end of a session wait for that of its next launch. A stop is
    /// answered for the launch that it stopped.
    fn move_waiters(&mut self, from: &SessionId, to: &SessionId) {
        let Some(former) = self.launches.get_mut(from) else { return };
        let moves = |waiter: &mut Waiter| matches!(waiter, Waiter::Until(..));
        let waiters: Vec<_> = former.waiters.extract_if(.., moves).collect();
        self.launches.update(to, |runtime| runtime.waiters.extend(waiters));
        self.settle_relaunch(from);
    }

    /// Drops what no further launch needs.
    pub(super) fn settle_relaunch(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let pending = session.relaunch == RelaunchState::Pending || session.awaits_verdict();
        if session.phase != Phase::Cleaned || pending {
            return;
        }
        let Some(runtime) = self.launches.get_mut(id) else { return };
        (runtime.next_launch, runtime.restart) = (None, None);
        self.delete_stored(id);
    }
}
