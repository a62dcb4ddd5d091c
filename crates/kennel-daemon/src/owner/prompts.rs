//! The owner's part in prompts: their verdicts, their retries, and the clients that wait for them.
//!
//! ```text
//! create ── which member, which conversation ──> a session ── Cleaned ──> judged ──┬──> over
//!                        ^                                                         │
//!                        └────── another launch, after a pause ────────────────────┘
//! ```

use kennel_types::LaunchFailure;
use std::time::Duration;

use kennel_core::retry::{NoRetryReason, Retry};
use kennel_core::{Effect, Event, Judgement, Keyed, RelaunchChanges, Session, StopIntent};
use kennel_keeper::fault::point;
use kennel_types::{Judged, Reason, RelaunchState, SessionId, SessionSpec, UsageScope};

use super::Owner;
use super::step::{NewEvents, new_event};
use crate::error::ApiError;
use crate::launch::ids::LaunchIds;
use crate::launch::request::LaunchRequest;
use crate::os::blocking::run_blocking;
use crate::os::clock;
use crate::owner::bus::Disconnect;
use crate::owner::waiters::Waiter;
use crate::prompt::judge;
use crate::prompt::settle::{settle, settled_like, usage_scope};

/// How long the client of a tied prompt may take until it waits for the prompt, also after a
/// restart of the daemon.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(15);

/// Whether a prompt is retried, and the effects of that decision.
type RetryStep = (Result<Retry, NoRetryReason>, Vec<(SessionId, Effect)>);

impl Owner {
    /// Decides on the command of a prompt. Does nothing for other launches.
    pub(super) fn settle_prompt(&self, launch: &mut LaunchRequest) -> Result<(), ApiError> {
        if let Some(agent) = launch.spec.agent.as_deref() {
            let settled = settle(&self.world, agent)?;
            launch.set_prompt(settled);
        }
        Ok(())
    }

    /// Returns what the key of a request stands for, as it was `asked` and as it is `settled` now.
    /// If the member is gone or changed since the first request, the request is settled as it was
    /// at that time.
    pub(super) fn keyed_prompt(&self, settled: &SessionSpec, asked: &SessionSpec) -> Keyed {
        let keyed = self.keyed(settled);
        let Keyed::Different { by, .. } = &keyed else { return keyed };
        let first = self.world.launches(by).next();
        match first.and_then(|first| settled_like(&first.spec, asked)) {
            Some(then) => self.keyed(&then),
            None => keyed,
        }
    }

    /// A queued prompt is about to start: it continues the member's current conversation, not the
    /// one from when it was queued.
    pub(super) fn resettle_prompt(&mut self, id: &SessionId) -> Result<(), ApiError> {
        let asks = self.world.get(id).is_some_and(|session| session.spec.agent.is_some());
        let Some(runtime) = self.launches.get_mut(id).filter(|_| asks) else { return Ok(()) };
        let Some(mut launch) = runtime.launch.take() else { return Ok(()) };
        let settled = self.settle_prompt(&mut launch);
        if let Some(agent) = &launch.spec.agent {
            let conversation = agent.conversation.clone();
            self.world
                .resettle(id, RelaunchChanges { argv: launch.spec.argv.clone(), conversation });
        }
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.next_launch = Some(Box::new(launch.for_relaunch()));
            runtime.launch = Some(launch);
        }
        settled
    }

    // Clients.

    /// The client of a tied prompt must wait for it within the timeout; otherwise the prompt ends.
    pub(super) fn expect_client(&self, id: &SessionId) {
        let cancel_on_disconnect = |session: &Session| {
            session.spec.agent.as_ref().is_some_and(|it| it.cancel_on_disconnect)
        };
        if self.world.get(id).is_some_and(cancel_on_disconnect) {
            let id = id.base();
            self.bus.call_later(CLIENT_TIMEOUT, move |owner| owner.prompt_client_overdue(&id));
        }
    }

    /// A client waits for a prompt, which ends with the client.
    pub(super) fn stop_prompt_on_disconnect(&mut self, id: &SessionId, disconnect: Disconnect) {
        if self.world.newest(id).is_some_and(|it| it.spec.is_prompt() && it.is_asking()) {
            self.prompt_clients.add(id);
        }
        self.stop_on_disconnect(id, Some(disconnect));
    }

    fn prompt_client_overdue(&mut self, session: &SessionId) {
        if self.prompt_clients.contains(session) {
            return;
        }
        // The client may still wait for the prompt to begin: git can be slow.
        let newest = self.world.newest(session).map(|newest| &newest.id);
        let runtime = newest.and_then(|id| self.launches.get(id));
        if runtime.is_some_and(|it| it.waiters.iter().any(Waiter::awaits_begin)) {
            return self.expect_client(session);
        }
        self.client_gone(session);
    }

    // Verdicts.

    /// A prompt has ended: its verdict is read from its output.
    pub(super) fn judge(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id).filter(|session| session.awaits_verdict()) else {
            return;
        };
        point("daemon.judge.begun");
        let (session, folder) = (session.clone(), self.home.session(id));
        let (bus, id) = (self.bus.clone(), id.clone());
        let failed = |why: String| judge::unjudged(&format!("internal error: {why}"));
        run_blocking(
            "a verdict",
            move || judge::judge(&session, &folder),
            failed,
            move |judged| {
                bus.call(move |owner| owner.judged(&id, judged));
            },
        );
    }

    fn judged(&mut self, id: &SessionId, judged: Judged) {
        let kind = judged.verdict.kind;
        let spec = self.world.get(id).and_then(|session| session.spec.agent.as_deref());
        let scope = spec.map_or(UsageScope::Attempt, |spec| usage_scope(&spec.settings));
        let runtimes = &self.launches;
        let unrecorded = |id: &SessionId| runtimes.get(id).is_some_and(|runtime| runtime.unsaved);
        let judgement = self.world.judge(id, judged, scope, clock::now_ms(), unrecorded);
        let Some(Judgement { effects, member }) = judgement else { return };
        // The member is recorded first: after a crash in between it still knows which verdicts it
        // has counted.
        if let Some(member) = member {
            self.save_member(*member);
        }
        point("daemon.judge.recorded");
        tracing::info!(session = %id, verdict = kind.name(), "judged");
        self.metrics.judged(kind);
        // One record has both, so that a daemon that finds the verdict need not decide again.
        let decided = self.decide_retry(id);
        let event = new_event(Some(id.clone()), "judged", kind.to_string(), None);
        self.carry_out_with(event, effects);
        point("daemon.judge.judged");
        self.follow_retry(id, decided);
        if !self.world.get(id).is_some_and(Session::is_asking) {
            self.prompt_clients.remove(id);
        }
        self.settle_relaunch(id);
        self.answer_waiters(id, None);
        self.report_to_plan(id);
        self.check_queue_soon();
        self.exit_if_done();
    }

    fn follow_retry(&mut self, id: &SessionId, decided: Option<RetryStep>) {
        let Some((decision, effects)) = decided else { return };
        self.carry_out_all(effects, &mut NewEvents::new());
        let after = match decision {
            Ok(retry) => retry.after,
            Err(why) => {
                self.note(Some(id.clone()), "not_retried", why.to_string());
                // A former daemon decided on a retry, which does not happen: waiting clients are
                // answered.
                let pending = |session: &Session| session.relaunch == RelaunchState::Pending;
                if self.world.get(id).is_some_and(pending) {
                    self.call_off(id, Reason::Stopped { by: format!("the daemon: {why}") });
                }
                return;
            }
        };
        point("daemon.relaunch.pending");
        if !self.can_relaunch(id) {
            return self.give_up_relaunch(id);
        }
        self.note(Some(id.clone()), "retry_pending", format!("retried in {after:?}"));
        self.arm_restart(id, after);
    }

    /// Decides whether a prompt that was judged is retried, and when.
    fn decide_retry(&mut self, id: &SessionId) -> Option<RetryStep> {
        let first = self.world.launches(id).next()?.id.clone();
        let begun = self.launches.get(&first)?.times.created_ms;
        let since_first = Duration::from_millis(clock::now_ms().saturating_sub(begun));
        self.world.consider_retry(id, since_first, LaunchIds::jitter())
    }

    /// Judges the prompts of a former daemon, and continues their retries.
    pub(super) fn continue_prompts(&mut self) {
        let ids: Vec<_> =
            self.world.sessions().filter(|it| it.is_asking()).map(|it| it.id.clone()).collect();
        for id in ids {
            self.expect_client(&id);
            let Some(session) = self.world.get(&id) else { continue };
            if session.awaits_verdict() {
                self.judge(&id);
            } else if session.relaunch == RelaunchState::Pending {
                let decided = self.decide_retry(&id);
                self.follow_retry(&id, decided);
            }
        }
    }

    /// Ends a queued prompt that can't be asked any more when its turn comes.
    pub(super) fn refuse_queued(&mut self, id: &SessionId, refused: &ApiError) {
        let why = refused.problem().detail;
        let reason = Reason::Failed { code: LaunchFailure::Setup, why };
        self.apply(id, &Event::StopAsked(StopIntent { grace: None, reason }));
    }
}
