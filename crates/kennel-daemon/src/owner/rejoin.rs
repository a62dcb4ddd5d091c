//! Clients of queued sessions whose daemon was killed.
//!
//! ```text
//! new daemon ──> awaited ──┬── the client returns, with its environment ──> queued as before
//!                          └── the timeout is over ──> cancelled: the client is gone too
//! ```
//! A launch that is tied to a client is not stored with the yard, because the next daemon could not
//! notice that the client disconnects. The client still has everything and repeats its request.
//! Until then its session keeps its position and is not started.

use std::time::Duration;

use kennel_core::Session;
use kennel_types::{Phase, Reason, SessionId};

use super::Owner;
use super::launches::Runtime;
use crate::error::{ApiError, ApiErrorKind};
use crate::launch::request::LaunchRequest;
use crate::owner::bus::Disconnect;
use crate::owner::relaunch::Resume;
use crate::owner::waiters::Waiter;

/// How long a client may take to find the next daemon.
const RETURN_TIMEOUT: Duration = Duration::from_secs(10);

impl Owner {
    /// Whether a queued session can't be launched until its client returns.
    pub(super) fn is_awaited(&self, session: &Session) -> bool {
        let bare = |runtime: &Runtime| runtime.launch.is_none();
        session.phase == Phase::Queued
            && session.spec.tethered
            && !session.is_stop_wanted()
            && self.launches.get(&session.id).is_some_and(bare)
    }

    pub(super) fn await_client(&self, id: &SessionId) {
        let id = id.clone();
        self.bus.call_later(RETURN_TIMEOUT, move |owner| owner.client_overdue(&id));
    }

    fn client_overdue(&mut self, id: &SessionId) {
        if self.world.get(id).is_some_and(|session| self.is_awaited(session)) {
            self.call_off(id, Reason::ClientGone);
        }
    }

    /// A client repeats the request that created this session. Other clients are refused.
    pub(crate) fn repeat_request(
        &mut self,
        id: &SessionId,
        launch: Box<LaunchRequest>,
        disconnect: Option<Disconnect>,
        waiter: Waiter,
    ) {
        let theirs = |session: &Session| session.spec.asked_by == launch.spec.asked_by;
        if !self.world.get(id).is_some_and(theirs) {
            let text = format!("session {id} was not created by this client's request");
            return waiter.refuse(ApiError::new(ApiErrorKind::NotFound, text));
        }
        self.rejoin(id, launch, disconnect);
        self.wait(id, waiter);
    }

    /// Takes the environment and streams of a client, if its session waits for them.
    pub(super) fn rejoin(
        &mut self,
        id: &SessionId,
        mut launch: Box<LaunchRequest>,
        disconnect: Option<Disconnect>,
    ) {
        let Some(session) = self.world.get(id) else { return };
        if !self.is_awaited(session) || session.spec.asked_by != launch.spec.asked_by {
            return;
        }
        // Earlier decisions stay.
        launch.spec = session.spec.clone();
        self.launches.update(id, |runtime| runtime.launch = Some(launch));
        self.note(Some(id.clone()), "rejoined", "its client is back".to_owned());
        self.stop_on_disconnect(id, disconnect);
        self.check_queue_soon();
    }

    /// Like [`Owner::rejoin`], for another launch of a session.
    pub(super) fn rejoin_resumed(&mut self, id: &SessionId, resume: Resume) {
        let Resume { request, given, until, disconnect, answer, .. } = resume;
        let awaited = self.world.get(id).filter(|session| self.is_awaited(session));
        if let Some(session) = awaited.filter(|session| session.spec.asked_by == request.by) {
            match LaunchRequest::resumed(session.spec.clone(), request, given) {
                Ok(launch) => self.rejoin(id, Box::new(launch), disconnect),
                Err(refused) => return drop(answer.send(Err(refused))),
            }
        }
        self.wait(id, Waiter::Until(until, answer));
    }
}
