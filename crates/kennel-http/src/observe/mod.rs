//! Observing the daemon: metrics, health, the doctor, resource usage.

mod doctor;
mod history;
mod sampler;
mod usage;

use std::ffi::OsString;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use kennel_types::api::{ReadyView, SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::watch;

use crate::api::Api;
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
        get("/metrics", metrics, ("getMetrics", "Returns metrics for Prometheus"))
            .other("text/plain"),
        get("/healthz", alive, ("getHealth", "Returns `ok` if the daemon answers"))
            .other("text/plain"),
        get(
            "/readyz",
            ready,
            ("getReadiness", "Checks whether the daemon can do its work; 503 if it can't"),
        )
        .answer::<ReadyView>(200),
        get(
            "/v1/doctor",
            doctor::doctor,
            ("examine", "Examines what this machine supports by trying it"),
        )
        .answer::<serde_json::Value>(200),
        get("/v1/usage", usage::all, ("listUsage", "Returns the resource usage of live sessions"))
            .query::<UsageRequest>()
            .answer::<Vec<SessionUsage>>(200),
        get(
            "/v1/sessions/{reference}/usage",
            usage::one,
            ("getUsage", "Returns the resource usage of a session"),
        )
        .answer::<SessionUsage>(200),
        get(
            "/v1/sessions/{reference}/usage/history",
            usage::history,
            (
                "getUsageHistory",
                "Returns the recent resource usage of a session, sampled while clients request it",
            ),
        )
        .answer::<UsageHistory>(200),
    ]
}

async fn metrics(State(api): State<Api>) -> HandlerResult<Response> {
    Ok(([(CONTENT_TYPE, METRICS_TYPE)], api.daemon.metrics().await?).into_response())
}

async fn alive() -> &'static str {
    "ok\n"
}

async fn ready(State(api): State<Api>) -> (StatusCode, Json<ReadyView>) {
    let readiness = api.daemon.readiness().await;
    let status = match readiness.ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(readiness))
}
