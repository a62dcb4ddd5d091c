//! New sessions: from the request of a client to an admitted launch.

use std::time::Instant;

use kennel_core::{Effect, Keyed, Session};
use kennel_keeper::fault::point;
use kennel_register::SessionTimes;
use kennel_types::{Owed, OwedKind, Reason, SessionId};

use super::Owner;
use super::launches::Runtime;
use super::step::new_event;
use crate::error::ApiError;
use crate::launch::admission::{LaunchSlot, different_request};
use crate::launch::ids::LaunchIds;
use crate::launch::request::LaunchRequest;
use crate::os::clock;
use crate::owner::bus::Disconnect;
use crate::owner::waiters::Waiter;

pub(super) fn owed() -> Vec<Owed> {
    vec![Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }]
}

impl Owner {
    pub(crate) fn create(
        &mut self,
        mut launch: Box<LaunchRequest>,
        disconnect: Option<Disconnect>,
        waiter: Waiter,
    ) {
        let asked = launch.spec.clone();
        let settled = self.settle_prompt(&mut launch);
        // The key is checked first: a repeated request gets its answer even if it would be refused
        // now.
        match self.keyed_prompt(&launch.spec, &asked) {
            Keyed::Free => {
                if let Err(refused) = settled {
                    return waiter.refuse(refused);
                }
            }
            // A repeated request gets the answer of the first one. It is tied to the session only
            // if the session waits for its client after a daemon was killed.
            Keyed::Same(id) => {
                self.rejoin(&id, launch, disconnect);
                return self.wait(&id, waiter);
            }
            Keyed::Different { by, fields } => {
                return waiter.refuse(different_request(&by, &fields));
            }
        }
        if launch.wants_plan() {
            // A request that is refused anyway does not wait for git.
            return match self.slot_for(&launch) {
                Ok(_) => self.plan_worktree(launch, disconnect, waiter),
                Err(refused) => waiter.refuse(refused),
            };
        }
        match self.admit(launch) {
            Ok(id) => {
                self.stop_on_disconnect(&id, disconnect);
                self.wait(&id, waiter);
            }
            Err(refused) => waiter.refuse(refused),
        }
    }

    fn admit(&mut self, mut launch: Box<LaunchRequest>) -> Result<SessionId, ApiError> {
        self.check_name(launch.spec.name.as_deref())?;
        let slot = self.slot_for(&launch)?;
        let id = launch.id.take().map_or_else(|| self.ids.session(), Ok)?;
        let session = Session::new(id.clone(), launch.spec.clone(), LaunchIds::token()?, owed());
        let session = if slot == LaunchSlot::Queued { session.queued() } else { session };
        let effects = self.world.admit(session)?;
        point("daemon.launch.admitted");
        self.begin(&id, launch, effects, "requested by a client");
        Ok(id)
    }

    /// Refuses a name that is the beginning of an id: names are looked up first, so a user who
    /// types the beginning of an id could stop the wrong session.
    pub(super) fn check_name(&self, name: Option<&str>) -> Result<(), ApiError> {
        let mistaken = name.and_then(|name| Some((name, self.world.mistaken_for(name)?)));
        mistaken.map_or(Ok(()), |(name, id)| {
            let text = format!("invalid session name {name:?}: the id {id} begins with it");
            Err(ApiError::conflict(text).hint("choose a name that does not look like an id"))
        })
    }

    /// A launch was admitted: creates its runtime state and carries out the first effects.
    pub(super) fn begin(
        &mut self,
        id: &SessionId,
        launch: Box<LaunchRequest>,
        effects: Vec<(SessionId, Effect)>,
        cause: &str,
    ) {
        let Some(session) = self.world.get(id) else { return };
        let (phase, repeats) = (session.phase, super::relaunch::repeats(session));
        let by = Some(session.spec.asked_by.clone()).filter(|by| !by.is_empty());
        self.launches.add_child(session);
        let created_ms = clock::now_ms();
        let mut runtime = Runtime::new(SessionTimes { created_ms, ..SessionTimes::default() });
        runtime.next_launch = repeats.then(|| Box::new(launch.for_relaunch()));
        runtime.launch = Some(launch);
        runtime.accepted = Some(Instant::now());
        self.metrics.launches.inc();
        self.launches.insert(id, runtime);
        self.admission.add(phase);
        if id.attempt() == 1 {
            self.expect_client(id);
        }
        self.store(id);
        let event = new_event(Some(id.clone()), phase.name(), cause.to_owned(), by);
        self.carry_out_with(event, effects);
    }

    /// Stops the session if its client disconnects before it has its answer.
    pub(super) fn stop_on_disconnect(&self, id: &SessionId, disconnect: Option<Disconnect>) {
        self.bus.on_disconnect(disconnect, id, Self::client_gone);
    }

    pub(super) fn client_gone(&mut self, id: &SessionId) {
        // A prompt may have been retried in the meantime.
        let Some(id) = self.world.newest(id).map(|session| session.id.clone()) else { return };
        self.request_stop(&id, None, Reason::ClientGone);
    }
}
