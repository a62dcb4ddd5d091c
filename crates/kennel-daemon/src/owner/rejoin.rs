//! Clients in line whose daemon was killed.
//!
//! ```text
//! new daemon ──> awaited ──┬── the client comes, with environment and streams ──> in line as before
//!                          └── its time is over ──> called off: the client went too
//! ```
//! What is tied to a client is not left with the yard, since nobody would see the client go meanwhile. But the client has
//! it all, and asks again. Until then its session keeps its place, and is not called up.

use std::time::Duration;

use kennel_core::Session;
use kennel_types::{Phase, Reason, SessionId};
use tokio::sync::oneshot;

use super::Owner;
use crate::message::{Message, Resume};
use crate::order::NewLaunch;
use crate::refused::{Refused, RefusedKind};
use crate::waiters::Waiter;

/// How long a client may take to find the next daemon.
const COME_BACK: Duration = Duration::from_secs(10);

impl Owner {
    /// Whether a session in line has nothing that could be launched, until its client comes back.
    pub(super) fn is_awaited(&self, session: &Session) -> bool {
        let bare = |runtime: &super::runtime::Runtime| runtime.launch.is_none();
        session.phase == Phase::Queued
            && session.spec.tethered
            && !session.is_stop_wanted()
            && self.runtimes.get(&session.id).is_some_and(bare)
    }

    /// Gives the client its time.
    pub(super) fn await_client(&self, id: &SessionId) {
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(COME_BACK).await;
            bus.send(Message::ClientOverdue { session }).ok();
        });
    }

    /// The time is over.
    pub(super) fn client_overdue(&mut self, id: &SessionId) {
        if self.world.get(id).is_some_and(|session| self.is_awaited(session)) {
            self.call_off(id, Reason::ClientGone);
        }
    }

    /// Somebody asks again for the session that his request has made. Whoever it is not for gets none.
    pub(super) fn ask_again(
        &mut self,
        id: &SessionId,
        launch: Box<NewLaunch>,
        tether: Option<oneshot::Receiver<()>>,
        waiter: Waiter,
    ) {
        let theirs = |session: &Session| session.spec.asked_by == launch.spec.asked_by;
        if !self.world.get(id).is_some_and(theirs) {
            let text = format!("there is no session {id} that this request has made");
            return waiter.refuse(Refused::new(RefusedKind::NotFound, text));
        }
        self.rejoin(id, launch, tether);
        self.wait(id, waiter);
    }

    /// Takes what a client brings, if its session waits for just that.
    pub(super) fn rejoin(
        &mut self,
        id: &SessionId,
        mut launch: Box<NewLaunch>,
        tether: Option<oneshot::Receiver<()>>,
    ) {
        let Some(session) = self.world.get(id) else { return };
        if !self.is_awaited(session) || session.spec.asked_by != launch.spec.asked_by {
            return;
        }
        // What was decided for it stays as it was.
        launch.spec = session.spec.clone();
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.launch = Some(launch);
        }
        self.note(Some(id.clone()), "rejoined", "its client is back".to_owned());
        if let Some(tether) = tether {
            self.tie(id, tether);
        }
        self.line_may_move();
    }

    /// The same for another launch of a session.
    pub(super) fn rejoin_resumed(&mut self, id: &SessionId, resume: Resume) {
        let Resume { request, given, until, tether, answer, .. } = resume;
        let awaited = self.world.get(id).filter(|session| self.is_awaited(session));
        if let Some(session) = awaited.filter(|session| session.spec.asked_by == request.by) {
            match NewLaunch::resumed(session.spec.clone(), request, given) {
                Ok(launch) => self.rejoin(id, Box::new(launch), tether),
                Err(refused) => return drop(answer.send(Err(refused))),
            }
        }
        self.wait(id, Waiter::until(until, answer));
    }
}
