//! Endpoints that observe the daemon: metrics, health, the doctor and resource usage.

mod doctor;
mod history;
mod sampler;

use std::ffi::OsString;
use std::time::Duration;

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;
use kennel_types::api::{ReadyView, SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use crate::api::Api;
use crate::endpoint::{Endpoint, get};
use crate::error::{HandlerResult, JsonResult};
use crate::extract::Params;
use doctor::DoctorRunner;
use sampler::UsageSampler;

/// The format that Prometheus reads.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long the usage of all sessions is reused, so that several polling clients cause only one round of requests.
const MAX_AGE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct ObserveState {
    doctor: DoctorRunner,
    /// The last usage of all sessions. The lock is held during a refresh, so that other clients wait for the result.
    usage: Mutex<Option<(Instant, Vec<SessionUsage>)>>,
    sampler: UsageSampler,
}

impl ObserveState {
    /// Creates the state. `doctor` is the command that examines the machine.
    pub(crate) fn new(doctor: Vec<OsString>, shutdown: watch::Receiver<bool>) -> Self {
        let (usage, sampler) = (Mutex::default(), UsageSampler::default());
        Self { doctor: DoctorRunner::new(doctor, shutdown), usage, sampler }
    }
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/metrics", "getMetrics", metrics)
            .other("text/plain", "Returns metrics for Prometheus"),
        get("/healthz", "getHealth", alive)
            .other("text/plain", "Returns `ok` if the daemon responds"),
        get("/readyz", "getReadiness", ready)
            .answer::<ReadyView>("Checks whether the daemon can do its work; 503 if it can't"),
        get("/v1/doctor", "examine", doctor::doctor)
            .answer::<serde_json::Value>("Examines what this machine supports by trying it"),
        get("/v1/usage", "listUsage", usage_of_all)
            .query::<UsageRequest>()
            .answer::<Vec<SessionUsage>>("Returns the resource usage of live sessions"),
        get("/v1/sessions/{reference}/usage", "getUsage", usage_of_session)
            .answer::<SessionUsage>("Returns the resource usage of a session"),
        get("/v1/sessions/{reference}/usage/history", "getUsageHistory", usage_history)
            .answer::<UsageHistory>(
                "Returns the recent resource usage of a session, sampled while clients request it",
            ),
    ]
}

async fn metrics(api: Api) -> HandlerResult<Response> {
    Ok(([(CONTENT_TYPE, METRICS_TYPE)], api.daemon.metrics().await?).into_response())
}

async fn alive() -> &'static str {
    "ok\n"
}

async fn ready(api: Api) -> (StatusCode, Json<ReadyView>) {
    let readiness = api.daemon.readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}

async fn usage_of_session(api: Api, Path(reference): Path<String>) -> JsonResult<SessionUsage> {
    Ok(Json(api.daemon.usage(reference).await?))
}

async fn usage_of_all(
    api: Api,
    Params(UsageRequest { history }): Params<UsageRequest>,
) -> JsonResult<Vec<SessionUsage>> {
    let mut usages = recent_usage(&api, MAX_AGE).await?;
    if let Some(last) = history {
        sampler::request(&api);
        for usage in &mut usages {
            usage.history = Some(api.observe.sampler.samples(&usage.id, last.into()));
        }
    }
    Ok(Json(usages))
}

async fn usage_history(api: Api, Path(reference): Path<String>) -> JsonResult<UsageHistory> {
    let id = api.daemon.show(reference).await?.id;
    sampler::request(&api);
    let samples = api.observe.sampler.samples(&id, usize::MAX);
    Ok(Json(UsageHistory { id, samples }))
}

/// Returns the usage of all live sessions, at most this old.
async fn recent_usage(api: &Api, age: Duration) -> Result<Vec<SessionUsage>, ApiError> {
    let mut last = api.observe.usage.lock().await;
    if let Some((at, known)) = &*last
        && at.elapsed() < age
    {
        return Ok(known.clone());
    }
    let usages = api.daemon.usage_of_all().await?;
    *last = Some((Instant::now(), usages.clone()));
    Ok(usages)
}
