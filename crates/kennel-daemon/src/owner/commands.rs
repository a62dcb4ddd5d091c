//! Commands: what clients request.

use std::time::{Duration, Instant};

use kennel_core::{Event, Session, StopIntent};
use kennel_keeper::fault::point;
use kennel_types::api::{
    DaemonView, InspectView, SettingsView, StopRequest, StopResponse, StopResult, Until,
};
use kennel_types::{Phase, Reason, RelaunchState, SessionId, SessionView};

use super::Owner;
use crate::error::{Answer, ApiError, or_refuse};
use crate::launch::admission::LaunchLimits;
use crate::os::clock;
use crate::owner::bus::Disconnect;
use crate::owner::view;
use crate::owner::waiters::{Waiter, stop_answer};
use crate::recover::census::{LiveSession, RecoveryRequest, SessionCensus};

/// How long a stop request waits beyond the grace.
const BEYOND_GRACE: Duration = Duration::from_secs(30);
/// How long it waits if processes that can't be ended are already known.
const KNOWN_SURVIVORS: Duration = Duration::from_secs(5);

impl Owner {
    pub(crate) fn recovery_request(&mut self, request: RecoveryRequest) {
        match request {
            RecoveryRequest::Census { answer } => drop(answer.send(self.census())),
            RecoveryRequest::Keepers { answer } => self.keepers.list(answer),
            RecoveryRequest::Note { session, kind, cause } => self.note(session, kind, cause),
        }
    }

    pub(crate) fn find(&self, reference: &str) -> Result<SessionId, ApiError> {
        Ok(self.world.find(reference)?.clone())
    }

    pub(crate) fn show(&self, id: &SessionId) -> Result<SessionView, ApiError> {
        self.view(id).ok_or_else(|| ApiError::internal(format!("session {id} is gone")))
    }

    // Waiting and stopping.

    /// Answers when the session is over. It is stopped if its client disconnects first.
    pub(crate) fn wait_for(
        &mut self,
        reference: &str,
        disconnect: Option<Disconnect>,
        answer: Answer<SessionView>,
    ) {
        let Some((id, answer)) = or_refuse(self.find(reference), answer) else { return };
        if let Some(disconnect) = disconnect {
            self.stop_prompt_on_disconnect(&id, disconnect);
        }
        self.wait(&id, Waiter::Until(Until::Over, answer));
    }

    pub(super) fn wait(&mut self, id: &SessionId, waiter: Waiter) {
        self.launches.update(id, |runtime| runtime.add_waiter(waiter));
        self.answer_waiters(id, None);
    }

    pub(super) fn request_stop(&mut self, id: &SessionId, grace: Option<Duration>, reason: Reason) {
        point("daemon.stop.asked");
        self.apply(id, &Event::StopAsked(StopIntent { grace, reason }));
        self.retry_now(id);
    }

    pub(crate) fn stop(
        &mut self,
        reference: &str,
        request: StopRequest,
        answer: Answer<StopResponse>,
    ) {
        let Some((id, answer)) = or_refuse(self.find(reference), answer) else { return };
        let (id, since) = (&id, Instant::now());
        let Some(session) = self.world.get(id) else { return };
        if session.has_ended() && !may_follow(session) {
            let gone = self.show(id).map(|v| stop_answer(StopResult::AlreadyGone, v, since));
            return drop(answer.send(gone));
        }
        let grace = if request.now {
            Some(Duration::ZERO)
        } else {
            request.grace_ms.map(Duration::from_millis)
        };
        let timeout = if session.survivors.is_empty() {
            grace.unwrap_or(session.spec.grace).saturating_add(BEYOND_GRACE)
        } else {
            KNOWN_SURVIVORS
        };
        let timeout =
            request.wait_ms.map_or(timeout, |wait| timeout.min(Duration::from_millis(wait)));
        let until = since.checked_add(timeout).unwrap_or(since + BEYOND_GRACE);
        self.await_stopped(id, since, until, answer);
        self.request_stop(id, grace, Reason::Stopped { by: request.by });
    }

    /// Answers when the session is over or can't be ended for now, or at `until`.
    pub(super) fn await_stopped(
        &mut self,
        id: &SessionId,
        since: Instant,
        until: Instant,
        answer: Answer<StopResponse>,
    ) {
        self.launches
            .update(id, |runtime| runtime.add_waiter(Waiter::Stopped { answer, since, until }));
        let limit = until.saturating_duration_since(Instant::now());
        let id = id.clone();
        self.bus.call_later(limit, move |owner| owner.stop_overdue(&id));
    }

    /// Gives up a lost session, or stops following an adopted one.
    pub(crate) fn forget(&mut self, reference: &str, by: String, answer: Answer<SessionView>) {
        match self.find(reference) {
            Ok(id) if self.is_adopted(&id) => self.release_process(&id, by, answer),
            found => drop(answer.send(found.and_then(|id| self.forget_lost(&id, by)))),
        }
    }

    fn forget_lost(&mut self, id: &SessionId, by: String) -> Result<SessionView, ApiError> {
        if self.world.get(id).is_none_or(|session| session.phase != Phase::Lost) {
            return Err(ApiError::conflict(format!("session {id} is not lost")).hint(
                "`kennel forget` is only for sessions that can no longer be observed; stop this one instead",
            ));
        }
        self.apply(id, &Event::Forgotten { by });
        self.show(id)
    }

    // Views.

    /// Returns what the owner knows of a session; its processes and its history are added later.
    pub(crate) fn inspected(&self, id: &SessionId) -> Result<InspectView, ApiError> {
        let session = self.show(id)?;
        let gone = || ApiError::internal(format!("session {id} is gone"));
        let launches = self.world.launches(id).filter_map(|it| self.view(&it.id)).collect();
        let launch = view::launch(self.world.get(id).ok_or_else(gone)?);
        let keeper_pid = self.launches.keeper_pid(id);
        Ok(InspectView {
            session,
            launch,
            launches,
            keeper_pid,
            members: Vec::new(),
            usage: None,
            timeline: Vec::new(),
            trouble: Vec::new(),
        })
    }

    pub(crate) fn daemon_view(&self) -> DaemonView {
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

    pub(crate) fn census(&self) -> SessionCensus {
        let mut census = SessionCensus::default();
        census.own.extend([rustix::process::getpid().as_raw_pid(), self.keepers.yard().pid]);
        census.own.extend(self.keepers.by_pid.keys().copied());
        for session in self.world.sessions() {
            census.known.insert(session.id.clone());
            if session.is_live() {
                let keeper = self.launches.keeper_pid(&session.id);
                let lost = session.phase == Phase::Lost;
                census.live.insert(session.id.to_string(), LiveSession { keeper, lost });
            }
        }
        census
    }
}

/// Whether another launch may follow one that has ended: the daemon decides that when the launch is
/// cleaned.
fn may_follow(session: &Session) -> bool {
    match session.relaunch {
        RelaunchState::Pending => true,
        RelaunchState::Undecided => {
            session.spec.repeats() && session.phase != Phase::Cleaned || session.awaits_verdict()
        }
        RelaunchState::Launched | RelaunchState::CalledOff { .. } => false,
    }
}
