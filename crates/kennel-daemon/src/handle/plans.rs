//! Requests about plans.

use kennel_types::api::{PlanRequest, PlanResumeRequest};
use kennel_types::plan::PlanView;

use super::DaemonHandle;
use super::sessions::tether;
use crate::error::ApiError;
use crate::owner::Owner;
use crate::plan::request::{NewPlan, resume_surroundings};

impl DaemonHandle {
    /// Lists all plans.
    ///
    /// # Errors
    /// The daemon is shutting down.
    pub async fn list_plans(&self) -> Result<Vec<PlanView>, ApiError> {
        self.ask(|owner| Ok(owner.plan_views())).await
    }

    /// Runs a plan; answers when it is on record.
    ///
    /// # Errors
    /// The plan is invalid.
    pub async fn run_plan(&self, request: PlanRequest) -> Result<PlanView, ApiError> {
        let plan = NewPlan::new(request)?;
        self.request(|owner, answer| owner.run_plan(plan, answer)).await
    }

    /// Shows one plan.
    ///
    /// # Errors
    /// It is unknown.
    pub async fn show_plan(&self, reference: String) -> Result<PlanView, ApiError> {
        self.ask(move |owner| owner.show_plan(&reference)).await
    }

    /// Waits until a plan is over. Dropping the future cancels it if it is `tied` to the caller.
    ///
    /// # Errors
    /// It is unknown, or the daemon shuts down first.
    pub async fn wait_for_plan(&self, reference: String, tied: bool) -> Result<PlanView, ApiError> {
        let (holder, tether) = tether(tied);
        let wait = move |owner: &mut Owner, answer| owner.wait_for_plan(&reference, tether, answer);
        let ended = self.request(wait).await;
        // Without a tether the other end is gone.
        holder.send(()).ok();
        ended
    }

    /// Cancels a plan; answers when it is over.
    ///
    /// # Errors
    /// It is unknown or over.
    pub async fn cancel_plan(&self, reference: String, by: String) -> Result<PlanView, ApiError> {
        self.request(move |owner, answer| owner.cancel_plan_for(&reference, by, answer)).await
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
        let resume =
            move |owner: &mut Owner, answer| owner.resume_plan(&reference, request, launch, answer);
        self.request(resume).await
    }
}
