//! A plan that is over, and is to be gone on with.

use kennel_types::plan::{AgentPath, PlanSpec};

use super::state::{AgentPhase, IgnoredReason, PlanState};

impl PlanState {
    /// Whoever has not answered is to be asked again, from the last stage on that was begun: what an earlier one lacks, the
    /// later ones have gone on without. What may have run stays as it is, unless that is wanted.
    pub(super) fn resumed(&mut self, spec: &PlanSpec, replay: bool) -> Result<(), IgnoredReason> {
        if !self.finished {
            return Err(IgnoredReason::NotOver);
        }
        let mut next = self.clone();
        next.finished = false;
        next.ending = None;
        let mut left: Vec<AgentPath> = Vec::new();
        for agent in next.agents.iter_mut().skip(self.begun(spec)) {
            if agent.may_have_run && !replay {
                left.push(agent.place.clone());
            } else if !agent.phase.has_succeeded() {
                agent.phase = AgentPhase::Waiting;
            }
        }
        next.settle(spec);
        let waiting = next.agents.iter().any(|agent| agent.phase == AgentPhase::Waiting);
        match (waiting, left.is_empty()) {
            (true, _) => {
                *self = next;
                Ok(())
            }
            (false, true) => Err(IgnoredReason::NothingLeft),
            (false, false) => Err(IgnoredReason::MayHaveRun(left)),
        }
    }

    /// The number of the first agent in the last stage of which anybody was asked.
    fn begun(&self, spec: &PlanSpec) -> usize {
        let (mut first, mut begun) = (0, 0);
        for stage in &spec.stages {
            let end = first + stage.agents.len();
            let agents = self.agents.get(first..end).unwrap_or_default();
            if agents.iter().any(|agent| agent.asks > 0) {
                begun = first;
            }
            first = end;
        }
        begun
    }
}
