//! Slices of the suite: the combinations that rotate from commit to commit.
//!
//! Some scenarios repeat in many combinations: [`everywhere!`](crate::everywhere) has four
//! environments, the crash walk has six sets of victims in two kinds of pen, as two users, and
//! there are four real agents. `cargo xtask test` runs every scenario, but only in the combinations
//! of one slice, which it passes in `KENNEL_TEST_SLICE`. Without that variable all combinations run.

use crate::delegated::may_make_cgroups;
use crate::look::is_root;
use crate::scene::{Pen, Who};

/// The environment variable with the number of the slice. `web/tests/playwright.config.ts` reads it
/// too.
const VARIABLE: &str = "KENNEL_TEST_SLICE";

/// The environments of [`everywhere!`](crate::everywhere).
const ENVIRONMENTS: [(Who, Pen); 4] = [
    (Who::Root, Pen::Cgroup),
    (Who::Root, Pen::Subtree),
    (Who::Other, Pen::Cgroup),
    (Who::Other, Pen::Subtree),
];

/// Returns the slice to which this run is limited, or `None` if everything runs.
///
/// # Panics
/// If the variable is set to something other than a number.
#[must_use]
pub fn test_slice() -> Option<usize> {
    let value = std::env::var(VARIABLE).ok().filter(|value| !value.is_empty())?;
    let slice = value.parse();
    Some(slice.unwrap_or_else(|_| panic!("invalid {VARIABLE}={value}: expected a number")))
}

/// Returns whether this run includes a scenario of [`everywhere!`](crate::everywhere) in this
/// environment.
#[must_use]
pub fn runs_here(scenario: &str, who: Who, pen: Pen) -> bool {
    test_slice().is_none_or(|slice| {
        (who, pen) == main_environment(is_root(), may_make_cgroups())
            || (who, pen) == rotating_environment(scenario, slice)
    })
}

/// How tests use a real agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentUse {
    /// In the foreground, with `kennel run`.
    Foreground,
    /// With prompts, by `kennel ask`.
    Prompts,
}

/// Returns whether this run includes these tests of a real agent. A slice has one agent, which
/// `cargo xtask test` names, and one use of it.
#[must_use]
pub fn includes_agent(name: &str, tested: AgentUse) -> bool {
    let is_included = |slice: usize| (slice / 4).is_multiple_of(2) == (tested == AgentUse::Prompts);
    std::env::var_os("KENNEL_TEST_AGENT").is_none_or(|included| included == name)
        && test_slice().is_none_or(is_included)
}

/// Returns the environment in which every scenario runs in every slice.
fn main_environment(is_root: bool, has_cgroups: bool) -> (Who, Pen) {
    let who = if is_root { Who::Root } else { Who::Other };
    let pen = if has_cgroups { Pen::Cgroup } else { Pen::Subtree };
    (who, pen)
}

/// Returns the environment in which a scenario also runs. Scenarios differ, so that each slice has
/// all environments.
fn rotating_environment(scenario: &str, slice: usize) -> (Who, Pen) {
    let offset: usize = scenario.bytes().map(usize::from).sum();
    ENVIRONMENTS[(offset + slice) % ENVIRONMENTS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_slices_cover_all_environments_of_a_scenario() {
        for scenario in ["a", "b", "streams::closes_both"] {
            let covered = (0..4).map(|slice| rotating_environment(scenario, slice));
            let covered: Vec<_> = covered.collect();
            assert!(ENVIRONMENTS.iter().all(|environment| covered.contains(environment)));
        }
    }

    #[test]
    fn the_main_environment_is_the_best_one_there_is() {
        assert_eq!(main_environment(true, true), (Who::Root, Pen::Cgroup));
        assert_eq!(main_environment(true, false), (Who::Root, Pen::Subtree));
        assert_eq!(main_environment(false, true), (Who::Other, Pen::Cgroup));
        assert_eq!(main_environment(false, false), (Who::Other, Pen::Subtree));
    }
}
