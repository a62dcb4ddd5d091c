//! What the verdicts on the failed agents of a plan were made from.

use std::collections::BTreeMap;

use kennel_types::plan::{PlanAgentStatus, PlanView};

use crate::connect::DaemonClient;

/// The evidence of each verdict, by the id of its session.
pub(super) type Evidence = BTreeMap<String, String>;

/// The evidence for those that have failed. It is in their sessions, as long as those are on record; what can't be had is left out,
/// since the plan is to be shown all the same.
pub(super) fn of(daemon: &DaemonClient, plan: &PlanView) -> Evidence {
    let agents = plan.stages.iter().flat_map(|stage| &stage.agents);
    let failed = agents.filter(|agent| agent.state == PlanAgentStatus::Failed);
    failed
        .filter_map(|agent| {
            let id = agent.session.as_ref()?;
            let judged = daemon.session(id).ok()?.judged?;
            Some((id.clone(), judged.verdict.evidence))
        })
        .collect()
}
