//! What the yard stores for the next daemon: how to launch queued sessions, and sessions that are
//! relaunched.
//!
//! It contains an environment, so it is passed in memory, never by disk.

use kennel_core::Session;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::LaunchOrder;
use kennel_pen::wire::WireMessage;
use kennel_types::{LaunchToken, Phase, RelaunchState, Restart, SessionId, SessionSpec};

use super::Owner;
use crate::launch::prepare::in_memory;
use crate::launch::request::LaunchRequest;

/// Whether the next daemon will have to launch this session, or relaunch it. A session that is tied
/// to a client is not stored: the next daemon can't tie it again.
fn is_needed(session: &Session) -> bool {
    let waits = session.phase == Phase::Queued;
    let continues =
        session.is_live() || session.relaunch == RelaunchState::Pending || session.awaits_verdict();
    let repeats = session.spec.repeats() && continues;
    !session.spec.tethered && (waits || repeats)
}

impl Owner {
    /// Stores what a further launch needs with the yard, if the next daemon may need it.
    pub(super) fn store(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id).filter(|session| is_needed(session)) else { return };
        let Some(launch) = self.launches.get(id).and_then(|runtime| runtime.launch.as_ref()) else {
            return;
        };
        if self.store_launch(id, launch, &session.launch.token) {
            point("daemon.relaunch.stored");
            self.launches.update(id, |runtime| runtime.stored = true);
        }
    }

    /// Stores what the agents of a plan will be launched with.
    pub(super) fn store_plan(&self, id: &SessionId, launch: &LaunchRequest) {
        if self.store_launch(id, launch, &LaunchToken::new(0)) {
            point("daemon.plan.saved");
        }
    }

    fn store_launch(&self, id: &SessionId, launch: &LaunchRequest, token: &LaunchToken) -> bool {
        let Some(name) = self.home.pen_name(id).filter(|_| self.keepers.has_yard()) else {
            return false;
        };
        let folder = self.home.session(id);
        let (order, _) = launch.for_relaunch().order(name, token, &self.home.folder, folder);
        match in_memory(&order.encode()) {
            Ok(order) => self.keepers.store(id, order),
            // It is launched anyway, if this daemon lives.
            Err(error) => {
                tracing::warn!(session = %id, %error, "can't store a launch for the next daemon");
                false
            }
        }
    }

    pub(super) fn delete_stored(&mut self, id: &SessionId) {
        let Some(runtime) = self.launches.get_mut(id) else { return };
        if std::mem::take(&mut runtime.stored) {
            self.keepers.delete_stored(id.to_string());
        }
    }

    pub(super) fn delete_stored_if_unneeded(&mut self, id: &SessionId) {
        if self.world.get(id).is_none_or(|session| !is_needed(session)) {
            self.delete_stored(id);
        }
    }

    /// Takes over what a former daemon has stored with the yard.
    pub(super) fn take_stored(&mut self, stored: Vec<(String, LaunchOrder)>) {
        for (name, order) in stored {
            let id = SessionId::parse(&name).ok();
            let session = id.as_ref().and_then(|id| self.world.get(id));
            let runtime = id.as_ref().and_then(|id| self.launches.get_mut(id));
            if let (Some(session), Some(runtime)) = (session, runtime)
                && (is_needed(session) || is_undecided(session))
            {
                let launch = Box::new(LaunchRequest::from_stored(session.spec.clone(), order));
                if session.spec.repeats() {
                    runtime.next_launch = Some(Box::new(launch.for_relaunch()));
                }
                if session.phase == Phase::Queued {
                    runtime.launch = Some(launch);
                }
                runtime.stored = true;
                continue;
            }
            let launch = Box::new(LaunchRequest::from_stored(SessionSpec::default(), order));
            if !id.is_some_and(|id| self.plans.restore_launch(&id, launch)) {
                self.keepers.delete_stored(name);
            }
        }
    }
}

/// Whether it is still to be decided if the session is relaunched.
fn is_undecided(session: &Session) -> bool {
    session.spec.restart != Restart::Never && session.relaunch == RelaunchState::Undecided
}
