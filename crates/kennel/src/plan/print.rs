//! Formats plans as text.

use std::fmt::Write as _;

use kennel_types::TokenUsage;
use kennel_types::plan::{
    PlanAgentStatus, PlanAgentView, PlanSpec, PlanStatus, PlanTarget, PlanView,
};

use super::run::Evidence;
use crate::ask::used;
use crate::command_prelude::*;

const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];

pub(super) fn list(plans: &[PlanView], width: Option<usize>, color: ColorMode) -> String {
    if plans.is_empty() {
        return "no plans; run one with `kennel plan run FILE`\n".to_owned();
    }
    let mut table = TextTable::new(&[
        Column::whole("ID"),
        Column::whole("NAME"),
        Column::whole("STATE"),
        Column::whole("AGENTS"),
        Column::whole("STARTED").spare(),
        Column::cut("REASON", 12),
    ]);
    for plan in plans {
        let agents = || plan.stages.iter().flat_map(|stage| &stage.agents);
        let done = agents().filter(|it| it.state == PlanAgentStatus::Succeeded).count();
        table.row(vec![
            Cell::new(plan.id.clone()),
            Cell::new(sanitize(&plan.name)),
            Cell::styled(status(plan.state), style(plan.state)),
            Cell::new(format!("{done}/{}", agents().count())),
            Cell::new(plan.created_at.clone()),
            Cell::new(plan.why.as_deref().map_or_else(String::new, sanitize)),
        ]);
    }
    table.text(width, color)
}

fn status(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::Running => "running",
        PlanStatus::Stopping => "stopping",
        PlanStatus::Succeeded => "succeeded",
        PlanStatus::Failed => "failed",
        PlanStatus::TimedOut => "timed out",
        PlanStatus::Cancelled => "cancelled",
    }
}

fn style(status: PlanStatus) -> TextStyle {
    match status {
        PlanStatus::Running | PlanStatus::Succeeded => TextStyle::Good,
        PlanStatus::Failed | PlanStatus::TimedOut => TextStyle::Bad,
        PlanStatus::Stopping | PlanStatus::Cancelled => TextStyle::Plain,
    }
}

/// Formats the plan and its agents, with the first line of evidence for each failed one.
pub(super) fn summary(plan: &PlanView, evidence: &Evidence) -> String {
    let state = status(plan.state);
    let state = match plan.why.as_deref().map(sanitize) {
        Some(why) if plan.state != PlanStatus::Cancelled => format!("{state}: {why}"),
        cancelled_by => cancelled_by.unwrap_or_else(|| state.to_owned()),
    };
    let mut text = format!("plan {} ({}) {state}\n", plan.name, plan.id);
    for stage in &plan.stages {
        let need = match stage.need {
            Some(need) => format!(" ({need} of {} required)", stage.agents.len()),
            None => String::new(),
        };
        writeln!(text, "{}{need}", stage.name).ok();
        for agent in &stage.agents {
            writeln!(text, "  {}", line(agent)).ok();
            let seen = agent.session.as_ref().and_then(|session| evidence.get(session));
            if let Some(seen) = seen.and_then(|seen| seen.lines().find(|it| !it.trim().is_empty()))
            {
                writeln!(text, "    evidence: {}", sanitize(seen.trim())).ok();
            }
        }
    }
    if let Some(used) = used(&plan.usage) {
        writeln!(text, "used: {used}").ok();
    }
    text
}

/// Formats the progress with a line for each agent.
pub(super) fn board(plan: &PlanView, turn: usize, elapsed: Duration) -> String {
    let mut text = String::new();
    for stage in &plan.stages {
        for agent in &stage.agents {
            let mark = match agent.state {
                PlanAgentStatus::Asking | PlanAgentStatus::Running | PlanAgentStatus::Stopping => {
                    SPINNER[turn % SPINNER.len()]
                }
                PlanAgentStatus::Succeeded => "+",
                PlanAgentStatus::Failed => "!",
                PlanAgentStatus::Cancelled | PlanAgentStatus::Skipped => "x",
                PlanAgentStatus::Waiting => ".",
            };
            writeln!(text, "{mark} {}.{}", stage.name, line(agent)).ok();
        }
    }
    let used = after_comma(&plan.usage);
    writeln!(text, "{} {} s{used}", status(plan.state), elapsed.as_secs()).ok();
    text
}

fn line(agent: &PlanAgentView) -> String {
    let status = agent_status(agent.state);
    let target = agent.member.as_deref().or(agent.agent.as_deref()).unwrap_or_default();
    let session = agent.session.as_deref().map(|id| format!(" ({id})")).unwrap_or_default();
    let used = after_comma(&agent.usage);
    let over = matches!(
        agent.state,
        PlanAgentStatus::Failed | PlanAgentStatus::Cancelled | PlanAgentStatus::Skipped
    );
    let why = if over { format!(": {}", sanitize(&agent.why)) } else { String::new() };
    let asks = match agent.asks {
        0 | 1 => String::new(),
        more => format!(", {}", counted(more as usize, "attempt")),
    };
    format!("{:<16} {:<10} {status}{why}{session}{asks}{used}", agent.name, sanitize(target))
}

fn agent_status(status: PlanAgentStatus) -> &'static str {
    match status {
        PlanAgentStatus::Waiting => "waiting",
        PlanAgentStatus::Asking => "starting",
        PlanAgentStatus::Running => "running",
        PlanAgentStatus::Stopping => "stopping",
        PlanAgentStatus::Succeeded => "succeeded",
        PlanAgentStatus::Failed => "failed",
        PlanAgentStatus::Cancelled => "cancelled",
        PlanAgentStatus::Skipped => "skipped",
    }
}

fn after_comma(usage: &TokenUsage) -> String {
    used(usage).map(|used| format!(", {used}")).unwrap_or_default()
}

pub(super) fn outline(spec: &PlanSpec) -> String {
    let mut text = format!("plan {} is valid\n", spec.name);
    for stage in &spec.stages {
        writeln!(text, "{}", stage.name).ok();
        for agent in &stage.agents {
            let target = match &agent.who {
                PlanTarget::Agent(name) => name.clone(),
                PlanTarget::Member(name) => format!("member {name}"),
            };
            writeln!(text, "  {:<16} {}", agent.name.as_str(), sanitize(&target)).ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan() -> PlanView {
        let none =
            json!({"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "cost_micros": 0});
        let some = json!({"input_tokens": 9000, "cached_tokens": 3000, "output_tokens": 345, "cost_micros": 120_000});
        let agent = |name: &str, state: &str, why: &str, session: Option<&str>| {
            let usage = if state == "succeeded" { &some } else { &none };
            json!({
                "name": name, "agent": "claude", "member": null, "state": state, "why": why,
                "session": session, "verdict": null, "asks": u32::from(session.is_some()) * 2,
                "usage": usage,
            })
        };
        let plan = json!({
            "id": "0c3k5d9wq2fa", "name": "review", "state": "failed",
            "why": "stage check has failed", "created_at": "2026-01-31T12:00:00.000Z",
            "ended_at": "2026-01-31T12:05:00.000Z", "usage": some,
            "stages": [
                {"name": "draft", "need": null, "agents": [
                    agent("writer", "succeeded", "", Some("0c3k5d9wq2fb")),
                ]},
                {"name": "check", "need": 2, "agents": [
                    agent("tests", "failed", "overloaded", Some("0c3k5d9wq2fc")),
                    agent("style", "cancelled", "stopped", Some("0c3k5d9wq2fd")),
                    agent("docs", "waiting", "", None),
                ]},
            ],
        });
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn formats_a_list_a_summary_and_the_progress() {
        let plan = plan();
        let evidence = Evidence::from([("0c3k5d9wq2fc".to_owned(), "\nHTTP 529\nmore".to_owned())]);
        insta::assert_snapshot!(
            "plan_list",
            list(std::slice::from_ref(&plan), Some(80), ColorMode::Plain)
        );
        insta::assert_snapshot!("plan_show", summary(&plan, &evidence));
        insta::assert_snapshot!("plan_progress", board(&plan, 1, Duration::from_secs(42)));
        assert_eq!(list(&[], None, ColorMode::Plain).lines().count(), 1);
    }
}
