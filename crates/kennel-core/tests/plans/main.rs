//! Explores every interleaving of events around small plans: agents that answer, fail, are refused
//! or end with an unknown result; cancels, timeouts, crashes in the middle of an ask, resumes;
//! messages that arrive in any order, some of them twice.
//!
//! The oracle (`oracle.rs`) knows the actual state of each ask (`scene.rs`), not only the state in
//! the plan. It also checks that every plan ends if no more faults occur. A plan that is cancelled
//! ends even if its agents never end by themselves. Plan logic that is broken on purpose
//! (`broken_logic.rs`) shows that the oracle finds violations.

mod broken_logic;
mod documents;
mod oracle;
mod scene;
#[path = "../common/search.rs"]
mod search;

use kennel_core::plan::{IgnoredReason, PlanAction, PlanEvent, PlanState};
use kennel_types::plan::PlanSpec;
use scene::Budget;

/// The decisions of a plan.
trait PlanLogic {
    fn next(&self, state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction>;
    fn happened(
        &self,
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason>;
}

/// The real logic.
struct Real;

impl PlanLogic for Real {
    fn next(&self, state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction> {
        state.next(spec)
    }

    fn happened(
        &self,
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason> {
        state.happened(spec, event)
    }
}

/// Returns a plan with these keys: of the plan, of its first stage, and of each agent in it.
/// `second` adds another stage.
fn plan(top: &str, stage: &str, agents: &[&str], second: bool) -> PlanSpec {
    let agent = |name: &str, more: &str| {
        format!("[[stage.agent]]\nname = \"{name}\"\nagent = \"claude\"\nprompt = \"p\"\n{more}\n")
    };
    let mut text = format!("name = \"p\"\n{top}\n[[stage]]\nname = \"one\"\n{stage}\n");
    for (name, more) in ["a", "b", "c"].iter().zip(agents) {
        text.push_str(&agent(name, more));
    }
    if second {
        text.push_str("[[stage]]\nname = \"two\"\n");
        text.push_str(&agent("z", ""));
    }
    kennel_core::plan::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Two agents must succeed, then another one.
fn all_needed() -> PlanSpec {
    plan("", "", &["", ""], true)
}

/// One of two agents must succeed. Then the other one is stopped.
fn one_of_two() -> PlanSpec {
    plan("", "need = 1\nstop_rest = true", &["", ""], true)
}

/// One agent runs at a time, and the first one may fail.
fn one_at_a_time() -> PlanSpec {
    plan("concurrency = 1", "", &["on_failure = 'continue'", ""], true)
}

fn explore(spec: &PlanSpec, budget: Budget) {
    match scene::explore(&Real, spec, budget) {
        Ok(seen) => {
            println!("{budget:?}: {seen:?}");
            assert!(seen.resting > 0, "no plan ended: {seen:?}");
        }
        Err(violation) => panic!("{budget:?}: {violation}"),
    }
}

const CALM: Budget =
    Budget { cancels: 0, crashes: 0, doubled: 0, timeouts: 0, resumes: 0, failures: 0 };

#[test]
fn a_plan_that_fails_or_succeeds() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { failures: 3, doubled: 1, ..CALM });
    }
}

#[test]
fn a_plan_that_is_cancelled_at_any_moment() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { cancels: 2, failures: 1, ..CALM });
        explore(&spec, Budget { cancels: 1, doubled: 1, ..CALM });
    }
}

#[test]
fn a_plan_that_is_cancelled_between_crashes() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { cancels: 1, crashes: 1, ..CALM });
    }
    explore(&one_at_a_time(), Budget { cancels: 1, crashes: 2, ..CALM });
    explore(&one_at_a_time(), Budget { crashes: 2, doubled: 1, failures: 1, ..CALM });
}

#[test]
fn a_plan_that_times_out() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { cancels: 1, timeouts: 1, failures: 1, ..CALM });
    }
}

#[test]
fn a_plan_that_is_resumed() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { resumes: 1, failures: 2, ..CALM });
        explore(&spec, Budget { cancels: 1, resumes: 1, ..CALM });
    }
    explore(&one_at_a_time(), Budget { crashes: 1, resumes: 1, failures: 1, ..CALM });
    explore(&one_at_a_time(), Budget { doubled: 1, resumes: 1, failures: 1, ..CALM });
}

#[test]
fn two_of_three_with_two_at_a_time() {
    let spec = plan("concurrency = 2", "need = 2", &["", "", ""], false);
    explore(&spec, Budget { cancels: 1, failures: 2, ..CALM });
    let one_must = plan("", "need = 1\nstop_rest = true", &["on_failure = 'fail_plan'", ""], true);
    explore(&one_must, Budget { cancels: 1, failures: 1, ..CALM });
}

/// A resume that does not ask an agent again keeps whether that agent may have run.
#[test]
fn a_plan_that_is_resumed_twice() {
    explore(&one_at_a_time(), Budget { cancels: 1, resumes: 2, failures: 1, ..CALM });
}

/// Visits millions of states, so run it optimized.
#[test]
#[ignore = "takes a minute, optimized"]
fn a_plan_with_more_faults() {
    for spec in [all_needed(), one_of_two(), one_at_a_time()] {
        explore(&spec, Budget { cancels: 1, crashes: 1, failures: 1, resumes: 1, ..CALM });
        explore(&spec, Budget { cancels: 1, crashes: 1, doubled: 1, failures: 2, ..CALM });
        explore(&spec, Budget { crashes: 1, doubled: 1, resumes: 1, failures: 1, ..CALM });
        explore(&spec, Budget { cancels: 1, resumes: 2, failures: 2, ..CALM });
    }
}
