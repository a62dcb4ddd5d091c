//! Strays: shown, and ended on request.

use axum::Json;
use axum::extract::State;
use kennel_types::api::{EndStraysRequest, StraysEnded, StraysView};
use tokio::task::spawn_blocking;

use super::Api;
use super::body::Body;
use crate::error::ApiError;
use crate::os::home::Home;
use crate::owner::message::{Command, Message, census};
use crate::recover::census::SessionCensus;
use crate::recover::strays;

pub(super) async fn find(State(api): State<Api>) -> Result<Json<StraysView>, ApiError> {
    look(&api, strays::find).await.map(Json)
}

pub(super) async fn end(
    State(api): State<Api>,
    Body(request): Body<EndStraysRequest>,
) -> Result<Json<StraysEnded>, ApiError> {
    let result = look(&api, move |home, census| strays::end(home, census, &request)).await?;
    note(&api, &result);
    Ok(Json(result))
}

/// Puts on record who was ended.
pub(super) fn note(api: &Api, result: &StraysEnded) {
    let (ended, tally) = (result.ended.len(), &api.0.instruments.tally);
    tally.strays_found.add((ended + result.still_alive.len()) as u64);
    tally.strays_ended.add(ended as u64);
    for stray in &result.ended {
        let cause = format!("pid {} ({}) of session {}", stray.pid, stray.name, stray.session);
        let note = Command::Note { session: None, kind: "stray_ended", cause };
        api.0.bus.send(Message::Command(note)).ok();
    }
}

/// Looks through all processes, which takes a while.
async fn look<T: Send + 'static>(
    api: &Api,
    look: impl FnOnce(&Home, &SessionCensus) -> std::io::Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let census = census(&api.0.bus).await.map_err(|_| ApiError::gone())?;
    let home = api.0.home.clone();
    let looked = spawn_blocking(move || look(&home, &census)).await;
    looked.map_err(ApiError::internal)?.map_err(ApiError::internal)
}
