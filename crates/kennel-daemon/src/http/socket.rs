//! Streams of events over WebSockets, for browsers: over HTTP/1.1 they have six connections to a host for all of their tabs, and
//! a stream holds one for as long as somebody looks. WebSockets are not counted among them.
//!
//! ```text
//! GET /v1/events?tail=0  Upgrade: websocket ──> as if text/event-stream were asked for ──> its bytes, in messages
//! ```
//! Messages are cut anywhere. A page can't set `Last-Event-ID`, so it says it in the query, as `last_event_id`; nor is it told
//! why a WebSocket was refused, so that is an event: `refused`, with the problem, or the bare status if there is none.

use std::future::poll_fn;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{FromRequestParts, Query, Request, State};
use axum::http::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderValue, UPGRADE};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_core::Stream as _;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Api, sse};
use crate::error::ApiError;

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The client has nothing to say.
const LONGEST: usize = 1024;
/// The longest refusal.
const REFUSAL: usize = 64 * 1024;
const LAST_ID: &str = "last_event_id";

/// Serves a stream of events over a WebSocket, if one is asked for.
pub(super) async fn or_stream(State(api): State<Api>, request: Request, next: Next) -> Response {
    if !request.headers().contains_key(UPGRADE) {
        return next.run(request).await;
    }
    let (mut parts, body) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade.max_message_size(LONGEST).max_frame_size(LONGEST),
        Err(wrong) => {
            let why = format!("this is no WebSocket: {}", wrong.body_text());
            return ApiError::invalid(why).into_response();
        }
    };
    let Some(place) = api.0.live.attach() else {
        return ApiError::busy("too many are attached already").into_response();
    };
    let answer = match as_stream(&mut parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    };
    upgrade.on_upgrade(async move |mut socket| {
        tell(&mut socket, answer).await;
        drop(place);
    })
}

/// Makes it a request for server-sent events.
fn as_stream(parts: &mut Parts) -> Result<(), ApiError> {
    let headers = &mut parts.headers;
    headers.remove(UPGRADE);
    headers.remove(CONNECTION);
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let Some((uri, id)) = without_last_id(&parts.uri) else { return Ok(()) };
    let id = HeaderValue::from_str(&id)
        .map_err(|_| ApiError::invalid(format!("{LAST_ID} is no id of an event: {id:?}")))?;
    headers.insert(sse::LAST_EVENT_ID, id);
    parts.uri = uri;
    Ok(())
}

/// Takes the last id out of the query; none if it is not in it.
fn without_last_id(uri: &Uri) -> Option<(Uri, String)> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let (_, id) = pairs.into_iter().find(|(name, _)| name == LAST_ID)?;
    let is_other = |pair: &&str| pair.split('=').next() != Some(LAST_ID);
    let others: Vec<&str> = uri.query()?.split('&').filter(is_other).collect();
    let mut parts = uri.clone().into_parts();
    let rest = match others.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), others.join("&")),
    };
    parts.path_and_query = Some(rest.parse().ok()?);
    Some((Uri::from_parts(parts).ok()?, id))
}

/// Sends what the answer is, until it ends or the client goes.
async fn tell(socket: &mut WebSocket, answer: Response) {
    let kind = answer.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if answer.status() == StatusCode::OK && is_stream {
        if pour(socket, answer.into_body()).await.is_err() {
            return;
        }
    } else if socket.send(Message::Binary(refusal(answer).await)).await.is_err() {
        return;
    }
    part(socket, Some(CloseFrame { code: close_code::NORMAL, reason: "".into() })).await;
}

/// The client has gone.
struct Gone;

impl From<axum::Error> for Gone {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

async fn pour(socket: &mut WebSocket, body: Body) -> Result<(), Gone> {
    let mut pieces = Box::pin(body.into_data_stream());
    loop {
        tokio::select! {
            piece = poll_fn(|context| pieces.as_mut().poll_next(context)) => match piece {
                Some(Ok(piece)) => socket.send(Message::Binary(piece)).await?,
                // What is missing is asked for again, from the last id on.
                Some(Err(_)) | None => return Ok(()),
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_))) | None => return Err(Gone),
                Some(heard) => drop(heard?),
            },
        }
    }
}

/// Why there is no stream, as an event.
async fn refusal(answer: Response) -> Bytes {
    let status = answer.status().as_u16();
    let said = to_bytes(answer.into_body(), REFUSAL).await.unwrap_or_default();
    let problem = serde_json::from_slice(&said).ok().filter(Value::is_object);
    let told = problem.unwrap_or_else(|| json!({ "status": status }));
    let mut event = Vec::new();
    sse::write(&mut event, "", "refused", &told.to_string());
    event.into()
}

/// Says a last word, and waits a moment until it was read.
pub(super) async fn part(socket: &mut WebSocket, frame: Option<CloseFrame>) {
    let goodbye = async {
        if let Some(frame) = frame {
            socket.send(Message::Close(Some(frame))).await?;
        }
        while let Some(Ok(_)) = socket.recv().await {}
        Ok::<_, axum::Error>(())
    };
    // Whoever does not read it knows by the end of the connection.
    drop(timeout(LAST_WORDS, goodbye).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(uri: &str) -> Option<(String, String)> {
        without_last_id(&uri.parse().unwrap()).map(|(uri, id)| (uri.to_string(), id))
    }

    #[test]
    fn the_last_id_is_taken_out_of_the_query() {
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
    fn an_id_that_can_not_be_one_is_refused() {
        let (mut parts, ()) =
            axum::http::Request::get("/a?last_event_id=a%0Ab").body(()).unwrap().into_parts();
        assert_eq!(as_stream(&mut parts).unwrap_err().code(), "invalid");
    }

    #[tokio::test]
    async fn a_refusal_is_told_with_its_problem_or_its_status() {
        let told = async |answer| String::from_utf8(refusal(answer).await.to_vec()).unwrap();
        let refused = told(ApiError::not_found("there is no such session").into_response()).await;
        assert!(refused.starts_with("event: refused\ndata: {"), "{refused}");
        assert!(refused.contains("\"status\":404"), "{refused}");
        let nothing = told(StatusCode::NO_CONTENT.into_response()).await;
        assert_eq!(nothing, "event: refused\ndata: {\"status\":204}\n\n");
    }
}
