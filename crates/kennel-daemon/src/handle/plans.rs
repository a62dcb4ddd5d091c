//! Requests about plans.

use kennel_types::api::{PlanRequest, PlanResumeRequest};
use kennel_types::plan::PlanView;
use tokio::sync::oneshot;

use super::DaemonHandle;
use crate::error::{Answer, ApiError};
use crate::owner::message::Command;
use crate::owner::{NewPlan, PlanCommand, resume_surroundings};

impl DaemonHandle {
    async fn plan<T>(&self, command: impl FnOnce(Answer<T>) -> PlanCommand) -> Result<T, ApiError> {
        self.request(|answer| Command::Plan(command(answer))).await
    }

    /// All plans.
    ///
    /// # Errors
    /// The daemon is shutting down.
    pub async fn list_plans(&self) -> Result<Vec<PlanView>, ApiError> {
        self.plan(|answer| PlanCommand::List { answer }).await
    }

    /// Runs a plan; answers when it is on record.
    ///
    /// # Errors
    /// The plan is invalid.
    pub async fn run_plan(&self, request: PlanRequest) -> Result<PlanView, ApiError> {
        let record = Box::new(NewPlan::new(request)?);
        self.plan(|answer| PlanCommand::Run { record, answer }).await
    }

    /// One plan.
    ///
    /// # Errors
    /// It is unknown.
    pub async fn show_plan(&self, reference: String) -> Result<PlanView, ApiError> {
        self.plan(|answer| PlanCommand::Show { reference, answer }).await
    }

    /// Waits until a plan is over. Dropping the future cancels it if it is `tied` to the caller.
    ///
    /// # Errors
    /// It is unknown, or the daemon shuts down first.
    pub async fn wait_for_plan(&self, reference: String, tied: bool) -> Result<PlanView, ApiError> {
        let (holder, tether) = oneshot::channel();
        let tether = tied.then_some(tether);
        let ended = self.plan(|answer| PlanCommand::Wait { reference, tether, answer }).await;
        // Without a tether the other end is gone.
        holder.send(()).ok();
        ended
    }

    /// Cancels a plan; answers when it is over.
    ///
    /// # Errors
    /// It is unknown or over.
    pub async fn cancel_plan(&self, reference: String, by: String) -> Result<PlanView, ApiError> {
        self.plan(|answer| PlanCommand::Cancel { reference, by, answer }).await
    }

    /// Resumes a plan that is over; answers when that is on record.
    ///
    /// # Errors
    /// It is unknown or running, or the request is invalid.
    pub async fn resume_plan(
        &self,
        reference: String,
        mut request: PlanResumeRequest,
    ) -> Result<PlanView, ApiError> {
        let launch = Box::new(resume_surroundings(&mut request)?);
        let PlanResumeRequest { replay, tied, by, .. } = request;
        let resume = |answer| PlanCommand::Resume { reference, replay, tied, by, launch, answer };
        self.plan(resume).await
    }
}
