//! The runs of plans: their state, their waiters, their time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kennel_core::Session;
use kennel_core::plan::{IgnoredReason, PlanEvent};
use kennel_register::PlanRecord;
use kennel_types::SessionId;
use kennel_types::plan::{PlanStatus, PlanView};

use crate::error::{Answer, ApiError};
use crate::launch::request::LaunchRequest;
use crate::os::{AbortOnDrop, clock};
use crate::plan::request::NewPlan;
use crate::plan::time::PlanTime;

/// How many plans that are over stay on record.
const ENDED_LIMIT: usize = 200;

#[derive(Default)]
pub(crate) struct PlanRuns(BTreeMap<SessionId, PlanRun>);

pub(crate) struct PlanRun {
    pub(crate) record: PlanRecord,
    /// What its agents are launched with: none if that was lost with a former daemon and yard.
    pub(crate) launch: Option<Box<LaunchRequest>>,
    waiters: Vec<Answer<PlanView>>,
    time: PlanTime,
    /// Checks the time limit again.
    pub(crate) timer: Option<AbortOnDrop>,
    /// Whether a client waits for the run and is tied to it.
    pub(crate) has_client: bool,
    /// Whether it is over and its end was written, or could not be written.
    end_recorded: bool,
}

impl PlanRuns {
    pub(crate) fn new(records: Vec<PlanRecord>) -> Self {
        let run = |record: PlanRecord| (record.id.clone(), PlanRun::new(record, None));
        Self(records.into_iter().map(run).collect())
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &SessionId> {
        self.0.keys()
    }

    pub(crate) fn statuses(&self) -> impl Iterator<Item = PlanStatus> {
        self.0.values().map(|run| run.record.state.status())
    }

    pub(crate) fn views(&self) -> Vec<PlanView> {
        self.0.values().map(PlanRun::view).collect()
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<&PlanRun> {
        self.0.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &SessionId) -> Option<&mut PlanRun> {
        self.0.get_mut(id)
    }

    pub(crate) fn remove(&mut self, id: &SessionId) {
        self.0.remove(id);
    }

    pub(crate) fn begin(&mut self, id: SessionId, new: NewPlan) -> &mut PlanRun {
        let (record, launch) = new.into_record(id.clone(), clock::now_ms());
        self.0.entry(id).or_insert(PlanRun::new(record, Some(launch)))
    }

    /// Returns the plan that is not over and has asked this session: later agents get its answer.
    pub(crate) fn needing(&self, session: &Session) -> Option<&SessionId> {
        let position = session.spec.agent.as_ref()?.plan.as_ref()?;
        let runs = self.0.values().find(|run| run.record.id.as_str() == position.plan);
        runs.filter(|run| !run.is_over()).map(|run| &run.record.id)
    }

    /// Gives a run what the yard has stored for it. Returns false if no run needs it.
    pub(crate) fn restore_launch(&mut self, id: &SessionId, launch: Box<LaunchRequest>) -> bool {
        let run = self.0.get_mut(id).filter(|run| !run.is_over());
        let needed = run.is_some();
        if let Some(run) = run {
            run.launch = Some(launch);
        }
        needed
    }

    /// Finds a run by its name, its id, or the beginning of its id. Of several runs with a name it
    /// is the one that is not over, or else the last.
    pub(crate) fn find(&self, reference: &str) -> Result<SessionId, ApiError> {
        let all = || self.0.values();
        let named = || all().filter(|run| run.record.spec.name.as_str() == reference);
        let by_name = named().rev().find(|run| !run.is_over()).or(named().next_back());
        if let Some(run) = by_name {
            return Ok(run.record.id.clone());
        }
        let begins =
            |run: &&PlanRun| !reference.is_empty() && run.record.id.as_str().starts_with(reference);
        let mut found = all().filter(begins).map(|run| &run.record.id);
        match (found.next(), found.next()) {
            (Some(id), None) => Ok(id.clone()),
            (Some(_), Some(_)) => {
                let text = format!("{reference:?} matches several plans");
                Err(ApiError::conflict(text).hint("give more characters of the id"))
            }
            (None, _) => Err(ApiError::not_found(format!("there is no plan {reference:?}"))
                .hint("`kennel plan list` lists all plans")),
        }
    }

    /// Removes the oldest runs that are over and beyond the limit, and returns their ids.
    pub(crate) fn trim(&mut self) -> Vec<SessionId> {
        let over = self.0.values().filter(|run| run.is_over());
        let over: Vec<_> = over.map(|run| run.record.id.clone()).collect();
        let excess = over.len().saturating_sub(ENDED_LIMIT);
        let removed: Vec<_> = over.into_iter().take(excess).collect();
        for id in &removed {
            self.0.remove(id);
        }
        removed
    }
}

impl PlanRun {
    fn new(record: PlanRecord, launch: Option<Box<LaunchRequest>>) -> Self {
        let time = PlanTime::from_record(record.spent_ms, Instant::now());
        let end_recorded = record.state.finished;
        Self {
            record,
            launch,
            waiters: Vec::new(),
            time,
            timer: None,
            has_client: false,
            end_recorded,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.record.state.finished
    }

    /// Returns what is put on record, with the time that the run has spent by now.
    pub(crate) fn current_record(&mut self) -> PlanRecord {
        if !self.is_over() {
            self.record.spent_ms = self.time.spent_ms(Instant::now());
        }
        self.record.clone()
    }

    pub(crate) fn view(&self) -> PlanView {
        let PlanRecord { id, spec, state, created_ms, ended_ms, .. } = &self.record;
        let created = clock::rfc3339(*created_ms);
        state.view(spec, id.as_str(), created, ended_ms.map(clock::rfc3339))
    }

    pub(crate) fn happened(&mut self, event: &PlanEvent) -> Result<(), IgnoredReason> {
        self.record.state.happened(&self.record.spec, event)
    }

    /// Answers at once if the end is on record, otherwise when it is.
    pub(crate) fn await_end(&mut self, answer: Answer<PlanView>) {
        if self.end_recorded {
            drop(answer.send(Ok(self.view())));
        } else {
            self.waiters.retain(|waiter| !waiter.is_closed());
            self.waiters.push(answer);
        }
    }

    /// The run is over: what only a running plan needs is dropped.
    pub(crate) fn finish(&mut self) {
        self.record.ended_ms = Some(clock::now_ms());
        self.launch = None;
        self.timer = None;
    }

    /// The end is on record: answers the clients that wait for it.
    pub(crate) fn end_was_recorded(&mut self) {
        self.end_recorded = self.is_over();
        if self.end_recorded {
            let view = self.view();
            for waiter in self.waiters.drain(..) {
                drop(waiter.send(Ok(view.clone())));
            }
        }
    }

    /// The run continues after its end.
    pub(crate) fn resume(&mut self, launch: Box<LaunchRequest>, cancel_on_disconnect: bool) {
        self.launch = Some(launch);
        self.record.cancel_on_disconnect = cancel_on_disconnect;
        self.has_client = false;
        self.record.begun_ms = clock::now_ms();
        self.record.ended_ms = None;
        self.end_recorded = false;
        self.time = PlanTime::from_record(0, Instant::now());
    }

    /// The run does not continue after all: restores its former record.
    pub(crate) fn undo_resume(&mut self, former: PlanRecord) {
        self.record = former;
        self.launch = None;
        self.timer = None;
        self.end_was_recorded();
    }

    /// Compares the time that the run has spent with its limit.
    pub(crate) fn check_time(&self) -> TimeCheck {
        let Some(limit) = self.record.spec.timeout else { return TimeCheck::Unlimited };
        match self.time.next_check(limit, Instant::now()) {
            Some(pause) => TimeCheck::CheckAgainIn(pause),
            None => TimeCheck::Over,
        }
    }
}

/// How a run's time compares with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum TimeCheck {
    Unlimited,
    Over,
    /// There is time left; check again after this pause.
    CheckAgainIn(Duration),
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
