//! Requests about plans.

use std::collections::BTreeMap;

use kennel_core::plan::PlanState;
use kennel_register::PlanRecord;
use kennel_types::SessionId;
use kennel_types::api::{PlanRequest, PlanResumeRequest};

use crate::error::ApiError;
use crate::launch::request::LaunchRequest;

pub(crate) struct NewPlan {
    request: PlanRequest,
    inputs: kennel_core::plan::Inputs,
    cwd: String,
    launch: Box<LaunchRequest>,
}

impl NewPlan {
    pub(crate) fn new(mut request: PlanRequest) -> Result<Self, ApiError> {
        kennel_core::plan::check(&request.spec).map_err(ApiError::invalid)?;
        if let Some((place, file)) = request.spec.prompt_files().first() {
            return Err(ApiError::invalid(format!(
                "the prompt of {place} is in the file {file:?}: send its text instead"
            )));
        }
        let inputs = kennel_core::plan::fill_inputs(&request.spec, &request.inputs)
            .map_err(ApiError::invalid)?;
        request.inputs = BTreeMap::new();
        let env = std::mem::take(&mut request.env);
        let limits = std::mem::take(&mut request.limits);
        let launch =
            LaunchRequest::client_environment(env, request.cwd.clone(), request.umask, limits)?;
        let Some(cwd) = launch.cwd().to_str().map(ToOwned::to_owned) else {
            return Err(ApiError::invalid("the path of the working folder is not UTF-8"));
        };
        Ok(Self { request, inputs, cwd, launch: Box::new(launch) })
    }

    /// Returns the first record of the run, and what its agents are launched with.
    pub(super) fn into_record(
        self,
        id: SessionId,
        now_ms: u64,
    ) -> (PlanRecord, Box<LaunchRequest>) {
        let Self { request, inputs, cwd, launch } = self;
        let record = PlanRecord {
            id,
            state: PlanState::new(&request.spec),
            spec: request.spec,
            inputs,
            cwd,
            pen: request.pen,
            cancel_on_disconnect: request.cancel_on_disconnect,
            asked_by: request.by,
            created_ms: now_ms,
            begun_ms: now_ms,
            spent_ms: 0,
            ended_ms: None,
        };
        (record, launch)
    }
}

/// Returns the environment that a resumed plan launches its agents with.
pub(crate) fn resume_environment(
    request: &mut PlanResumeRequest,
) -> Result<LaunchRequest, ApiError> {
    let env = std::mem::take(&mut request.env);
    let limits = std::mem::take(&mut request.limits);
    let root = kennel_types::api::OsText::Plain("/".to_owned());
    LaunchRequest::client_environment(env, root, request.umask, limits)
}
