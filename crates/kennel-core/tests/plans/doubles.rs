//! Plans that are broken on purpose, each as a program was broken once or could be: the oracle must
//! notice.

use kennel_core::plan::{
    AgentPhase, AskFailure, IgnoredReason, PlanAction, PlanEnding, PlanEvent, PlanState, SkipReason,
};
use kennel_types::plan::{OnFailure, PlanSpec};
use kennel_types::{SessionId, VerdictKind};

use crate::scene::{self, Budget};
use crate::{CALM, Mind, all_needed, one_at_a_time, one_of_two};

type Next = fn(&PlanState, &PlanSpec) -> Vec<PlanAction>;
type Happened = fn(&mut PlanState, &PlanSpec, &PlanEvent) -> Result<(), IgnoredReason>;

struct Double {
    next: Next,
    happened: Happened,
}

impl Mind for Double {
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

const HONEST: Double = Double { next: PlanState::next, happened: PlanState::happened };

/// What the oracle says of it.
fn verdict(double: &Double, spec: &PlanSpec, budget: Budget) -> String {
    match scene::explore(double, spec, budget) {
        Ok(seen) => panic!("the oracle has seen nothing wrong: {seen:?}"),
        Err(violation) => violation.what,
    }
}

const FAILURE: Budget = Budget { failures: 2, ..CALM };
const CANCEL: Budget = Budget { cancels: 1, ..CALM };
const CRASH: Budget = Budget { crashes: 1, doubled: 1, failures: 1, ..CALM };
const RESUME: Budget = Budget { resumes: 1, doubled: 1, failures: 2, ..CALM };

/// What was decided before the cancel is done after it.
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
        let heard = state.happened(spec, event);
        state.ending = ending;
        heard
    }
    let double = Double { happened, ..HONEST };
    assert_eq!(verdict(&double, &all_needed(), CANCEL), "asked after a cancel");
}

/// An agent of which nobody knows yet whether there is a session is taken for one that there is
/// none of.
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
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &all_needed(), CANCEL);
    assert!(told.contains("nobody's") || told.contains("may live"), "{told}");
}

/// A failed agent takes the others with it from the list, and they live on.
#[test]
fn a_failure_that_drops_the_others() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let heard = state.happened(spec, event);
        if let Some(PlanEnding::AgentFailed { .. }) = state.ending {
            for agent in state.agents.iter_mut().filter(|agent| agent.phase.may_be_alive()) {
                agent.phase = AgentPhase::Skipped { why: SkipReason::Failed };
            }
        }
        heard
    }
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &all_needed(), FAILURE);
    assert!(told.contains("nobody's") || told.contains("may live"), "{told}");
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
    let double = Double { next, ..HONEST };
    assert_eq!(verdict(&double, &all_needed(), CANCEL), "finished, and one.a may live");
}

/// The end is waited for, and nobody sees to it.
#[test]
fn a_cancel_that_stops_no_agent() {
    fn next(state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        let actions = state.next(spec).into_iter();
        actions.filter(|action| !matches!(action, PlanAction::Stop { .. })).collect()
    }
    let double = Double { next, ..HONEST };
    for (spec, budget) in [(all_needed(), CANCEL), (all_needed(), FAILURE)] {
        assert_eq!(verdict(&double, &spec, budget), "it never comes to its end");
    }
}

/// What is told twice of an ask is taken for something about the next one.
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
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &one_at_a_time(), CRASH);
    assert!(told.contains("may live") || told.contains("nobody's"), "{told}");
}

/// The end of a former session is taken for that of the new one.
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
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &all_needed(), RESUME);
    assert!(told.contains("may live") || told.contains("nobody's"), "{told}");
}

#[test]
fn a_limit_that_is_ignored() {
    fn unlimited(spec: &PlanSpec) -> PlanSpec {
        PlanSpec { concurrency: None, ..spec.clone() }
    }
    let double = Double {
        next: |state, spec| state.next(&unlimited(spec)),
        happened: |state, spec, event| state.happened(&unlimited(spec), event),
    };
    assert_eq!(verdict(&double, &one_at_a_time(), FAILURE), "2 agents at once");
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
    let double = Double {
        next: |state, spec| state.next(&careless(spec)),
        happened: |state, spec, event| state.happened(&careless(spec), event),
    };
    let told = verdict(&double, &all_needed(), FAILURE);
    assert_eq!(told, "asked after a failure that fails the plan");
}

/// Too few can answer, and it goes on all the same.
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
    let double = Double {
        next: |state, spec| state.next(&needless(spec)),
        happened: |state, spec, event| state.happened(&needless(spec), event),
    };
    let told = verdict(&double, &one_of_two(), FAILURE);
    assert_eq!(told, "asked after a failure that fails the plan");
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
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &all_needed(), RESUME);
    assert_eq!(told, "asked again, although it may have run");
}

#[test]
fn a_resume_that_starts_over() {
    fn happened(
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        let heard = state.happened(spec, event);
        if heard.is_ok() && matches!(event, PlanEvent::Resumed { .. }) {
            state.agents.iter_mut().for_each(|agent| agent.phase = AgentPhase::Waiting);
        }
        heard
    }
    let double = Double { happened, ..HONEST };
    let told = verdict(&double, &all_needed(), RESUME);
    assert_eq!(told, "asked again, although it has answered");
}

/// No word of a refusal is taken for a failure, and so on: what is told of an agent must be what
/// became of it.
#[test]
fn an_outcome_that_is_wrong() {
    fn next(state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        let mut told = state.clone();
        for agent in &mut told.agents {
            let judged = |session: &SessionId| AskFailure::Judged {
                session: session.clone(),
                verdict: VerdictKind::Crashed,
            };
            if let AgentPhase::Cancelled { session } = &agent.phase {
                agent.phase = AgentPhase::Failed { why: judged(session) };
            }
        }
        told.next(spec)
    }
    let double = Double { next, ..HONEST };
    let said = verdict(&double, &all_needed(), CANCEL);
    assert!(said.contains("is told to be Failed, and is Some(Over(Cancelled))"), "{said}");
}
