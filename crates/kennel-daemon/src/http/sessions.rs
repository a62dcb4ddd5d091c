//! Sessions: made, listed, shown, waited for, stopped, given up, removed.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_types::api::{
    ByRequest, CreateRequest, InspectView, ListRequest, PruneAnswer, PruneRequest, StdinFrom,
    StopAnswer, StopRequest,
};
use kennel_types::{SessionId, SessionView};
use serde::Deserialize;
use tokio::sync::oneshot;

use super::Api;
use super::access::Identity;
use super::body::{Body, Params};
use crate::error::ApiError;
use crate::launch::request::LaunchRequest;
use crate::os::clock;
use crate::owner::inspect;
use crate::owner::message::{Command, Pruning, Until};

type Answered<T> = Result<Json<T>, ApiError>;

pub(super) async fn list(
    State(api): State<Api>,
    Params(wish): Params<ListRequest>,
) -> Result<Response, ApiError> {
    wish.check().map_err(ApiError::invalid)?;
    let listing = api.ask(|answer| Command::List { wish, answer }).await?;
    let json = listing.json().map_err(ApiError::internal)?;
    Ok(([(CONTENT_TYPE, "application/json")], json).into_response())
}

/// What the answer to a new session waits for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Patience {
    #[serde(default)]
    pub(super) until: Until,
    /// The session that the same request has made, if a daemon was killed over it: its client is back.
    rejoin: Option<SessionId>,
}

pub(super) async fn create(
    State(api): State<Api>,
    identity: Identity,
    Params(Patience { until, rejoin }): Params<Patience>,
    headers: HeaderMap,
    Body(mut request): Body<CreateRequest>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    take_key(&headers, &mut request.spec.key)?;
    name_asker(&mut request.spec.asked_by);
    let view = begin(&api, &identity, request, until, rejoin).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Begins a session, or finds the one that the same request has made.
pub(super) async fn begin(
    api: &Api,
    identity: &Identity,
    request: CreateRequest,
    until: Until,
    rejoin: Option<SessionId>,
) -> Result<SessionView, ApiError> {
    let given = match &request.stdin {
        StdinFrom::Deposit { ticket } => {
            identity.at_socket("a standard input is handed over")?;
            api.0.deposit.take(ticket)
        }
        StdinFrom::Null | StdinFrom::Pipe => None,
    };
    let launch = Box::new(LaunchRequest::new(request, given)?);
    // If the client goes, this future is dropped, and the tether with it.
    let (holds, tether) = oneshot::channel();
    let tether = launch.spec.tethered.then_some(tether);
    let create = |answer| match rejoin {
        None => Command::Create { launch, tether, until, answer },
        Some(session) => Command::AskAgain { session, launch, tether, until, answer },
    };
    let view = api.ask(create).await?;
    // Nobody may be tied to it.
    holds.send(()).ok();
    Ok(view)
}

/// Who does not say who asks is told by where they asked.
pub(super) fn name_asker(by: &mut String) {
    if by.is_empty() {
        "the API".clone_into(by);
    }
}

/// The key of a request may stand in its head, as other services have it.
pub(super) fn take_key(headers: &HeaderMap, key: &mut Option<String>) -> Result<(), ApiError> {
    let Some(given) = headers.get("idempotency-key") else { return Ok(()) };
    let given =
        given.to_str().map_err(|_| ApiError::invalid("Idempotency-Key is no plain text"))?;
    if key.as_ref().is_some_and(|key| key != given) {
        return Err(ApiError::invalid("Idempotency-Key and key differ").hint("give one of them"));
    }
    *key = Some(given.to_owned());
    Ok(())
}

pub(super) async fn show(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Answered<SessionView> {
    api.ask(|answer| Command::Show { reference, answer }).await.map(Json)
}

pub(super) async fn inspect(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Answered<InspectView> {
    let known = api.ask(|answer| Command::Inspect { reference, answer }).await?;
    Ok(Json(inspect::inspect(&api.0.home, &api.0.register, known).await))
}

/// Whether a session ends with whoever waits for it.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Tied {
    #[serde(default)]
    pub(super) tied: bool,
}

pub(super) async fn wait(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(Tied { tied }): Params<Tied>,
) -> Answered<SessionView> {
    if tied {
        // It ends with whoever waits, so that is no mere look.
        identity.may_change()?;
    }
    // If the client goes, this future is dropped, and the tether with it.
    let (holds, tether) = oneshot::channel();
    let tether = tied.then_some(tether);
    let answer = api.ask(|answer| Command::Wait { reference, tether, answer }).await;
    holds.send(()).ok();
    answer.map(Json)
}

pub(super) async fn stop(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(mut wish): Body<StopRequest>,
) -> Answered<StopAnswer> {
    name_asker(&mut wish.by);
    api.ask(|answer| Command::Stop { reference, wish, answer }).await.map(Json)
}

pub(super) async fn forget(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(ByRequest { by }): Body<ByRequest>,
) -> Answered<SessionView> {
    api.ask(|answer| Command::Forget { reference, by, answer }).await.map(Json)
}

pub(super) async fn remove(
    State(api): State<Api>,
    Path(reference): Path<String>,
) -> Result<StatusCode, ApiError> {
    api.ask(|answer| Command::Remove { reference, answer }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn prune(
    State(api): State<Api>,
    Body(request): Body<PruneRequest>,
) -> Answered<PruneAnswer> {
    pruned(&api, &request, Pruning::Done).await
}

/// Says what a prune would remove. A method of its own: a daemon that does not know it removes nothing.
pub(super) async fn would_prune(
    State(api): State<Api>,
    Params(request): Params<PruneRequest>,
) -> Answered<PruneAnswer> {
    pruned(&api, &request, Pruning::OnlySaid).await
}

async fn pruned(api: &Api, request: &PruneRequest, pruning: Pruning) -> Answered<PruneAnswer> {
    let before_ms = request.older_than_ms.map(|age| clock::now_ms().saturating_sub(age));
    let pruned = api.ask(|answer| Command::Prune { before_ms, pruning, answer }).await?;
    let texts = |ids: &[SessionId]| ids.iter().map(ToString::to_string).collect();
    Ok(Json(PruneAnswer {
        removed: texts(&pruned.removed),
        with_worktrees: texts(&pruned.spared.with_worktrees),
        with_keys: texts(&pruned.spared.with_keys),
    }))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_key_is_taken_from_the_head_unless_the_body_has_another() {
        let mut headers = HeaderMap::new();
        let mut key = Some("a".to_owned());
        take_key(&headers, &mut key).unwrap();
        assert_eq!(key.as_deref(), Some("a"));
        headers.insert("Idempotency-Key", HeaderValue::from_static("b"));
        assert!(take_key(&headers, &mut key).is_err());
        let mut none = None;
        take_key(&headers, &mut none).unwrap();
        assert_eq!(none.as_deref(), Some("b"));
        take_key(&headers, &mut none).unwrap();
        headers.insert("Idempotency-Key", HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(take_key(&headers, &mut None).is_err());
    }
}
