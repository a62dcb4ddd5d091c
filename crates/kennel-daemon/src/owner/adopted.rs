//! Adopted sessions: processes that a user started in their own terminal. They are followed, and
//! can be released.

use std::time::Duration;

use kennel_core::{Event, Session};
use kennel_keeper::fault::point;
use kennel_register::SessionTimes;
use kennel_types::api::Until;
use kennel_types::{AgentReport, SessionId, SessionView, StartedBy, Survivor};

use super::Owner;
use super::create::owed;
use super::launches::{Followed, Runtime};
use super::step::new_event;
use crate::adopted::candidate::AdoptionCandidate;
use crate::adopted::process::{self, AdoptedProbe, AdoptedSighting, Handle};
use crate::error::{Answer, ApiError};
use crate::launch::ids::LaunchIds;
use crate::os::{AbortOnDrop, clock};
use crate::owner::waiters::Waiter;

impl Owner {
    pub(super) fn is_adopted(&self, id: &SessionId) -> bool {
        self.world.get(id).is_some_and(|session| session.started_by == StartedBy::User)
    }

    /// Starts to follow a process, and answers once it is followed. A repeated request gets the
    /// same session.
    pub(crate) fn adopt(&mut self, candidate: AdoptionCandidate, answer: Answer<SessionView>) {
        let title = candidate.title.clone();
        match self.follow_candidate(candidate) {
            Ok(id) => {
                if let Some(title) = title {
                    self.apply(&id, &Event::Reported(AgentReport::Title { title }));
                }
                self.wait(&id, Waiter::Until(Until::Started, answer));
            }
            Err(refused) => drop(answer.send(Err(refused))),
        }
    }

    fn follow_candidate(&mut self, candidate: AdoptionCandidate) -> Result<SessionId, ApiError> {
        let identity = candidate.identity.to_record();
        if let Some(known) = self.world.follower_of(&identity) {
            return same(known, candidate.spec.name.as_deref());
        }
        if self.shutdown.is_under_way() {
            return Err(ApiError::shutting_down());
        }
        self.check_name(candidate.spec.name.as_deref())?;
        self.admission.check_descriptors()?;
        let id = self.ids.session()?;
        let (token, pid) = (LaunchIds::token()?, candidate.identity.pid);
        let by = Some(candidate.spec.asked_by.clone()).filter(|by| !by.is_empty());
        let session = Session::adopted(id.clone(), candidate.spec, token, (identity, pid), owed());
        let phase = session.phase;
        let effects = self.world.admit(session)?;
        point("daemon.adopted.admitted");
        let (created_ms, started_ms) = (clock::now_ms(), candidate.started_ms);
        let times = SessionTimes { created_ms, started_ms, ..SessionTimes::default() };
        self.launches.insert(&id, Runtime::new(times));
        self.admission.add(phase);
        let cause = format!("adopted pid {pid}, which a user started");
        self.carry_out_with(new_event(Some(id.clone()), phase.name(), cause, by), effects);
        Ok(id)
    }

    pub(super) fn probe_process(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let look = AdoptedProbe {
            identity: session.launch.identity.clone(),
            folder: self.home.session(id),
            token: session.launch.token.secret().to_owned(),
            // A reboot concerns only sessions of a former daemon.
            rebooted: self.adoption.rebooted && self.adoption.is_pending(id),
        };
        self.spawn_probe(id, look.run(), Self::sighted);
    }

    /// The process of an adopted session was found, or not.
    fn sighted(&mut self, id: &SessionId, sighting: AdoptedSighting) {
        let AdoptedSighting { probe, handle } = sighting;
        let lives = !self.has_ended(id);
        if let (Some(handle), Some(runtime), true) = (handle, self.launches.get_mut(id), lives) {
            let (bus, session, followed) = (self.bus.clone(), id.clone(), handle.clone());
            let following = AbortOnDrop::spawn(async move {
                let report = |event| bus.apply(&session, event);
                let event = process::follow(followed, report).await;
                report(event);
            });
            runtime.followed = Some(Followed { handle, _following: following, ending: None });
        }
        self.apply(id, &Event::Probed(probe));
        point("daemon.adopted.followed");
        self.adoption.probed(id);
    }

    pub(super) fn end_process(&mut self, id: &SessionId, grace: Duration) {
        let Some(pid) = self.world.get(id).and_then(|session| session.launch.pid) else { return };
        let followed = self.launches.get_mut(id).and_then(|runtime| runtime.followed.as_mut());
        // It is not followed if it has just ended; then its end is about to be reported.
        let Some(followed) = followed else { return };
        let (bus, session) = (self.bus.clone(), id.clone());
        let report = move |event| bus.apply(&session, event);
        let handle = followed.handle.clone();
        followed.ending = Some(AbortOnDrop::spawn(async move {
            let alive = |survivors: Vec<Survivor>| report(Event::StillAlive { survivors });
            process::end(handle.clone(), pid, grace, alive).await;
            report(process::gone_soon(handle).await);
        }));
    }

    pub(crate) fn handle_of(&self, reference: &str) -> Result<Handle, ApiError> {
        let id = self.find(reference)?;
        let followed = self.launches.get(&id).and_then(|runtime| runtime.followed.as_ref());
        let gone = || ApiError::conflict(format!("session {id} is not running"));
        followed.map(|followed| followed.handle.clone()).ok_or_else(gone)
    }

    /// Stops following a process, which continues to run. Answers once that is on record.
    pub(super) fn release_process(
        &mut self,
        id: &SessionId,
        by: String,
        answer: Answer<SessionView>,
    ) {
        let has_ended = |owner: &Self| owner.world.get(id).is_none_or(Session::has_ended);
        let refused = if has_ended(self) {
            ApiError::conflict(format!("session {id} has ended"))
        } else {
            self.apply(id, &Event::Forgotten { by });
            if has_ended(self) {
                return self.wait(id, Waiter::Until(Until::Over, answer));
            }
            ApiError::conflict(format!("session {id} is being probed"))
                .hint("try again in a moment")
        };
        drop(answer.send(Err(refused)));
    }
}

/// Returns the session of a process that is already followed, unless another name is requested.
fn same(known: &Session, name: Option<&str>) -> Result<SessionId, ApiError> {
    match (&known.spec.name, name) {
        (Some(has), Some(wanted)) if has == wanted => Ok(known.id.clone()),
        (_, None) => Ok(known.id.clone()),
        (has, Some(_)) => {
            let has = has.as_ref().map_or("no name".to_owned(), |has| format!("the name {has:?}"));
            let text = format!("this process is already session {}, with {has}", known.id);
            Err(ApiError::conflict(text).hint("`kennel forget` stops following it"))
        }
    }
}
