//! Streams of events over a WebSocket. A browser opens at most six HTTP connections to a server, shared by all tabs, but
//! many WebSockets.
//!
//! ```text
//! GET /v1/events?tail=0  Upgrade: websocket ──> handled as a request for text/event-stream ──> its bytes, in messages
//! ```
//! A message may end in the middle of an event. A page can't set `Last-Event-ID`, so it sends the id in the query, as
//! `last_event_id`. It also can't see why a WebSocket was refused, so the error is an event, `refused`, with the problem
//! document, or with only the status if the response has no such document.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Query, Request};
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use kennel_daemon::ApiError;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::sse;
use crate::api::Api;
use crate::error::{ErrorResponse, HandlerResult};

const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Clients have nothing to send.
const MAX_CLIENT_MESSAGE: usize = 1024;
const MAX_ERROR_BODY: usize = 64 * 1024;
const LAST_ID_PARAM: &str = "last_event_id";

/// Serves a stream of events over a WebSocket if the request asks for one.
pub(crate) async fn or_stream(api: Api, request: Request, next: Next) -> HandlerResult<Response> {
    if !request.headers().contains_key(UPGRADE) {
        return Ok(next.run(request).await);
    }
    let (mut parts, body) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
    let upgrade = upgrade.map_err(|error| {
        ApiError::invalid(format!("invalid WebSocket handshake: {}", error.body_text()))
    })?;
    let upgrade = upgrade.max_message_size(MAX_CLIENT_MESSAGE).max_frame_size(MAX_CLIENT_MESSAGE);
    let permit = api.streams.try_attach()?;
    let response = match as_stream(&mut parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => ErrorResponse::from(error).into_response(),
    };
    Ok(upgrade.on_upgrade(async move |mut socket| {
        send_response(&mut socket, response).await;
        drop(permit);
    }))
}

/// Converts the request into one for server-sent events.
fn as_stream(parts: &mut Parts) -> Result<(), ApiError> {
    let headers = &mut parts.headers;
    headers.remove(UPGRADE);
    headers.remove(CONNECTION);
    headers.insert(ACCEPT, HeaderValue::from_static(sse::EVENT_STREAM));
    let Some((uri, id)) = without_last_id(&parts.uri) else { return Ok(()) };
    let id = HeaderValue::from_str(&id)
        .map_err(|_| ApiError::invalid(format!("invalid {LAST_ID_PARAM} {id:?}")))?;
    headers.insert(sse::LAST_EVENT_ID, id);
    parts.uri = uri;
    Ok(())
}

/// Removes the last id from the query, if it has one.
fn without_last_id(uri: &Uri) -> Option<(Uri, String)> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let (_, id) = pairs.into_iter().find(|(name, _)| name == LAST_ID_PARAM)?;
    let is_other = |pair: &&str| pair.split('=').next() != Some(LAST_ID_PARAM);
    let others: Vec<&str> = uri.query()?.split('&').filter(is_other).collect();
    let mut parts = uri.clone().into_parts();
    let rest = match others.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), others.join("&")),
    };
    parts.path_and_query = Some(rest.parse().ok()?);
    Some((Uri::from_parts(parts).ok()?, id))
}

/// Sends the response until it ends or the client disconnects.
async fn send_response(socket: &mut WebSocket, response: Response) {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind == sse::EVENT_STREAM);
    if response.status() == StatusCode::OK && is_stream {
        if forward(socket, response.into_body()).await.is_err() {
            return;
        }
    } else if socket.send(Message::Binary(refusal(response).await)).await.is_err() {
        return;
    }
    close(socket, Some(CloseFrame { code: close_code::NORMAL, reason: "".into() })).await;
}

async fn forward(socket: &mut WebSocket, body: Body) -> Result<(), axum::Error> {
    let mut chunks = body.into_data_stream();
    loop {
        tokio::select! {
            chunk = chunks.next() => match chunk {
                Some(Ok(chunk)) => socket.send(Message::Binary(chunk)).await?,
                // The client reconnects and resumes after the last id.
                Some(Err(_)) | None => return Ok(()),
            },
            received = socket.recv() => match received {
                Some(Ok(Message::Close(_))) | None => return Err(client_gone()),
                Some(received) => drop(received?),
            },
        }
    }
}

fn client_gone() -> axum::Error {
    axum::Error::new(io::Error::from(io::ErrorKind::ConnectionReset))
}

/// Returns the reason why there is no stream, as an event.
async fn refusal(response: Response) -> Bytes {
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), MAX_ERROR_BODY).await.unwrap_or_default();
    let problem = serde_json::from_slice(&body).ok().filter(Value::is_object);
    let data = problem.unwrap_or_else(|| json!({ "status": status }));
    let mut event = Vec::new();
    sse::write(&mut event, "", "refused", &data.to_string());
    event.into()
}

/// Sends a close frame and waits a moment for the client's close frame.
pub(crate) async fn close(socket: &mut WebSocket, frame: Option<CloseFrame>) {
    let closed = async {
        if let Some(frame) = frame {
            socket.send(Message::Close(Some(frame))).await?;
        }
        while let Some(Ok(_)) = socket.recv().await {}
        Ok::<_, axum::Error>(())
    };
    // A client that does not read the frame notices the end of the connection.
    drop(timeout(CLOSE_TIMEOUT, closed).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(uri: &str) -> Option<(String, String)> {
        without_last_id(&uri.parse().unwrap()).map(|(uri, id)| (uri.to_string(), id))
    }

    #[test]
    fn takes_the_last_id_out_of_the_query() {
        assert_eq!(taken("/v1/events"), None);
        assert_eq!(taken("/v1/events?tail=0"), None);
        assert_eq!(taken("/v1/events?last_event_id=7"), Some(("/v1/events".into(), "7".into())));
        assert_eq!(
            taken("/a?x=1&last_event_id=1%2D2&y=%26"),
            Some(("/a?x=1&y=%26".into(), "1-2".into()))
        );
        assert_eq!(taken("/a?not_last_event_id=7"), None);
    }

    #[test]
    fn refuses_an_invalid_id() {
        let (mut parts, ()) =
            axum::http::Request::get("/a?last_event_id=a%0Ab").body(()).unwrap().into_parts();
        assert_eq!(as_stream(&mut parts).unwrap_err().code(), "invalid");
    }

    #[tokio::test]
    async fn a_refusal_contains_a_problem_document_or_a_status() {
        let text = async |answer| String::from_utf8(refusal(answer).await.to_vec()).unwrap();
        let refused =
            text(ErrorResponse::from(ApiError::not_found("no such session")).into_response()).await;
        assert!(refused.starts_with("event: refused\ndata: {"), "{refused}");
        assert!(refused.contains("\"status\":404"), "{refused}");
        let nothing = text(StatusCode::NO_CONTENT.into_response()).await;
        assert_eq!(nothing, "event: refused\ndata: {\"status\":204}\n\n");
    }
}
