//! Processes that users started, followed as sessions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use kennel_types::api::{AdoptAnswer, AdoptRequest};
use kennel_types::{LaunchToken, Phase, Reason, SessionView};
use tokio::task::spawn_blocking;

use super::body::Body;
use super::{Api, Peer, report};
use crate::adopted::candidate::AdoptionCandidate;
use crate::error::ApiError;
use crate::os::home::{API_SOCKET, TOKEN_FILE};
use crate::owner::message::{Command, census};

pub(super) async fn adopt(
    State(api): State<Api>,
    peer: Peer,
    Body(request): Body<AdoptRequest>,
) -> Result<(StatusCode, Json<AdoptAnswer>), ApiError> {
    let asker = report::find(&api, peer).await?;
    let census = census(&api.0.bus).await.map_err(|_| ApiError::gone())?;
    let home = api.0.home.clone();
    let found =
        spawn_blocking(move || AdoptionCandidate::find(request, &asker, &home, &census)).await;
    let adoptee = Box::new(found.map_err(ApiError::internal)??);
    let session = api.ask(|answer| Command::Adopt { adoptee, answer }).await?;
    if session.phase >= Phase::Stopping {
        return Err(not_adopted(&session));
    }
    let folder = std::path::PathBuf::from(&session.folder);
    let token_file = folder.join(TOKEN_FILE);
    // It goes when the process does.
    let token = tokio::fs::read_to_string(&token_file).await;
    let token =
        serde_json::from_value::<LaunchToken>(token.map_err(|_| not_adopted(&session))?.into());
    let answer = AdoptAnswer {
        session,
        token: token.map_err(ApiError::internal)?,
        token_file: token_file.display().to_string(),
        socket: api.0.home.folder.join(API_SOCKET).display().to_string(),
    };
    Ok((StatusCode::CREATED, Json(answer)))
}

fn not_adopted(session: &SessionView) -> ApiError {
    match &session.reason {
        Some(Reason::Failed { why, .. }) => ApiError::busy(format!("it can't be adopted: {why}")),
        _ => ApiError::conflict(format!("session {} has ended, or is about to", session.id)),
    }
}
