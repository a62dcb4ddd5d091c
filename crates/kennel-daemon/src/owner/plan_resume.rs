//! Resuming a plan that is over: no agent is asked, and no client is answered, before that is on record.

use kennel_core::plan::{IgnoredReason, PlanEvent};
use kennel_keeper::fault::point;
use kennel_register::PlanRecord;
use kennel_types::api::PlanResumeRequest;
use kennel_types::plan::PlanView;

use crate::error::{Answer, ApiError, or_refuse};
use crate::launch::request::LaunchRequest;
use crate::owner::Owner;

impl Owner {
    /// Answers when it is on record that the plan goes on; `launch` is what its agents are launched with.
    pub(crate) fn resume_plan(
        &mut self,
        reference: &str,
        request: PlanResumeRequest,
        launch: Box<LaunchRequest>,
        answer: Answer<PlanView>,
    ) {
        let resumed = self.begin_resume(reference, request, launch);
        let Some((former, answer)) = or_refuse(resumed, answer) else { return };
        let id = former.id.clone();
        let Some(run) = self.plans.get_mut(&id) else { return };
        let (bus, record, view) = (self.bus.clone(), run.current_record(), run.view());
        self.register.save_plan(record, move |result| match result {
            Ok(()) => {
                point("daemon.plan.resumed");
                drop(answer.send(Ok(view)));
                bus.call(move |owner| owner.plan_turn(&id));
            }
            Err(why) => {
                let text = format!("can't record that the plan is resumed: {why}");
                drop(answer.send(Err(ApiError::busy(text))));
                bus.call(move |owner| owner.plan_not_resumed(former));
            }
        });
    }

    /// Returns the record as it was before.
    fn begin_resume(
        &mut self,
        reference: &str,
        request: PlanResumeRequest,
        launch: Box<LaunchRequest>,
    ) -> Result<PlanRecord, ApiError> {
        let id = &self.plans.find(reference)?;
        if self.shutdown.is_under_way() {
            return Err(ApiError::leaving());
        }
        let gone = || ApiError::not_found(format!("there is no plan {id}"));
        let run = self.plans.get_mut(id).ok_or_else(gone)?;
        let former = run.record.clone();
        let PlanResumeRequest { replay, tied, by, .. } = request;
        if let Err(why) = run.happened(&PlanEvent::Resumed { replay }) {
            let refused = ApiError::conflict(&why);
            return Err(match why {
                IgnoredReason::MayHaveRun(_) => refused.hint("--replay asks it again anyway"),
                IgnoredReason::NotOver => refused.hint("`kennel plan show` shows its state"),
                _ => refused,
            });
        }
        run.resume(launch, tied);
        self.note(None, "plan_resumed", format!("{id}, by {by}"));
        self.begin_plan(id);
        Ok(former)
    }

    /// The resumption could not be recorded, and no agent was asked: the plan stays as it was.
    fn plan_not_resumed(&mut self, former: PlanRecord) {
        let id = former.id.clone();
        let Some(run) = self.plans.get_mut(&id) else { return };
        run.undo_resume(former);
        self.keepers.delete_stored(id.to_string());
        // What was recorded in the meantime is replaced.
        self.save_plan(&id);
    }
}
