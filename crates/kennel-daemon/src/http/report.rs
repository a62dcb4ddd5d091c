//! What agents tell of themselves.
//!
//! A report that is refused changes nothing, and nobody is ended for it. But whoever brings it is looked at: if the
//! launch that it belongs to is over, what is left of that launch is ended, as any stray may be.

use std::time::Duration;

use axum::extract::connect_info::{ConnectInfo, Connected};
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::serve::IncomingStream;
use kennel_keeper::fault::point;
use kennel_sys::pidfd;
use kennel_types::api::ReportRequest;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::body::Body;
use super::{Api, OwnerOnly, access, stray};
use crate::error::ApiError;
use crate::keeper::process;
use crate::os::peer::Caller;
use crate::owner::message::{Command, census};
use crate::recover::strays;

/// How long what an agent told may take to be on record before it is answered all the same.
const ON_RECORD: Duration = Duration::from_secs(5);
/// How long a caller may take to read why it was refused.
const READS_IT: Duration = Duration::from_secs(2);

/// Who is at the other end of a connection, as the kernel noted it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pid: Option<i32>,
}

impl Connected<IncomingStream<'_, OwnerOnly>> for Peer {
    fn connect_info(stream: IncomingStream<'_, OwnerOnly>) -> Self {
        Self { pid: stream.io().get_ref().peer_cred().ok().and_then(|peer| peer.pid()) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = ApiError;

    /// Only the home's socket knows.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match parts.extensions.get::<ConnectInfo<Self>>() {
            Some(ConnectInfo(peer)) => Ok(*peer),
            None => Err(access::socket_only("who asks for this is known")),
        }
    }
}

pub(super) async fn report(
    State(api): State<Api>,
    peer: Peer,
    Body(request): Body<ReportRequest>,
) -> Result<StatusCode, ApiError> {
    let caller = find(&api, peer).await?;
    let from = caller.to_string();
    let heard = api.ask(|answer| Command::Report { request, from, answer }).await;
    if let Err(refused) = heard {
        if refused.is_disbelief() {
            tokio::spawn(look_again(api, caller));
        }
        return Err(refused);
    }
    // Not before it is written: if the daemon is killed now, the next one knows of it. With a disk that takes
    // nothing it counts as long as this daemon lives.
    if timeout(ON_RECORD, api.0.register.catch_up()).await.is_err() {
        tracing::warn!("a report is not on record yet");
    }
    point("daemon.report.written");
    Ok(StatusCode::NO_CONTENT)
}

/// Which launch the caller belongs to, seen while it waits for its answer.
pub(super) async fn find(api: &Api, peer: Peer) -> Result<Caller, ApiError> {
    let Some(pid) = peer.pid else { return Ok(Caller::default()) };
    let census = census(&api.0.bus).await.map_err(|_| ApiError::gone())?;
    let home = api.0.home.clone();
    spawn_blocking(move || Caller::find(pid, &home, census.keepers()))
        .await
        .map_err(ApiError::internal)
}

/// Ends what is left of the caller's launch, if that is over. A launch that lives, or is being ended, has its keeper.
async fn look_again(api: Api, caller: Caller) {
    let Caller { pid: Some(pid), session: Some(session) } = caller else { return };
    // It may be among those who are ended: it shall know why it was refused.
    if let Ok(Some(handle)) = pidfd::open(pid) {
        drop(timeout(READS_IT, process::ended(&handle)).await);
    }
    let Ok(census) = census(&api.0.bus).await else { return };
    if census.live.contains_key(&session) {
        return;
    }
    let home = api.0.home.clone();
    let ended = spawn_blocking(move || strays::end_of(&home, &census, &session)).await;
    match ended {
        Ok(Ok(ended)) => stray::note(&api, &ended),
        Ok(Err(error)) => tracing::warn!(%error, "what is left of a launch can't be looked for"),
        Err(error) => tracing::warn!(%error, "nobody looked for what is left of a launch"),
    }
}
