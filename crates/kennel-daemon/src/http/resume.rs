//! Another launch of a session.

use axum::Json;
use axum::extract::{Path, State};
use kennel_types::SessionView;
use kennel_types::api::{ResumeRequest, StdinFrom};
use tokio::sync::oneshot;

use super::Api;
use super::access::Identity;
use super::body::{Body, Params};
use super::sessions::Patience;
use crate::error::ApiError;
use crate::owner::message::{Command, Resume};

pub(super) async fn resume(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    Params(Patience { until, .. }): Params<Patience>,
    Body(request): Body<ResumeRequest>,
) -> Result<Json<SessionView>, ApiError> {
    let given = match &request.stdin {
        StdinFrom::Deposit { ticket } => {
            identity.at_socket("a standard input is handed over")?;
            api.0.deposit.take(ticket)
        }
        StdinFrom::Null | StdinFrom::Pipe => None,
    };
    // If the client goes, this future is dropped, and the tether with it.
    let (holds, tether) = oneshot::channel();
    let tether = request.tethered.then_some(tether);
    let resume =
        |answer| Command::Resume(Resume { reference, request, given, until, tether, answer });
    let view = api.ask(resume).await?;
    // Nobody may be tied to it.
    holds.send(()).ok();
    Ok(Json(view))
}
