//! What must hold, by what really became of each ask.

use kennel_core::plan::PlanOutcome;
use kennel_types::VerdictKind;
use kennel_types::plan::{OnFailure, PlanAgentStatus, PlanSpec, PlanStatus, StageSpec};

use crate::scene::{Scene, Truth};

/// In every state.
pub(crate) fn check(scene: &Scene, spec: &PlanSpec) -> Result<(), String> {
    let mut alive = 0;
    for asks in &scene.truths {
        match asks.iter().filter(|truth| truth.may_live()).count() {
            0 => {}
            1 => alive += 1,
            _ => return Err("an agent was asked while it may live".into()),
        }
    }
    if spec.concurrency.is_some_and(|most| alive > most) {
        return Err(format!("{alive} agents at once"));
    }
    Ok(())
}

/// When an agent is asked once more; it is not among the truths yet.
pub(crate) fn check_ask(scene: &Scene, spec: &PlanSpec, agent: usize) -> Result<(), String> {
    if scene.cancelled {
        return Err("asked after a cancel".into());
    }
    if scene.time_over {
        return Err("asked after its time".into());
    }
    if scene.doomed {
        return Err("asked after a failure that fails the plan".into());
    }
    if answered(scene, agent) {
        return Err("asked again, although it has answered".into());
    }
    if scene.last(agent) == Some(Truth::Over(VerdictKind::Unknown)) && !scene.replay {
        return Err("asked again, although it may have run".into());
    }
    for (first, stage) in stages(spec) {
        let agents = first..first + stage.agents.len();
        if agents.contains(&agent) {
            return Ok(());
        }
        if agents.clone().any(|other| scene.last(other).is_some_and(Truth::may_live)) {
            return Err("asked while somebody of an earlier stage may live".into());
        }
        if !has_passed(scene, stage, first) {
            return Err("asked although an earlier stage lacks what it needs".into());
        }
    }
    Ok(())
}

/// Each stage, and the number of its first agent.
fn stages(spec: &PlanSpec) -> impl Iterator<Item = (usize, &StageSpec)> {
    let mut first = 0;
    spec.stages.iter().map(move |stage| {
        let here = first;
        first += stage.agents.len();
        (here, stage)
    })
}

fn answered(scene: &Scene, agent: usize) -> bool {
    scene.truths[agent].contains(&Truth::Over(VerdictKind::Succeeded))
}

/// Whether a stage has all it needs.
fn has_passed(scene: &Scene, stage: &StageSpec, first: usize) -> bool {
    let answers = |agent: usize| answered(scene, first + agent);
    let count = (0..stage.agents.len()).filter(|agent| answers(*agent)).count();
    let enough = stage.need.is_none_or(|need| count >= need as usize);
    let mut agents = stage.agents.iter().enumerate();
    enough
        && agents.all(|(at, agent)| stage.on_failure(agent) == OnFailure::Continue || answers(at))
}

/// Whether the plan knows of a failure that it can't go on with: what it knows is what it has
/// marked as over.
pub(crate) fn is_doomed(scene: &Scene, spec: &PlanSpec) -> bool {
    stages(spec).any(|(first, stage)| {
        let lost = |agent: usize| {
            let known = scene.plan.agents[agent].phase.is_over();
            let bad = matches!(scene.last(agent), Some(Truth::Refused | Truth::Over(_)));
            known && bad && !answered(scene, agent)
        };
        let mut agents = stage.agents.iter().enumerate();
        let must = agents
            .any(|(at, agent)| lost(first + at) && stage.on_failure(agent) == OnFailure::FailPlan);
        let can = (0..stage.agents.len()).filter(|at| !lost(first + at)).count();
        must || stage.need.is_some_and(|need| can < need as usize)
    })
}

/// When the outcome is told: nobody is left, and what is said of each is true.
pub(crate) fn check_outcome(
    scene: &Scene,
    spec: &PlanSpec,
    outcome: &PlanOutcome,
) -> Result<(), String> {
    for (agent, told) in outcome.agents.iter().enumerate() {
        let last = scene.last(agent);
        if scene.truths[agent].iter().any(|truth| truth.may_live()) {
            return Err(format!("finished, and {} may live", told.place));
        }
        let right = match told.status {
            PlanAgentStatus::Succeeded => last == Some(Truth::Over(VerdictKind::Succeeded)),
            PlanAgentStatus::Cancelled => last == Some(Truth::Over(VerdictKind::Cancelled)),
            PlanAgentStatus::Failed => match last {
                Some(Truth::Refused) => told.session.is_none() && told.verdict.is_none(),
                Some(Truth::Over(verdict)) => {
                    told.session.is_some() && told.verdict == Some(verdict)
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
            return Err(format!("{} is told to be {:?}, and is {last:?}", told.place, told.status));
        }
    }
    let passed = stages(spec).all(|(first, stage)| has_passed(scene, stage, first));
    let right = match outcome.status {
        PlanStatus::Succeeded => passed && !scene.cancelled && !scene.time_over,
        PlanStatus::Failed => !passed && !scene.cancelled,
        PlanStatus::TimedOut => scene.time_over && !scene.cancelled,
        PlanStatus::Cancelled => scene.cancelled,
        PlanStatus::Running | PlanStatus::Stopping => false,
    };
    if right { Ok(()) } else { Err(format!("the plan is told to have {:?}", outcome.status)) }
}
