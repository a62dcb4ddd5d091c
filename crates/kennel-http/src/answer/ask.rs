//! Asks an agent, and streams its answer to a client that accepts events.

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use kennel_daemon::{ApiError, clock};
use kennel_types::api::{AskRequest, Until};

use super::stream;
use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::JsonBody;
use crate::handlers::{check_stdin, take_key};
use crate::stream::sse;

pub(crate) async fn ask(
    api: Api,
    identity: Identity,
    headers: HeaderMap,
    JsonBody(mut request): JsonBody<AskRequest>,
) -> HandlerResult<Response> {
    take_key(&headers, &mut request.key)?;
    let streamed = sse::is_accepted(&headers);
    // A client that does not stream may disconnect.
    let cancels = streamed && !request.detach;
    request.detach = !cancels;
    let (began, by) = (clock::rfc3339(clock::now_ms()), request.by.clone());
    let request = request.into_session().map_err(ApiError::invalid)?;
    check_stdin(&identity, &request.stdin)?;
    let view = api.daemon.create(request, Until::Accepted, None).await?;
    if !streamed {
        return Ok((StatusCode::CREATED, Json(view)).into_response());
    }
    // A client whose key finds the prompt of another client must not cancel it by disconnecting; the client that asked
    // may be back after a crash.
    let ours = view.created_at >= began || !by.is_empty() && view.spec.asked_by == by;
    let reference = view.session.clone();
    // This client has received no event yet, whatever its headers contain.
    let response = stream(api.clone(), view, &HeaderMap::new()).await?;
    Ok(match cancels && ours {
        true => cancel_on_disconnect(&api, reference, response),
        false => response,
    })
}

/// Cancels the prompt if the client disconnects before the end of the response.
pub(super) fn cancel_on_disconnect(api: &Api, reference: String, response: Response) -> Response {
    let cancel = api.daemon.cancel_on_drop(reference);
    response.map(|body| {
        Body::from_stream(unfold((body.into_data_stream(), cancel), async |(mut body, cancel)| {
            Some((body.next().await?, (body, cancel)))
        }))
    })
}
