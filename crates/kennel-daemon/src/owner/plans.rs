//! The owner's part in plans: it carries out what the core decides, one action after the other.

use std::time::Duration;

use kennel_core::plan::{AgentPhase, IgnoredReason, PlanAction, PlanEvent};
use kennel_keeper::fault::point;
use kennel_register::PlanRecord;
use kennel_types::api::PlanResumeRequest;
use kennel_types::plan::{AgentPath, PlanView};
use kennel_types::{SessionId, TokenUsage, VerdictKind};

use super::Owner;
use crate::error::{Answer, ApiError, or_refuse};
use crate::launch::request::LaunchRequest;
use crate::owner::bus::{Bus, Disconnect};
use crate::plan::agents::session_of;
use crate::plan::request::NewPlan;
use crate::plan::runs::{PlanRun, TimeCheck};

/// How long the client of a tied plan may take until it waits for the plan, also after a restart of
/// the daemon.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(15);
const SAVE_AGAIN: Duration = Duration::from_secs(1);

impl Owner {
    pub(crate) fn show_plan(&self, reference: &str) -> Result<PlanView, ApiError> {
        let id = self.plans.find(reference)?;
        self.plans.get(&id).map(PlanRun::view).ok_or_else(|| no_plan(&id))
    }

    /// Answers when the plan is over. It is cancelled if its client disconnects first.
    pub(crate) fn wait_for_plan(
        &mut self,
        reference: &str,
        disconnect: Option<Disconnect>,
        answer: Answer<PlanView>,
    ) {
        let Some((id, answer)) = or_refuse(self.plans.find(reference), answer) else { return };
        if let Some(disconnect) = disconnect {
            self.cancel_plan_on_disconnect(&id, disconnect);
        }
        self.await_plan(&id, answer);
    }

    pub(crate) fn cancel_plan_for(
        &mut self,
        reference: &str,
        by: String,
        answer: Answer<PlanView>,
    ) {
        let Some((id, answer)) = or_refuse(self.plans.find(reference), answer) else { return };
        self.cancel_plan(&id, by);
        self.await_plan(&id, answer);
    }

    /// Starts a new run of a plan, and answers when it is on record.
    pub(crate) fn run_plan(&mut self, new: NewPlan, answer: Answer<PlanView>) {
        let id = match self.shutdown.is_under_way() {
            true => Err(ApiError::shutting_down()),
            false => self.ids.session(),
        };
        let Some((id, answer)) = or_refuse(id, answer) else { return };
        let run = self.plans.begin(id.clone(), new);
        let (record, view) = (run.record.clone(), run.view());
        let cause = format!("{id}: plan {} ({})", record.spec.name, record.asked_by);
        self.note(None, "plan_begun", cause);
        self.begin_plan(&id);
        let bus = self.bus.clone();
        // No agent is asked before the plan is on record.
        self.register.save_plan(record, move |result| match result {
            Ok(()) => {
                drop(answer.send(Ok(view)));
                bus.call(move |owner| owner.plan_turn(&id));
            }
            Err(why) => {
                let refused = ApiError::busy(format!("can't record the plan: {why}"));
                drop(answer.send(Err(refused)));
                bus.call(move |owner| owner.plan_dropped(&id));
            }
        });
        for id in self.plans.trim() {
            self.register.remove_plan(id);
        }
    }

    fn plan_dropped(&mut self, id: &SessionId) {
        self.plans.remove(id);
        self.keepers.delete_stored(id.to_string());
    }

    /// Prepares what every run needs, whether it begins or is resumed.
    pub(super) fn begin_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.get(id) else { return };
        if let Some(launch) = &run.launch {
            self.store_plan(id, launch);
        }
        if run.record.cancel_on_disconnect {
            let (id, begun_ms) = (id.clone(), run.record.begun_ms);
            self.bus
                .call_later(CLIENT_TIMEOUT, move |owner| owner.plan_client_overdue(&id, begun_ms));
        }
        self.check_plan_time(id);
    }

    fn await_plan(&mut self, id: &SessionId, answer: Answer<PlanView>) {
        if let Some(run) = self.plans.get_mut(id) {
            run.await_end(answer);
        }
    }

    fn cancel_plan_on_disconnect(&mut self, id: &SessionId, disconnect: Disconnect) {
        if let Some(run) = self.plans.get_mut(id) {
            run.has_client = true;
        }
        self.bus.on_disconnect(Some(disconnect), id, Self::plan_client_gone);
    }

    fn plan_client_overdue(&mut self, id: &SessionId, begun_ms: u64) {
        let untied = |run: &PlanRun| {
            let this_run = run.record.begun_ms == begun_ms && run.record.cancel_on_disconnect;
            this_run && !run.has_client
        };
        if self.plans.get(id).is_some_and(untied) {
            self.plan_client_gone(id);
        }
    }

    fn plan_client_gone(&mut self, id: &SessionId) {
        self.cancel_plan(id, "the loss of its client".to_owned());
    }

    fn cancel_plan(&mut self, id: &SessionId, by: String) {
        point("daemon.plan.cancelled");
        let Some(run) = self.plans.get_mut(id) else { return };
        if run.happened(&PlanEvent::CancelWanted { by }).is_err() {
            return;
        }
        // The cancel is recorded before it is carried out, so that the next daemon knows why the
        // agents have ended. It is carried out even if it can't be recorded.
        let (plan, bus, record) = (id.clone(), self.bus.clone(), run.current_record());
        self.register.save_plan(record, move |result| {
            if let Err(why) = result {
                tracing::error!(%plan, %why, "can't record that a plan is cancelled");
                save_later(&bus, &plan);
            }
            bus.call(move |owner| owner.plan_turn(&plan));
        });
    }

    // Events.

    pub(super) fn plan_event(&mut self, id: &SessionId, event: &PlanEvent) {
        let Some(run) = self.plans.get_mut(id) else { return };
        match run.happened(event) {
            Ok(()) => {
                self.save_plan(id);
                self.plan_turn(id);
            }
            Err(why) => {
                tracing::debug!(plan = %id, %why, "the plan ignores an event")
            }
        }
    }

    /// Records a plan as it is now. Clients that wait for its end are answered once the end is on
    /// record.
    pub(super) fn save_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.get_mut(id) else { return };
        let (plan, bus, is_over) = (id.clone(), self.bus.clone(), run.is_over());
        self.register.save_plan(run.current_record(), move |result| {
            if let Err(why) = result {
                tracing::error!(%plan, %why, "can't record a plan");
                save_later(&bus, &plan);
            } else if is_over {
                bus.call(move |owner| owner.plan_end_recorded(&plan));
            }
        });
    }

    fn plan_end_recorded(&mut self, id: &SessionId) {
        if let Some(run) = self.plans.get_mut(id) {
            run.end_was_recorded();
        }
    }

    /// Carries out what the plan's state machine wants now.
    pub(super) fn plan_turn(&mut self, id: &SessionId) {
        let Some(run) = self.plans.get(id) else { return };
        for action in run.record.state.next(&run.record.spec) {
            match action {
                // The next daemon asks it.
                PlanAction::Ask { .. } if self.shutdown.is_under_way() => {}
                PlanAction::Ask { place, ask } => self.begin_ask(id, place, ask),
                PlanAction::Stop { place, ask } => self.stop_agent(id, &place, ask),
                PlanAction::Finish(_) => return self.finish_plan(id),
            }
        }
    }

    /// A prompt has its final verdict: reports it to the plan that has asked it.
    pub(super) fn report_to_plan(&mut self, id: &SessionId) {
        let session = self.world.get(id);
        let position = session.and_then(|it| it.spec.agent.as_ref()).and_then(|it| it.plan.clone());
        let Some(position) = position else { return };
        let (Ok(plan), Ok(place)) =
            (SessionId::parse(&position.plan), AgentPath::parse(&position.name))
        else {
            return;
        };
        self.report_agent(&plan, &place, position.ask);
    }

    pub(super) fn report_agent(&mut self, plan: &SessionId, place: &AgentPath, ask: u32) {
        let Some(session) = session_of(&self.world, plan, place, ask) else { return };
        let Some(judged) = session.judged.as_ref().filter(|_| !session.is_asking()) else { return };
        let (verdict, session) = (judged.verdict.kind, session.id.clone());
        let mut usage = TokenUsage::default();
        for launch in self.world.launches(&session) {
            usage += launch.judged.as_ref().map(|judged| judged.usage).unwrap_or_default();
        }
        let place = place.clone();
        self.plan_event(plan, &PlanEvent::Judged { place, ask, session, verdict, usage });
    }

    fn finish_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.get_mut(id) else { return };
        if run.happened(&PlanEvent::Finished).is_err() {
            return;
        }
        run.finish();
        let view = run.view();
        self.save_plan(id);
        point("daemon.plan.finished");
        self.keepers.delete_stored(id.to_string());
        self.note(None, "plan_over", format!("{id}: {}", view.why.as_deref().unwrap_or("over")));
    }

    // Time.

    /// Ends a plan whose time is over, or checks again later.
    fn check_plan_time(&mut self, id: &SessionId) {
        let Some(run) = self.plans.get_mut(id) else { return };
        match run.check_time() {
            TimeCheck::Unlimited => {}
            TimeCheck::Over => self.plan_event(id, &PlanEvent::TimeOver),
            TimeCheck::CheckAgainIn(pause) => {
                let id = id.clone();
                run.timer = Some(self.bus.timer(pause, move |owner| owner.plan_time_passed(&id)));
            }
        }
    }

    fn plan_time_passed(&mut self, id: &SessionId) {
        if self.plans.get(id).is_some_and(|run| !run.is_over()) {
            self.save_plan(id);
            self.check_plan_time(id);
        }
    }

    // Resuming a plan that is over: no agent is asked, and no client is answered, before that is on
    // record.

    /// Answers when the resumption is on record; `launch` is what the agents are launched with.
    pub(crate) fn resume_plan(
        &mut self,
        reference: &str,
        request: PlanResumeRequest,
        launch: Box<LaunchRequest>,
        answer: Answer<PlanView>,
    ) {
        let resumed = self.begin_resume(reference, request, launch);
        let Some((former, answer)) = or_refuse(resumed, answer) else { return };
        let id = former.id.clone();
        let Some(run) = self.plans.get_mut(&id) else { return };
        let (bus, record, view) = (self.bus.clone(), run.current_record(), run.view());
        self.register.save_plan(record, move |result| match result {
            Ok(()) => {
                point("daemon.plan.resumed");
                drop(answer.send(Ok(view)));
                bus.call(move |owner| owner.plan_turn(&id));
            }
            Err(why) => {
                let text = format!("can't record that the plan is resumed: {why}");
                drop(answer.send(Err(ApiError::busy(text))));
                bus.call(move |owner| owner.plan_not_resumed(former));
            }
        });
    }

    /// Returns the record as it was before.
    fn begin_resume(
        &mut self,
        reference: &str,
        request: PlanResumeRequest,
        launch: Box<LaunchRequest>,
    ) -> Result<PlanRecord, ApiError> {
        let id = &self.plans.find(reference)?;
        if self.shutdown.is_under_way() {
            return Err(ApiError::shutting_down());
        }
        let run = self.plans.get_mut(id).ok_or_else(|| no_plan(id))?;
        let former = run.record.clone();
        let PlanResumeRequest { replay, cancel_on_disconnect, by, .. } = request;
        if let Err(why) = run.happened(&PlanEvent::Resumed { replay }) {
            let refused = ApiError::conflict(&why);
            return Err(match why {
                IgnoredReason::MayHaveRun(_) => refused.hint("--replay asks it again anyway"),
                IgnoredReason::NotOver => refused.hint("`kennel plan show` shows its state"),
                _ => refused,
            });
        }
        run.resume(launch, cancel_on_disconnect);
        self.note(None, "plan_resumed", format!("{id}, by {by}"));
        self.begin_plan(id);
        Ok(former)
    }

    /// The resumption could not be recorded, and no agent was asked: the plan stays as it was.
    fn plan_not_resumed(&mut self, former: PlanRecord) {
        let id = former.id.clone();
        let Some(run) = self.plans.get_mut(&id) else { return };
        run.undo_resume(former);
        self.keepers.delete_stored(id.to_string());
        // This replaces what was recorded in the meantime.
        self.save_plan(&id);
    }

    // Recovery.

    pub(super) fn continue_plans(&mut self) {
        let ids: Vec<_> = self.plans.ids().cloned().collect();
        for id in ids {
            let Some(run) = self.plans.get(&id).filter(|run| !run.is_over()) else { continue };
            let agents: Vec<_> =
                run.record.state.agents.iter().map(|it| (it.place.clone(), it.asks)).collect();
            self.begin_plan(&id);
            for (place, ask) in agents {
                self.continue_agent(&id, place, ask);
            }
            self.plan_turn(&id);
        }
    }

    fn continue_agent(&mut self, id: &SessionId, place: AgentPath, ask: u32) {
        let session = session_of(&self.world, id, &place, ask).map(|session| session.id.base());
        let known = self.plans.get(id).and_then(|run| run.record.state.agent(&place));
        let event = match (session, known.map(|agent| &agent.phase)) {
            (Some(session), _) => PlanEvent::Asked { place: place.clone(), ask, session },
            // The session was removed: its verdict is lost.
            (None, Some(AgentPhase::Asked { session })) => PlanEvent::Judged {
                place: place.clone(),
                ask,
                session: session.clone(),
                verdict: VerdictKind::Unknown,
                usage: TokenUsage::default(),
            },
            (None, _) => PlanEvent::NotAsked { place: place.clone(), ask },
        };
        if let Some(run) = self.plans.get_mut(id)
            && run.happened(&event).is_ok()
        {
            self.save_plan(id);
        }
        self.report_agent(id, &place, ask);
    }
}

fn no_plan(id: &SessionId) -> ApiError {
    ApiError::not_found(format!("there is no plan {id}"))
}

/// A record that failed is tried again with the next change, and after a pause.
fn save_later(bus: &Bus, plan: &SessionId) {
    let plan = plan.clone();
    // The register's thread is outside the runtime: the owner starts the timer.
    bus.call(move |owner| {
        owner.bus.call_later(SAVE_AGAIN, move |owner| owner.save_plan(&plan));
    });
}
