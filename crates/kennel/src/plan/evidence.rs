//! The evidence for the verdicts on failed agents.

use std::collections::BTreeMap;

use kennel_types::plan::{PlanAgentStatus, PlanView};

use crate::command_prelude::*;

/// The evidence of each verdict by session id.
pub(super) type Evidence = BTreeMap<String, String>;

/// Fetches the evidence from the sessions of failed agents. What can't be fetched is omitted, so
/// that the plan can be shown anyway.
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
