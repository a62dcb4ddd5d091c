//! What is so now, by the owner's word.

use kennel_types::Phase;
use kennel_types::plan::PlanStatus;

/// All phases, in the order of a session's life.
pub(crate) const PHASES: [Phase; 10] = [
    Phase::Queued,
    Phase::Making,
    Phase::Reserved,
    Phase::Launching,
    Phase::Starting,
    Phase::Running,
    Phase::Stopping,
    Phase::Lost,
    Phase::Reaped,
    Phase::Cleaned,
];

/// All states of plans, with their names in JSON.
pub(crate) const PLAN_STATES: [(PlanStatus, &str); 6] = [
    (PlanStatus::Running, "running"),
    (PlanStatus::Stopping, "stopping"),
    (PlanStatus::Succeeded, "succeeded"),
    (PlanStatus::Failed, "failed"),
    (PlanStatus::TimedOut, "timed_out"),
    (PlanStatus::Cancelled, "cancelled"),
];

/// What can be owed.
pub(crate) const OWED_KINDS: [&str; 3] = ["runtime_files", "pen_folder", "worktree"];

/// How things are.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Sessions by the phase of their latest launch, as in [`PHASES`].
    pub(crate) phases: [u64; PHASES.len()],
    /// What launches that have ended still owe, as in [`OWED_KINDS`].
    pub(crate) owed: [u64; OWED_KINDS.len()],
    /// Worktrees with something of value in them.
    pub(crate) worktrees_kept: u64,
    /// Plans, as in [`PLAN_STATES`].
    pub(crate) plans: [u64; PLAN_STATES.len()],
    pub(crate) members: u64,
    /// Keepers without a launch.
    pub(crate) spare_keepers: u64,
    /// When the daemon began, in milliseconds since 1970.
    pub(crate) started_ms: u64,
    pub(crate) version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_their_names_in_json() {
        for (state, name) in PLAN_STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), name);
        }
        assert!(PHASES.is_sorted());
    }
}
