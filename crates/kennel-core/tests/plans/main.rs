//! Every interleaving of small plans: agents that answer, fail, are refused or end in a way that
//! nobody knows; cancels, a limit of time, crashes in the middle of an ask, resumes; what is told
//! comes in any order, some of it twice.
//!
//! The oracle (`oracle.rs`) knows what really became of each ask (`scene.rs`), not what the plan
//! thinks of it. And from every state, if nothing more goes wrong, the plan comes to its end: with
//! agents that never end by themselves, once its end is wanted. That the oracle bites is shown by
//! plans that are broken on purpose (`doubles.rs`).

mod documents;
mod doubles;
mod oracle;
mod scene;
#[path = "../common/search.rs"]
mod search;

use kennel_core::plan::{IgnoredReason, PlanAction, PlanEvent, PlanState};
use kennel_types::plan::PlanSpec;
use scene::Budget;

/// What decides.
trait Mind {
    fn next(&self, state: &PlanState, spec: &PlanSpec) -> Vec<PlanAction>;
    fn happened(
        &self,
        state: &mut PlanState,
        spec: &PlanSpec,
        event: &PlanEvent,
    ) -> Result<(), IgnoredReason>;
}

/// The one under test.
struct Real;

impl Mind for Real {
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

/// A plan: what stands above the agents of its first stage, what is said of each, and whether there
/// is another stage.
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

/// Two must succeed, then another.
fn all_needed() -> PlanSpec {
    plan("", "", &["", ""], true)
}

/// One of two must succeed, and the other is stopped then.
fn one_of_two() -> PlanSpec {
    plan("", "need = 1\nstop_rest = true", &["", ""], true)
}

/// One at a time; the first may fail.
fn one_at_a_time() -> PlanSpec {
    plan("concurrency = 1", "", &["on_failure = 'continue'", ""], true)
}

fn explore(spec: &PlanSpec, budget: Budget) {
    match scene::explore(&Real, spec, budget) {
        Ok(seen) => {
            println!("{budget:?}: {seen:?}");
            assert!(seen.resting > 0, "no plan came to its end: {seen:?}");
        }
        Err(violation) => panic!("{budget:?}: {violation}"),
    }
}

const CALM: Budget =
    Budget { cancels: 0, crashes: 0, doubled: 0, times: 0, resumes: 0, failures: 0 };

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
        explore(&spec, Budget { cancels: 1, times: 1, failures: 1, ..CALM });
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

/// What may have run is not forgotten by a resume that did not come to it.
#[test]
fn a_plan_that_is_resumed_twice() {
    explore(&one_at_a_time(), Budget { cancels: 1, resumes: 2, failures: 1, ..CALM });
}

/// Millions of states: run it optimized.
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
