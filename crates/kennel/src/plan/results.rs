//! Writes the answers of a plan to files.

use std::fs;
use std::path::Path;

use kennel_types::plan::{PlanAgentStatus, PlanView};

use crate::ask::answer_of;
use crate::command_prelude::*;

/// Creates the folder before the plan starts, so that hours of work are not lost.
pub(super) fn check(folder: Option<&Path>) -> Result<(), CommandError> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder)
        .with_context(|| format!("--results {}", folder.display()))
        .map_err(CommandError::setup)
}

/// Writes the answers and the plan.
pub(super) fn write(
    daemon: &DaemonClient,
    plan: &PlanView,
    folder: &Path,
) -> Result<(), CommandError> {
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text)
            .with_context(|| path.display().to_string())
            .map_err(CommandError::setup)
    };
    for stage in &plan.stages {
        let done = stage.agents.iter().filter(|it| it.state == PlanAgentStatus::Succeeded);
        for agent in done {
            let Some(session) = &agent.session else { continue };
            let session = daemon.session(session)?;
            let answer = answer_of(&session)?.unwrap_or_default();
            let end = if answer.ends_with('\n') { "" } else { "\n" };
            put(&format!("{}.{}.md", stage.name, agent.name), &format!("{answer}{end}"))?;
        }
    }
    let text = serde_json::to_string_pretty(plan).map_err(CommandError::internal)?;
    put("plan.json", &format!("{text}\n"))
}
