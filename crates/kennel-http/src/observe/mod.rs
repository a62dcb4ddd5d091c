//! Observing the daemon: metrics, health, the doctor, resource usage.

mod doctor;
mod history;
mod sampler;
mod usage;

use std::ffi::OsString;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_types::api::{ReadyView, SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::watch;

use crate::api::Api;
use crate::endpoint::ResponseContent::Other;
use crate::endpoint::{Endpoint, get};
use crate::error::HandlerResult;
use doctor::DoctorRunner;
use sampler::UsageSampler;
use usage::UsageCache;

/// The format that Prometheus reads.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The state of these endpoints.
#[derive(Debug)]
pub(crate) struct ObserveState {
    doctor: DoctorRunner,
    usage: UsageCache,
    sampler: UsageSampler,
}

impl ObserveState {
    /// `doctor` is the command that examines the machine.
    pub(crate) fn new(doctor: Vec<OsString>, shutdown: watch::Receiver<bool>) -> Self {
        let (usage, sampler) = (UsageCache::default(), UsageSampler::default());
        Self { doctor: DoctorRunner::new(doctor, shutdown), usage, sampler }
    }
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    vec![
        get("/metrics", "getMetrics", metrics).respond(
            200,
            Other("text/plain"),
            "Returns metrics for Prometheus",
        ),
        get("/healthz", "getHealth", alive).respond(
            200,
            Other("text/plain"),
            "Returns `ok` if the daemon answers",
        ),
        get("/readyz", "getReadiness", ready)
            .answer::<ReadyView>("Checks whether the daemon can do its work; 503 if it can't"),
        get("/v1/doctor", "examine", doctor::doctor)
            .answer::<serde_json::Value>("Examines what this machine supports by trying it"),
        get("/v1/usage", "listUsage", usage::all)
            .query::<UsageRequest>()
            .answer::<Vec<SessionUsage>>("Returns the resource usage of live sessions"),
        get("/v1/sessions/{reference}/usage", "getUsage", usage::one)
            .answer::<SessionUsage>("Returns the resource usage of a session"),
        get("/v1/sessions/{reference}/usage/history", "getUsageHistory", usage::history)
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
    let status = match readiness.ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(readiness))
}
