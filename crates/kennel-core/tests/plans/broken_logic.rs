//! Plan logic that is broken on purpose, each time in another way. The oracle must notice.

use kennel_core::plan::{
    AgentPhase, AskFailure, IgnoredReason, PlanAction, PlanEnding, PlanEvent, PlanState, SkipReason,
};
use kennel_types::plan::{OnFailure, PlanSpec};
use kennel_types::{SessionId, VerdictKind};

use crate::scene::{self, Budget};
use crate::{CALM, PlanLogic, all_needed, one_at_a_time, one_of_two};

type Next = fn(&PlanState, &PlanSpec) -> Vec<PlanAction>;
type Happened = fn(&mut PlanState, &PlanSpec, &PlanEvent) -> Result<(), IgnoredReason>;

struct BrokenLogic {
    next: Next,
    happened: Happened,
}

impl PlanLogic for BrokenLogic {
    fn next(&self, state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        (self.next)(state, spec)
    }

    fn happened(
        &self,
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        (self.happened)(state, spec, event)
    }
}

const REAL: BrokenLogic = BrokenLogic { next: PlanState::next, happened: PlanState::happened };

/// Returns the violation that the oracle finds.
fn verdict(broken: &BrokenLogic, spec: &PlanSpec, budget: Budget) -> String {
    match scene::explore(broken, spec, budget) {
        Ok(seen) => panic!("the oracle found no violation: {seen:?}"),
        Err(violation) => violation.what,
    }
}

const FAILURE: Budget = Budget { failures: 2, ..CALM };
const CANCEL: Budget = Budget { cancels: 1, ..CALM };
const CRASH: Budget = Budget { crashes: 1, doubled: 1, failures: 1, ..CALM };
const RESUME: Budget = Budget { resumes: 1, doubled: 1, failures: 2, ..CALM };

/// An action from before the cancel is carried out after it.
#[test]
fn an_ask_that_ignores_a_cancel() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let PlanEvent::Asking { .. } = event else { return state.happened(spec, event) };
        let ending = state.ending.take();
        for agent in &mut state.agents {
            if agent.phase == (AgentPhase::Skipped { why: SkipReason::Cancelled }) {
                agent.phase = AgentPhase::Waiting;
            }
        }
        let applied = state.happened(spec, event);
        state.ending = ending;
        applied
    }
    let broken = BrokenLogic { happened, ..REAL };
    assert_eq!(verdict(&broken, &all_needed(), CANCEL), "asked after a cancel");
}

/// An agent that may already have a session is treated as if it had none.
#[test]
fn a_cancel_that_forgets_an_agent_that_is_being_asked() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        if let PlanEvent::CancelWanted { .. } = event {
            for agent in &mut state.agents {
                if agent.phase == AgentPhase::Asking {
                    agent.phase = AgentPhase::Skipped { why: SkipReason::Cancelled };
                }
            }
        }
        state.happened(spec, event)
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &all_needed(), CANCEL);
    assert!(found.contains("unowned") || found.contains("may be alive"), "{found}");
}

/// After a failure the plan drops the other agents, which stay alive.
#[test]
fn a_failure_that_drops_the_others() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let applied = state.happened(spec, event);
        if let Some(PlanEnding::AgentFailed { .. }) = state.ending {
            for agent in state.agents.iter_mut().filter(|agent| agent.phase.may_be_alive()) {
                agent.phase = AgentPhase::Skipped { why: SkipReason::Failed };
            }
        }
        applied
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &all_needed(), FAILURE);
    assert!(found.contains("unowned") || found.contains("may be alive"), "{found}");
}

#[test]
fn an_outcome_that_does_not_wait() {
    fn next(state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        let mut actions = state.next(spec);
        if state.ending.is_some() && !state.finished && !state.is_over() {
            actions.push(PlanAction::Finish(state.outcome(spec)));
        }
        actions
    }
    let broken = BrokenLogic { next, ..REAL };
    assert_eq!(verdict(&broken, &all_needed(), CANCEL), "finished, but one.a may be alive");
}

/// The plan waits for agents that it does not stop.
#[test]
fn a_cancel_that_stops_no_agent() {
    fn next(state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        let actions = state.next(spec).into_iter();
        actions.filter(|action| !matches!(action, PlanAction::Stop { .. })).collect()
    }
    let broken = BrokenLogic { next, ..REAL };
    for (spec, budget) in [(all_needed(), CANCEL), (all_needed(), FAILURE)] {
        assert_eq!(verdict(&broken, &spec, budget), "the plan never ends");
    }
}

/// A repeated message about an ask is mistaken for one about the next ask.
#[test]
fn asks_without_numbers() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let mut event = event.clone();
        if let PlanEvent::NotAsked { place, ask } = &mut event {
            *ask = state.agent(place).map_or(0, |agent| agent.asks);
        }
        state.happened(spec, &event)
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &one_at_a_time(), CRASH);
    assert!(found.contains("may be alive") || found.contains("unowned"), "{found}");
}

/// The end of an earlier session is mistaken for that of the new one.
#[test]
fn an_end_that_counts_for_any_session() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let mut event = event.clone();
        if let PlanEvent::Judged { place, ask, session, .. } = &mut event
            && let Some(agent) = state.agent(place)
        {
            *ask = agent.asks;
            *session = agent.phase.session().unwrap_or(session).clone();
        }
        state.happened(spec, &event)
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &all_needed(), RESUME);
    assert!(found.contains("may be alive") || found.contains("unowned"), "{found}");
}

#[test]
fn a_limit_that_is_ignored() {
    fn unlimited(spec: &PlanSpec) -> PlanSpec {
        PlanSpec { concurrency: None, ..spec.clone() }
    }
    let broken = BrokenLogic {
        next: |state, spec| state.next(&unlimited(spec)),
        happened: |state, spec, event| state.happened(&unlimited(spec), event),
    };
    assert_eq!(verdict(&broken, &one_at_a_time(), FAILURE), "2 agents at once");
}

#[test]
fn a_failure_that_is_ignored() {
    fn careless(spec: &PlanSpec) -> PlanSpec {
        let mut spec = spec.clone();
        for agent in spec.stages.iter_mut().flat_map(|stage| &mut stage.agents) {
            agent.on_failure = Some(OnFailure::Continue);
        }
        spec
    }
    let broken = BrokenLogic {
        next: |state, spec| state.next(&careless(spec)),
        happened: |state, spec, event| state.happened(&careless(spec), event),
    };
    let found = verdict(&broken, &all_needed(), FAILURE);
    assert_eq!(found, "asked after a failure that fails the plan");
}

/// Too few agents can still answer, but the plan continues.
#[test]
fn a_need_that_is_not_counted() {
    fn needless(spec: &PlanSpec) -> PlanSpec {
        let mut spec = spec.clone();
        for stage in spec.stages.iter_mut().filter(|stage| stage.need.is_some()) {
            stage.need = None;
            stage.stop_rest = false;
            stage.agents.iter_mut().for_each(|it| it.on_failure = Some(OnFailure::Continue));
        }
        spec
    }
    let broken = BrokenLogic {
        next: |state, spec| state.next(&needless(spec)),
        happened: |state, spec, event| state.happened(&needless(spec), event),
    };
    let found = verdict(&broken, &one_of_two(), FAILURE);
    assert_eq!(found, "asked after a failure that fails the plan");
}

#[test]
fn a_resume_that_repeats_what_may_have_run() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        match event {
            PlanEvent::Resumed { .. } => state.happened(spec, &PlanEvent::Resumed { replay: true }),
            event => state.happened(spec, event),
        }
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &all_needed(), RESUME);
    assert_eq!(found, "asked again, although it may have run");
}

#[test]
fn a_resume_that_starts_over() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let applied = state.happened(spec, event);
        if applied.is_ok() && matches!(event, PlanEvent::Resumed { .. }) {
            state.agents.iter_mut().for_each(|agent| agent.phase = AgentPhase::Waiting);
        }
        applied
    }
    let broken = BrokenLogic { happened, ..REAL };
    let found = verdict(&broken, &all_needed(), RESUME);
    assert_eq!(found, "asked again, although it has answered");
}

/// The reported status of an agent is not its actual one.
#[test]
fn an_outcome_that_is_wrong() {
    fn next(state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        let mut wrong = state.clone();
        for agent in &mut wrong.agents {
            let judged = |session: &SessionId| AskFailure::Judged {
                session: session.clone(),
                verdict: VerdictKind::Crashed,
            };
            if let AgentPhase::Cancelled { session } = &agent.phase {
                agent.phase = AgentPhase::Failed { why: judged(session) };
            }
        }
        wrong.next(spec)
    }
    let broken = BrokenLogic { next, ..REAL };
    let found = verdict(&broken, &all_needed(), CANCEL);
    assert!(found.contains("is reported as Failed, but is Some(Over(Cancelled))"), "{found}");
}
