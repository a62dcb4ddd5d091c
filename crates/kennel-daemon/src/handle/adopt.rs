//! Adoption: a process that a user started becomes a session.

use kennel_types::api::{AdoptRequest, AdoptResponse};
use kennel_types::{LaunchToken, Phase, Reason, SessionView};
use tokio::task::spawn_blocking;

use super::DaemonHandle;
use crate::adopted::candidate::AdoptionCandidate;
use crate::error::ApiError;
use crate::os::home::TOKEN_FILE;

impl DaemonHandle {
    /// Adopts a process; `caller` is the process that sends the request.
    pub async fn adopt(
        &self,
        request: AdoptRequest,
        caller: Option<i32>,
    ) -> Result<AdoptResponse, ApiError> {
        let caller = self.find_caller(caller).await?;
        let (home, census) = (self.0.home.clone(), self.census().await?);
        let find = move || AdoptionCandidate::find(request, &caller, &home, &census);
        let candidate = spawn_blocking(find).await.map_err(ApiError::internal)??;
        let session = self.request(|owner, answer| owner.adopt(candidate, answer)).await?;
        if session.phase >= Phase::Stopping {
            return Err(not_adopted(&session));
        }
        let token_file = std::path::Path::new(&session.folder).join(TOKEN_FILE);
        // The file is removed when the process ends.
        let token = tokio::fs::read_to_string(&token_file).await;
        let token = token.map_err(|_| not_adopted(&session))?;
        let token = serde_json::from_value::<LaunchToken>(token.into());
        Ok(AdoptResponse {
            session,
            token: token.map_err(ApiError::internal)?,
            token_file: token_file.display().to_string(),
            socket: self.api_socket().display().to_string(),
        })
    }
}

fn not_adopted(session: &SessionView) -> ApiError {
    match &session.reason {
        Some(Reason::Failed { why, .. }) => {
            ApiError::busy(format!("the process can't be adopted: {why}"))
        }
        _ => ApiError::conflict(format!("session {} has ended, or is about to", session.id)),
    }
}
