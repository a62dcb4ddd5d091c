//! What must hold, checked against the actual state of each ask.

use kennel_core::plan::PlanOutcome;
use kennel_types::VerdictKind;
use kennel_types::plan::{OnFailure, PlanAgentStatus, PlanSpec, PlanStatus, StageSpec};

use crate::scene::{ActualAsk, Scene};

/// Checks every state.
pub(crate) fn check(scene: &Scene, spec: &PlanSpec) -> Result<(), String> {
    let mut alive = 0;
    for asks in &scene.asks {
        match asks.iter().filter(|actual| actual.may_be_alive()).count() {
            0 => {}
            1 => alive += 1,
            _ => return Err("an agent was asked while it may be alive".into()),
        }
    }
    if spec.concurrency.is_some_and(|most| alive > most) {
        return Err(format!("{alive} agents at once"));
    }
    Ok(())
}

/// Checks an ask. The scene does not contain it yet.
pub(crate) fn check_ask(scene: &Scene, spec: &PlanSpec, agent: usize) -> Result<(), String> {
    if scene.cancelled {
        return Err("asked after a cancel".into());
    }
    if scene.timed_out {
        return Err("asked after the timeout".into());
    }
    if scene.failed {
        return Err("asked after a failure that fails the plan".into());
    }
    if answered(scene, agent) {
        return Err("asked again, although it has answered".into());
    }
    if scene.last(agent) == Some(ActualAsk::Over(VerdictKind::Unknown)) && !scene.replay {
        return Err("asked again, although it may have run".into());
    }
    for (first, stage) in stages(spec) {
        let agents = first..first + stage.agents.len();
        if agents.contains(&agent) {
            return Ok(());
        }
        if agents.clone().any(|other| scene.last(other).is_some_and(ActualAsk::may_be_alive)) {
            return Err("asked while an agent of an earlier stage may be alive".into());
        }
        if !has_passed(scene, stage, first) {
            return Err("asked although an earlier stage lacks what it needs".into());
        }
    }
    Ok(())
}

/// Returns each stage, and the number of its first agent.
fn stages(spec: &PlanSpec) -> impl Iterator<Item = (usize, &StageSpec)> {
    let mut first = 0;
    spec.stages.iter().map(move |stage| {
        let here = first;
        first += stage.agents.len();
        (here, stage)
    })
}

fn answered(scene: &Scene, agent: usize) -> bool {
    scene.asks[agent].contains(&ActualAsk::Over(VerdictKind::Succeeded))
}

/// Returns whether a stage has all the answers that it needs.
fn has_passed(scene: &Scene, stage: &StageSpec, first: usize) -> bool {
    let answers = |agent: usize| answered(scene, first + agent);
    let count = (0..stage.agents.len()).filter(|agent| answers(*agent)).count();
    let enough = stage.need.is_none_or(|need| count >= need as usize);
    let mut agents = stage.agents.iter().enumerate();
    enough
        && agents.all(|(at, agent)| stage.on_failure(agent) == OnFailure::Continue || answers(at))
}

/// Returns whether the plan knows of a failure that fails it. The plan knows the result of an agent
/// that it has marked as over.
pub(crate) fn has_failed(scene: &Scene, spec: &PlanSpec) -> bool {
    stages(spec).any(|(first, stage)| {
        let lost = |agent: usize| {
            let known = scene.plan.agents[agent].phase.is_over();
            let bad = matches!(scene.last(agent), Some(ActualAsk::Refused | ActualAsk::Over(_)));
            known && bad && !answered(scene, agent)
        };
        let mut agents = stage.agents.iter().enumerate();
        let must = agents
            .any(|(at, agent)| lost(first + at) && stage.on_failure(agent) == OnFailure::FailPlan);
        let can = (0..stage.agents.len()).filter(|at| !lost(first + at)).count();
        must || stage.need.is_some_and(|need| can < need as usize)
    })
}

/// Checks a reported outcome: no agent is alive, and the status of each is correct.
pub(crate) fn check_outcome(
    scene: &Scene,
    spec: &PlanSpec,
    outcome: &PlanOutcome,
) -> Result<(), String> {
    for (agent, agent_outcome) in outcome.agents.iter().enumerate() {
        let last = scene.last(agent);
        if scene.asks[agent].iter().any(|actual| actual.may_be_alive()) {
            return Err(format!("finished, but {} may be alive", agent_outcome.place));
        }
        let right = match agent_outcome.status {
            PlanAgentStatus::Succeeded => last == Some(ActualAsk::Over(VerdictKind::Succeeded)),
            PlanAgentStatus::Cancelled => last == Some(ActualAsk::Over(VerdictKind::Cancelled)),
            PlanAgentStatus::Failed => match last {
                Some(ActualAsk::Refused) => {
                    agent_outcome.session.is_none() && agent_outcome.verdict.is_none()
                }
                Some(ActualAsk::Over(verdict)) => {
                    agent_outcome.session.is_some() && agent_outcome.verdict == Some(verdict)
                }
                _ => false,
            },
            PlanAgentStatus::Skipped => !answered(scene, agent),
            PlanAgentStatus::Waiting
            | PlanAgentStatus::Asking
            | PlanAgentStatus::Running
            | PlanAgentStatus::Stopping => false,
        };
        if !right {
            return Err(format!(
                "{} is reported as {:?}, but is {last:?}",
                agent_outcome.place, agent_outcome.status
            ));
        }
    }
    let passed = stages(spec).all(|(first, stage)| has_passed(scene, stage, first));
    let right = match outcome.status {
        PlanStatus::Succeeded => passed && !scene.cancelled && !scene.timed_out,
        PlanStatus::Failed => !passed && !scene.cancelled,
        PlanStatus::TimedOut => scene.timed_out && !scene.cancelled,
        PlanStatus::Cancelled => scene.cancelled,
        PlanStatus::Running | PlanStatus::Stopping => false,
    };
    if right { Ok(()) } else { Err(format!("the plan is reported as {:?}", outcome.status)) }
}
