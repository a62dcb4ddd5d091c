//! Requests about plans.

use kennel_types::api::{PlanRequest, PlanResumeRequest};
use kennel_types::plan::PlanView;

use super::DaemonHandle;
use crate::error::ApiError;
use crate::plan::request::{NewPlan, resume_environment};

impl DaemonHandle {
    pub async fn list_plans(&self) -> Result<Vec<PlanView>, ApiError> {
        self.ask(|owner| Ok(owner.plans.views())).await
    }

    /// Runs a plan; answers when it is on record.
    pub async fn run_plan(&self, request: PlanRequest) -> Result<PlanView, ApiError> {
        let plan = NewPlan::new(request)?;
        self.request(|owner, answer| owner.run_plan(plan, answer)).await
    }

    pub async fn show_plan(&self, reference: String) -> Result<PlanView, ApiError> {
        self.ask(move |owner| owner.show_plan(&reference)).await
    }

    /// Waits until a plan is over. Dropping the future cancels it with `cancel_on_disconnect`.
    pub async fn wait_for_plan(
        &self,
        reference: String,
        cancel_on_disconnect: bool,
    ) -> Result<PlanView, ApiError> {
        self.request_with_disconnect(cancel_on_disconnect, move |owner, disconnect, answer| {
            owner.wait_for_plan(&reference, disconnect, answer);
        })
        .await
    }

    /// Cancels a plan; answers when it is over.
    pub async fn cancel_plan(&self, reference: String, by: String) -> Result<PlanView, ApiError> {
        self.request(move |owner, answer| owner.cancel_plan_for(&reference, by, answer)).await
    }

    /// Resumes a plan that is over; answers when that is on record.
    pub async fn resume_plan(
        &self,
        reference: String,
        mut request: PlanResumeRequest,
    ) -> Result<PlanView, ApiError> {
        let launch = Box::new(resume_environment(&mut request)?);
        self.request(move |owner, answer| owner.resume_plan(&reference, request, launch, answer))
            .await
    }
}
