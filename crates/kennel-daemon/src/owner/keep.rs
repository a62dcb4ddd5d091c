//! What the yard keeps for the next daemon: how to launch those who wait in line, or for another launch.
//!
//! It has an environment in it, and so goes by memory, never by disk.

use kennel_core::Session;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{LaunchOrder, YardRequest};
use kennel_types::{LaunchToken, Phase, RelaunchState, Restart, SessionId, SessionSpec};

use super::Owner;
use crate::effects::launch::in_memory;
use crate::order::NewLaunch;
use crate::yard_link::YardOrder;

/// Whether the next daemon will have to launch this one, or another one after it. What is tied to a client can't
/// be tied to it again.
fn is_needed(session: &Session) -> bool {
    let waits = session.phase == Phase::Queued;
    let goes_on =
        session.is_live() || session.relaunch == RelaunchState::Pending || session.awaits_verdict();
    let repeats = session.spec.repeats() && goes_on;
    !session.spec.tethered && (waits || repeats)
}

impl Owner {
    /// Leaves with the yard what a further launch needs, if there may be one without us.
    pub(super) fn keep(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id).filter(|session| is_needed(session)) else { return };
        let (Some(name), Some(yard)) = (self.home.pen_name(id), &self.yard_sender) else { return };
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        let Some(launch) = runtime.launch.as_ref().map(|launch| launch.once_more()) else { return };
        let folder = self.home.session(id);
        let (order, _) = launch.order(name, &session.launch.token, &self.home.folder, folder);
        match in_memory(&order.encode()) {
            Ok(order) => {
                runtime.kept = true;
                let request = YardRequest::Keep { name: id.to_string() };
                yard.send_now(YardOrder { request, descriptors: vec![order] });
                point("daemon.again.kept");
            }
            // It is launched all the same, if we live.
            Err(error) => {
                tracing::warn!(session = %id, %error, "nothing is kept for the next daemon")
            }
        }
    }

    /// Leaves with the yard what the agents of a plan will be launched with.
    pub(super) fn keep_plan(&self, id: &SessionId, launch: &NewLaunch) {
        let (Some(name), Some(yard)) = (self.home.pen_name(id), &self.yard_sender) else { return };
        let (folder, token) = (self.home.session(id), LaunchToken::new(0));
        let (order, _) = launch.once_more().order(name, &token, &self.home.folder, folder);
        match in_memory(&order.encode()) {
            Ok(order) => {
                let request = YardRequest::Keep { name: id.to_string() };
                yard.send_now(YardOrder { request, descriptors: vec![order] });
                point("daemon.plan.kept");
            }
            Err(error) => tracing::warn!(plan = %id, %error, "nothing is kept for the next daemon"),
        }
    }

    /// The plan is over.
    pub(super) fn forget_kept_plan(&self, id: &SessionId) {
        if let Some(yard) = &self.yard_sender {
            yard.send(YardRequest::Forget { name: id.to_string() }.into()).ok();
        }
    }

    /// It is needed no more.
    pub(super) fn forget_kept(&mut self, id: &SessionId) {
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        if std::mem::take(&mut runtime.kept)
            && let Some(yard) = &self.yard_sender
        {
            yard.send(YardRequest::Forget { name: id.to_string() }.into()).ok();
        }
    }

    /// The same, unless it is.
    pub(super) fn forget_if_needless(&mut self, id: &SessionId) {
        if self.world.get(id).is_none_or(|session| !is_needed(session)) {
            self.forget_kept(id);
        }
    }

    /// Takes what a former daemon left with the yard.
    pub(super) fn take_kept(&mut self, kept: Vec<(String, LaunchOrder)>) {
        for (name, order) in kept {
            let id = SessionId::parse(&name).ok();
            let session = id.as_ref().and_then(|id| self.world.get(id));
            let runtime = id.as_ref().and_then(|id| self.runtimes.get_mut(id));
            match (session, runtime) {
                (Some(session), Some(runtime)) if is_needed(session) || is_undecided(session) => {
                    let launch = Box::new(NewLaunch::kept(session.spec.clone(), order));
                    if session.spec.repeats() {
                        runtime.again = Some(Box::new(launch.once_more()));
                    }
                    if session.phase == Phase::Queued {
                        runtime.launch = Some(launch);
                    }
                    runtime.kept = true;
                }
                _ if id.as_ref().is_some_and(|id| self.plans.wants_kept(id)) => {
                    let launch = NewLaunch::kept(SessionSpec::default(), order);
                    self.plans.take_kept(id.as_ref(), Box::new(launch));
                }
                _ => {
                    if let Some(yard) = &self.yard_sender {
                        yard.send(YardRequest::Forget { name }.into()).ok();
                    }
                }
            }
        }
    }
}

/// Whether it has still to be decided if another launch follows.
fn is_undecided(session: &Session) -> bool {
    session.spec.restart != Restart::Never && session.relaunch == RelaunchState::Undecided
}
