//! What sessions use now, by their keepers' word, and have used lately.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use kennel_types::api::{SessionUsage, UsageHistory, UsageRequest};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::sampler;
use crate::error::ApiError;
use crate::http::Api;
use crate::http::body::Params;
use crate::keeper::request::KeeperRequestError;
use crate::os::home::Home;
use crate::owner::inspect;
use crate::owner::message::Command;
use crate::owner::{LookCommand, Penned};

/// How long all who are asked may take, together.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many are asked at once.
const AT_ONCE: usize = 32;
/// How long an answer about all is good for: several who look each second pay for one.
const FRESH: Duration = Duration::from_millis(500);

/// The last answer about all sessions. Whoever holds it is asking, and others wait for what it hears.
#[derive(Debug, Default)]
pub(super) struct Usages(Mutex<Option<(Instant, Vec<SessionUsage>)>>);

pub(super) async fn one(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Result<Json<SessionUsage>, ApiError> {
    let mut found = pens(&api, Some(reference)).await?;
    let gone = || ApiError::internal("the session has gone");
    let penned = found.pop().ok_or_else(gone)?;
    Ok(Json(ask(&api.0.home, penned, Instant::now() + PATIENCE).await))
}

pub(super) async fn all(
    State(api): State<Api>,
    Params(UsageRequest { history }): Params<UsageRequest>,
) -> Result<Json<Vec<SessionUsage>>, ApiError> {
    let mut found = all_now(&api).await?;
    if let Some(last) = history {
        sampler::ask(&api);
        for usage in &mut found {
            let samples = api.0.instruments.sampler.samples(&usage.id, last.into());
            usage.history = Some(samples);
        }
    }
    Ok(Json(found))
}

pub(super) async fn history(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Result<Json<UsageHistory>, ApiError> {
    let mut found = pens(&api, Some(reference)).await?;
    let gone = || ApiError::internal("the session has gone");
    let id = found.pop().ok_or_else(gone)?.id.to_string();
    sampler::ask(&api);
    let samples = api.0.instruments.sampler.samples(&id, usize::MAX);
    Ok(Json(UsageHistory { id, samples }))
}

/// What all live sessions use, as it was a moment ago at most.
pub(super) async fn all_now(api: &Api) -> Result<Vec<SessionUsage>, ApiError> {
    let mut last = api.0.instruments.usages.0.lock().await;
    if let Some((at, known)) = &*last
        && at.elapsed() < FRESH
    {
        return Ok(known.clone());
    }
    let found = ask_all(&api.0.home, pens(api, None).await?).await;
    *last = Some((Instant::now(), found.clone()));
    Ok(found)
}

/// The same as it is now, whoever has asked a moment ago: for those who note when it was.
pub(super) async fn all_this_moment(api: &Api) -> Result<Vec<SessionUsage>, ApiError> {
    *api.0.instruments.usages.0.lock().await = None;
    all_now(api).await
}

async fn pens(api: &Api, reference: Option<String>) -> Result<Vec<Penned>, ApiError> {
    api.ask(|answer| Command::Look(LookCommand::Pens { reference, answer })).await
}

/// In the order of their ids. If whoever wants to know goes, nobody is asked any more.
async fn ask_all(home: &Home, pens: Vec<Penned>) -> Vec<SessionUsage> {
    let (places, until) = (Arc::new(Semaphore::new(AT_ONCE)), Instant::now() + PATIENCE);
    let mut asked = JoinSet::new();
    for penned in pens {
        let (home, places) = (home.clone(), Arc::clone(&places));
        asked.spawn(async move {
            // Never closed: without a place it goes on all the same.
            let _place = places.acquire().await;
            ask(&home, penned, until).await
        });
    }
    let mut found = asked.join_all().await;
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found
}

async fn ask(home: &Home, penned: Penned, until: Instant) -> SessionUsage {
    let Penned { id, name, phase, has_keeper } = penned;
    let (mut usage, mut trouble) = (None, None);
    if has_keeper {
        match timeout_at(until, inspect::usage(home.session(&id))).await {
            Ok(Ok(used)) => usage = Some(used),
            // It ended just now: nobody is in it.
            Ok(Err(KeeperRequestError::NobodyListens)) => {}
            Ok(Err(error)) => trouble = Some(format!("its keeper can't be asked: {error}")),
            Err(_) => trouble = Some("its keeper does not answer".to_owned()),
        }
    }
    SessionUsage { id: id.to_string(), name, phase, usage, trouble, history: None }
}
