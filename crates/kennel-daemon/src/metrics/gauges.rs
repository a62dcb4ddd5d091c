//! The current state, as the owner reports it.

use kennel_types::Phase;
use kennel_types::plan::PlanStatus;

/// All phases, in the order of the lifecycle.
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

pub(crate) const OWED_KINDS: [&str; 3] = ["runtime_files", "pen_folder", "worktree"];

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Sessions by the phase of their latest launch, as in [`PHASES`].
    pub(crate) phases: [u64; PHASES.len()],
    /// Cleanups that ended launches still owe, as in [`OWED_KINDS`].
    pub(crate) owed: [u64; OWED_KINDS.len()],
    pub(crate) worktrees_kept: u64,
    /// Plans, as in [`PLAN_STATES`].
    pub(crate) plans: [u64; PLAN_STATES.len()],
    pub(crate) members: u64,
    pub(crate) spare_keepers: u64,
    /// When the daemon started, in milliseconds since 1970.
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
