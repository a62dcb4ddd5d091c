//! Plans: what the core says of one is done here, one action after the other.
//!
//! An agent of a plan is a prompt like any other. That it is about to be asked is queued for the record before its
//! session is, so that no session of a plan is on record of which the plan does not know.

mod agents;
mod resume;
mod time;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kennel_core::Session;
use kennel_core::plan::{Action, AgentPhase, Heard, PlanEvent, PlanState};
use kennel_keeper::fault::point;
use kennel_types::api::{PlanRequest, PlanResumeRequest};
use kennel_types::plan::{Place, PlanStatus, PlanView};
use kennel_types::{SessionId, Usage, VerdictKind};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Owner;
use super::ask::random;
use crate::clock;
use crate::message::{Answer, Message};
use crate::order::NewLaunch;
use crate::refused::Refused;
use kennel_register::PlanRecord;
use resume::Resumption;
use time::Meter;

/// How many plans that are over stay on record.
const ENDED_KEPT: usize = 200;
/// How long whoever wants a plan may take to come and wait for it: also after a restart of the daemon.
const TIE: Duration = Duration::from_secs(15);

/// What somebody wants of plans.
#[derive(Debug)]
pub(crate) enum PlanCommand {
    /// A new run; answered when it is on record.
    Run { record: Box<NewPlan>, answer: Answer<PlanView> },
    /// All of them.
    List { answer: Answer<Vec<PlanView>> },
    /// One.
    Show { reference: String, answer: Answer<PlanView> },
    /// One, once it is over; it is cancelled if the tether is dropped without a word.
    Wait { reference: String, tether: Option<oneshot::Receiver<()>>, answer: Answer<PlanView> },
    /// The end of one; answered when it is over.
    Cancel { reference: String, by: String, answer: Answer<PlanView> },
    /// One that is over goes on; answered when that is on record.
    Resume {
        reference: String,
        replay: bool,
        tied: bool,
        by: String,
        launch: Box<NewLaunch>,
        answer: Answer<PlanView>,
    },
}

/// A run of a plan that makes sense.
pub(crate) struct NewPlan {
    request: PlanRequest,
    inputs: kennel_core::plan::Inputs,
    cwd: String,
    launch: Box<NewLaunch>,
}

impl std::fmt::Debug for NewPlan {
    /// Without the environment: it has secrets in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewPlan").field("name", &self.request.spec.name).finish_non_exhaustive()
    }
}

impl NewPlan {
    /// Takes a request.
    pub(crate) fn new(mut request: PlanRequest) -> Result<Self, Refused> {
        kennel_core::plan::check(&request.spec).map_err(Refused::invalid)?;
        if let Some((place, file)) = request.spec.prompt_files().first() {
            return Err(Refused::invalid(format!("the prompt of {place} is in the file {file:?}")));
        }
        let inputs = kennel_core::plan::fill_inputs(&request.spec, &request.inputs)
            .map_err(Refused::invalid)?;
        request.inputs = BTreeMap::new();
        let env = std::mem::take(&mut request.env);
        let limits = std::mem::take(&mut request.limits);
        let launch = NewLaunch::surroundings(env, request.cwd.clone(), request.umask, limits)?;
        let Some(cwd) = launch.cwd().to_str().map(ToOwned::to_owned) else {
            return Err(Refused::invalid("the name of the folder is no UTF-8"));
        };
        Ok(Self { request, inputs, cwd, launch: Box::new(launch) })
    }
}

/// What is needed to go on with a plan.
pub(crate) fn resume_surroundings(request: &mut PlanResumeRequest) -> Result<NewLaunch, Refused> {
    let env = std::mem::take(&mut request.env);
    let limits = std::mem::take(&mut request.limits);
    let root = kennel_types::api::Text::Plain("/".to_owned());
    NewLaunch::surroundings(env, root, request.umask, limits)
}

/// News of an agent that a plan asks.
#[derive(Debug)]
pub(crate) struct PlanNews {
    plan: SessionId,
    place: Place,
    ask: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    /// That it is about to be asked is on record, or why not.
    Announced(Result<(), String>),
    /// What it is asked.
    Prompt(Result<String, String>),
    /// There is a session, or why not.
    Asked(Result<SessionId, String>),
    /// There is none, and it may be asked again.
    NotNow,
}

/// All plans.
#[derive(Default)]
pub(super) struct Plans(BTreeMap<SessionId, Run>);

struct Run {
    record: PlanRecord,
    /// What its agents are launched with: none if that went with a former daemon and yard.
    launch: Option<Box<NewLaunch>>,
    waiters: Vec<Answer<PlanView>>,
    /// Counts its time.
    meter: Meter,
    timer: Option<AbortHandle>,
    /// Whether somebody waits for it, tied.
    tied: bool,
}

impl Plans {
    pub(super) fn new(records: Vec<PlanRecord>) -> Self {
        let run = |record: PlanRecord| (record.id.clone(), Run::new(record, None));
        Self(records.into_iter().map(run).collect())
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &SessionId> {
        self.0.keys()
    }

    pub(super) fn statuses(&self) -> impl Iterator<Item = PlanStatus> {
        self.0.values().map(|run| run.record.state.status(&run.record.spec))
    }

    /// The plan that is not over and has asked this session, if one has: later agents get what it has answered.
    pub(super) fn needing(&self, session: &Session) -> Option<&SessionId> {
        let seat = session.spec.agent.as_ref()?.plan.as_ref()?;
        let runs = self.0.values().find(|run| run.record.id.as_str() == seat.plan);
        runs.filter(|run| !run.record.state.finished).map(|run| &run.record.id)
    }

    pub(super) fn wants_kept(&self, id: &SessionId) -> bool {
        self.0.get(id).is_some_and(|run| !run.record.state.finished)
    }

    pub(super) fn take_kept(&mut self, id: Option<&SessionId>, launch: Box<NewLaunch>) {
        if let Some(run) = id.and_then(|id| self.0.get_mut(id)) {
            run.launch = Some(launch);
        }
    }
}

impl Run {
    fn new(record: PlanRecord, launch: Option<Box<NewLaunch>>) -> Self {
        let meter = Meter::from_record(record.spent_ms, Instant::now());
        Self { record, launch, waiters: Vec::new(), meter, timer: None, tied: false }
    }

    /// What is put on record, with the time that it has spent by now.
    fn noted(&mut self) -> PlanRecord {
        if !self.record.state.finished {
            self.record.spent_ms = self.meter.spent_ms(Instant::now());
        }
        self.record.clone()
    }

    fn view(&self) -> PlanView {
        let PlanRecord { id, spec, state, created_ms, ended_ms, .. } = &self.record;
        let created = clock::rfc3339(*created_ms);
        state.view(spec, id.as_str(), created, ended_ms.map(clock::rfc3339))
    }

    fn happened(&mut self, event: &PlanEvent) -> Heard {
        self.record.state.happened(&self.record.spec, event)
    }
}

impl Owner {
    pub(super) fn plan_command(&mut self, command: PlanCommand) {
        match command {
            PlanCommand::Run { record, answer } => self.run_plan(*record, answer),
            PlanCommand::List { answer } => {
                drop(answer.send(Ok(self.plans.0.values().map(Run::view).collect())));
            }
            PlanCommand::Show { reference, answer } => {
                let found = self.find_plan(&reference);
                drop(answer.send(found.and_then(|id| self.plan_view(&id))));
            }
            PlanCommand::Wait { reference, tether, answer } => match self.find_plan(&reference) {
                Ok(id) => {
                    if let Some(tether) = tether {
                        self.tie_plan(&id, tether);
                    }
                    self.await_plan(&id, answer);
                }
                Err(refused) => drop(answer.send(Err(refused))),
            },
            PlanCommand::Cancel { reference, by, answer } => match self.find_plan(&reference) {
                Ok(id) => {
                    self.cancel_plan(&id, by);
                    self.await_plan(&id, answer);
                }
                Err(refused) => drop(answer.send(Err(refused))),
            },
            PlanCommand::Resume { reference, replay, tied, by, launch, answer } => {
                match self.find_plan(&reference) {
                    Ok(id) => self.resume_plan(id, Resumption { replay, tied, by, launch }, answer),
                    Err(refused) => drop(answer.send(Err(refused))),
                }
            }
        }
    }

    fn plan_view(&self, id: &SessionId) -> Result<PlanView, Refused> {
        let gone = || Refused::not_found(format!("there is no plan {id}"));
        self.plans.0.get(id).map(Run::view).ok_or_else(gone)
    }

    /// By its id, the beginning of one, or the name: of several runs of that the one that is not over, or the last.
    fn find_plan(&self, reference: &str) -> Result<SessionId, Refused> {
        let all = || self.plans.0.values();
        let named = || all().filter(|run| run.record.spec.name.as_str() == reference);
        let by_name = named().rev().find(|run| !run.record.state.finished).or(named().next_back());
        if let Some(run) = by_name {
            return Ok(run.record.id.clone());
        }
        let begins =
            |run: &&Run| !reference.is_empty() && run.record.id.as_str().starts_with(reference);
        let mut found = all().filter(begins).map(|run| &run.record.id);
        match (found.next(), found.next()) {
            (Some(id), None) => Ok(id.clone()),
            (Some(_), Some(_)) => {
                let text = format!("{reference:?} may be one of several plans");
                Err(Refused::conflict(text).hint("give more characters of the id"))
            }
            (None, _) => Err(Refused::not_found(format!("there is no plan {reference:?}"))
                .hint("`kennel plan list` lists all")),
        }
    }

    // Begun, waited for, cancelled, gone on with.

    fn run_plan(&mut self, new: NewPlan, answer: Answer<PlanView>) {
        if self.leaving.is_some() {
            return drop(answer.send(Err(Refused::leaving())));
        }
        let random = match random() {
            Ok(random) => random,
            Err(error) => {
                let refused = Refused::internal(format!("no random: {error}"));
                return drop(answer.send(Err(refused)));
            }
        };
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of many")]
        let id = self.ids.next(clock::now_ms(), random[0] as u32);
        let NewPlan { request, inputs, cwd, launch } = new;
        let now = clock::now_ms();
        let record = PlanRecord {
            id: id.clone(),
            state: PlanState::new(&request.spec),
            spec: request.spec,
            inputs,
            cwd,
            pen: request.pen,
            tied: request.tied,
            asked_by: request.by,
            created_ms: now,
            begun_ms: now,
            spent_ms: 0,
            ended_ms: None,
        };
        let cause = format!("plan {} ({})", record.spec.name, record.asked_by);
        let run = Run::new(record, Some(launch));
        let view = run.view();
        self.plans.0.insert(id.clone(), run);
        self.note(None, "plan_begun", format!("{id}: {cause}"));
        self.begin_plan(&id);
        let (bus, record) = (self.bus.clone(), self.plans.0[&id].record.clone());
        // Nobody is asked before the plan is on record.
        self.register.save_plan(record, move |result| match result {
            Ok(()) => {
                drop(answer.send(Ok(view)));
                bus.send(Message::PlanTurn { plan: id }).ok();
            }
            Err(why) => {
                let refused = Refused::busy(format!("the plan can't be put on record: {why}"));
                drop(answer.send(Err(refused)));
                bus.send(Message::PlanDropped { plan: id }).ok();
            }
        });
        self.trim_plans();
    }

    /// It is on no record: so there is none.
    pub(super) fn plan_dropped(&mut self, id: &SessionId) {
        self.plans.0.remove(id);
        self.forget_kept_plan(id);
    }

    /// What every run needs, whoever begins it or goes on with it.
    fn begin_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.0.get(id) else { return };
        if let Some(launch) = &run.launch {
            self.keep_plan(id, launch);
        }
        if run.record.tied {
            let (bus, plan, begun_ms) = (self.bus.clone(), id.clone(), run.record.begun_ms);
            tokio::spawn(async move {
                tokio::time::sleep(TIE).await;
                bus.send(Message::PlanTieOverdue { plan, begun_ms }).ok();
            });
        }
        self.mind_plan_time(id);
    }

    fn await_plan(&mut self, id: &SessionId, answer: Answer<PlanView>) {
        let Some(run) = self.plans.0.get_mut(id) else { return };
        if run.record.state.finished {
            drop(answer.send(Ok(run.view())));
        } else {
            run.waiters.retain(|waiter| !waiter.is_closed());
            run.waiters.push(answer);
        }
    }

    fn tie_plan(&mut self, id: &SessionId, tether: oneshot::Receiver<()>) {
        if let Some(run) = self.plans.0.get_mut(id) {
            run.tied = true;
        }
        let (bus, plan) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            if tether.await.is_err() {
                bus.send(Message::PlanClientGone { plan }).ok();
            }
        });
    }

    pub(super) fn plan_tie_overdue(&mut self, id: &SessionId, begun_ms: u64) {
        let untied = |run: &Run| {
            let this_run = run.record.begun_ms == begun_ms && run.record.tied;
            this_run && !run.tied
        };
        if self.plans.0.get(id).is_some_and(untied) {
            self.plan_client_gone(id);
        }
    }

    pub(super) fn plan_client_gone(&mut self, id: &SessionId) {
        self.cancel_plan(id, "the loss of its client".to_owned());
    }

    fn cancel_plan(&mut self, id: &SessionId, by: String) {
        point("daemon.plan.cancelled");
        let Some(run) = self.plans.0.get_mut(id) else { return };
        if run.happened(&PlanEvent::CancelWanted { by }) != Heard::Taken {
            return;
        }
        // On record before it is done, so that the next daemon knows why all have ended; and done even if it can't be
        // put on record.
        let (plan, bus, record) = (id.clone(), self.bus.clone(), run.noted());
        self.register.save_plan(record, move |result| {
            if let Err(why) = result {
                tracing::error!(%plan, %why, "the cancel of a plan is not on record");
                bus.send(Message::PlanUnsaved { plan: plan.clone() }).ok();
            }
            bus.send(Message::PlanTurn { plan }).ok();
        });
    }

    // What happens to it.

    fn plan_event(&mut self, id: &SessionId, event: &PlanEvent) {
        let Some(run) = self.plans.0.get_mut(id) else { return };
        match run.happened(event) {
            Heard::Taken => {
                self.save_plan(id);
                self.plan_turn(id);
            }
            Heard::Ignored(why) => tracing::debug!(plan = %id, %why, "of no use to the plan"),
        }
    }

    fn save_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.0.get_mut(id) else { return };
        let (plan, bus) = (id.clone(), self.bus.clone());
        self.register.save_plan(run.noted(), move |result| {
            if let Err(why) = result {
                tracing::error!(%plan, %why, "a plan is not on record as it is");
                bus.send(Message::PlanUnsaved { plan }).ok();
            }
        });
    }

    /// A record that failed is tried again with the next turn, and now and then.
    pub(super) fn plan_unsaved(&mut self, id: SessionId) {
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            bus.send(Message::PlanSaveAgain { plan: id }).ok();
        });
    }

    pub(super) fn plan_save_again(&mut self, id: &SessionId) {
        self.save_plan(id);
    }

    /// Does what is to be done now.
    pub(super) fn plan_turn(&mut self, id: &SessionId) {
        let Some(run) = self.plans.0.get(id) else { return };
        for action in run.record.state.next(&run.record.spec) {
            match action {
                // The next daemon goes on.
                Action::Ask { .. } if self.leaving.is_some() => {}
                Action::Ask { place, ask } => self.begin_ask(id, &place, ask),
                Action::Stop { place, ask } => self.stop_agent(id, &place, ask),
                Action::Finish(_) => return self.finish_plan(id),
            }
        }
    }

    /// A prompt was judged, and that is its last word: if a plan has asked it, it hears so.
    pub(super) fn tell_plan(&mut self, id: &SessionId) {
        let session = self.world.get(id);
        let seat = session.and_then(|it| it.spec.agent.as_ref()).and_then(|it| it.plan.clone());
        let Some(seat) = seat else { return };
        let (Ok(plan), Ok(place)) = (SessionId::parse(&seat.plan), Place::parse(&seat.name)) else {
            return;
        };
        self.tell_plan_of(&plan, &place, seat.ask);
    }

    fn tell_plan_of(&mut self, plan: &SessionId, place: &Place, ask: u32) {
        let Some(session) = self.session_of(plan, place, ask) else { return };
        let Some(judged) = session.judged.as_ref().filter(|_| !session.is_asking()) else { return };
        let (verdict, session) = (judged.verdict.kind, session.id.clone());
        let mut usage = Usage::default();
        for launch in self.world.launches(&session) {
            usage += launch.judged.as_ref().map(|judged| judged.usage).unwrap_or_default();
        }
        let place = place.clone();
        self.plan_event(plan, &PlanEvent::Judged { place, ask, session, verdict, usage });
    }

    fn finish_plan(&mut self, id: &SessionId) {
        let Some(run) = self.plans.0.get_mut(id) else { return };
        if run.happened(&PlanEvent::Finished) != Heard::Taken {
            return;
        }
        run.record.ended_ms = Some(clock::now_ms());
        run.launch = None;
        if let Some(timer) = run.timer.take() {
            timer.abort();
        }
        let (view, waiters) = (run.view(), std::mem::take(&mut run.waiters));
        self.save_plan(id);
        point("daemon.plan.finished");
        self.forget_kept_plan(id);
        self.note(None, "plan_over", format!("{id}: {}", view.why.as_deref().unwrap_or("over")));
        for waiter in waiters {
            drop(waiter.send(Ok(view.clone())));
        }
    }

    fn trim_plans(&mut self) {
        let over = self.plans.0.values().filter(|run| run.record.state.finished);
        let over: Vec<_> = over.map(|run| run.record.id.clone()).collect();
        for id in over.iter().take(over.len().saturating_sub(ENDED_KEPT)) {
            self.plans.0.remove(id);
            self.register.remove_plan(id.clone());
        }
    }

    /// Goes on with what a former daemon left.
    pub(super) fn take_up_plans(&mut self) {
        let ids: Vec<_> = self.plans.0.keys().cloned().collect();
        for id in ids {
            let Some(run) = self.plans.0.get(&id).filter(|run| !run.record.state.finished) else {
                continue;
            };
            let agents: Vec<_> =
                run.record.state.agents.iter().map(|it| (it.place.clone(), it.asks)).collect();
            self.begin_plan(&id);
            for (place, ask) in agents {
                let session = self.session_of(&id, &place, ask).map(|session| session.id.base());
                let known = self.plans.0.get(&id).and_then(|run| run.record.state.agent(&place));
                let event = match (session, known.map(|agent| &agent.phase)) {
                    (Some(session), _) => PlanEvent::Asked { place: place.clone(), ask, session },
                    // Somebody has removed it: nobody will tell what became of it.
                    (None, Some(AgentPhase::Asked { session })) => PlanEvent::Judged {
                        place: place.clone(),
                        ask,
                        session: session.clone(),
                        verdict: VerdictKind::Unknown,
                        usage: Usage::default(),
                    },
                    (None, _) => PlanEvent::NotAsked { place: place.clone(), ask },
                };
                if let Some(run) = self.plans.0.get_mut(&id)
                    && run.happened(&event) == Heard::Taken
                {
                    self.save_plan(&id);
                }
                self.tell_plan_of(&id, &place, ask);
            }
            self.plan_turn(&id);
        }
    }
}

#[cfg(test)]
mod tests;
