//! Resource usage of sessions, current and recent.

use std::time::Duration;

use axum::Json;
use axum::extract::Path;
use kennel_daemon::ApiError;
use kennel_types::api::{SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::sampler;
use crate::api::Api;
use crate::error::JsonResult;
use crate::extract::Params;

/// How long the usage of all sessions is reused: several clients that poll each second cause one round of requests.
const MAX_AGE: Duration = Duration::from_millis(500);

/// The last usage of all sessions. It is locked while it is refreshed, so that other clients wait for the result.
#[derive(Debug, Default)]
pub(super) struct UsageCache(Mutex<Option<(Instant, Vec<SessionUsage>)>>);

pub(super) async fn one(api: Api, Path(reference): Path<String>) -> JsonResult<SessionUsage> {
    Ok(Json(api.daemon.usage(reference).await?))
}

pub(super) async fn all(
    api: Api,
    Params(UsageRequest { history }): Params<UsageRequest>,
) -> JsonResult<Vec<SessionUsage>> {
    let mut usages = recent(&api, MAX_AGE).await?;
    if let Some(last) = history {
        sampler::request(&api);
        for usage in &mut usages {
            usage.history = Some(api.observe.sampler.samples(&usage.id, last.into()));
        }
    }
    Ok(Json(usages))
}

pub(super) async fn history(api: Api, Path(reference): Path<String>) -> JsonResult<UsageHistory> {
    let id = api.daemon.show(reference).await?.id;
    sampler::request(&api);
    let samples = api.observe.sampler.samples(&id, usize::MAX);
    Ok(Json(UsageHistory { id, samples }))
}

/// The usage of all live sessions, at most this old.
pub(super) async fn recent(api: &Api, age: Duration) -> Result<Vec<SessionUsage>, ApiError> {
    let mut last = api.observe.usage.0.lock().await;
    if let Some((at, known)) = &*last
        && at.elapsed() < age
    {
        return Ok(known.clone());
    }
    let usages = api.daemon.usage_of_all().await?;
    *last = Some((Instant::now(), usages.clone()));
    Ok(usages)
}
