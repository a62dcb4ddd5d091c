//! Prompts to agents, and their answers: complete ones, or events while the agent works.

mod attempt_events;
mod attempts;

use axum::Json;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use kennel_daemon::{ApiError, clock, transcript};
use kennel_types::SessionView;
use kennel_types::api::{AnswerView, AskRequest, Until};
use serde::Deserialize;

use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::{JsonBody, Params};
use crate::handlers::{check_stdin, take_key};
use crate::stream::resume_position::{AnswerPoint, ResumePosition};
use crate::stream::sse;
use attempts::AttemptStream;

/// How a client waits for an answer.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AnswerQuery {
    /// Whether to wait until the prompt is over.
    wait: bool,
    /// Whether disconnecting from the stream cancels the prompt, for a client that sent it and reconnects.
    cancel_on_disconnect: bool,
    format: Option<AnswerResponseFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum AnswerResponseFormat {
    Json,
    Sse,
}

pub(crate) async fn answer(
    api: Api,
    identity: Identity,
    Path(reference): Path<String>,
    headers: HeaderMap,
    Params(query): Params<AnswerQuery>,
) -> HandlerResult<Response> {
    let mut view = api.daemon.show(reference).await?;
    if !view.spec.is_prompt() {
        let error = ApiError::conflict(format!("session {} is not a prompt", view.id));
        return Err(error.hint("use …/output to read its output").into());
    }
    let streamed = query
        .format
        .map_or_else(|| sse::is_accepted(&headers), |format| format == AnswerResponseFormat::Sse);
    if !streamed {
        if query.wait {
            view = api.daemon.wait(view.session, false).await?;
        }
        return Ok(Json(complete(&api, view).await?).into_response());
    }
    if !query.cancel_on_disconnect {
        return Ok(stream(api, view, &headers).await?);
    }
    identity.require_full()?;
    let reference = view.session.clone();
    let response = stream(api.clone(), view, &headers).await?;
    Ok(cancel_on_disconnect(&api, reference, response))
}

pub(crate) async fn ask(
    api: Api,
    identity: Identity,
    headers: HeaderMap,
    JsonBody(mut request): JsonBody<AskRequest>,
) -> HandlerResult<Response> {
    take_key(&headers, &mut request.key)?;
    let streamed = sse::is_accepted(&headers);
    // If the client does not stream, disconnecting does not cancel the prompt.
    let cancels = streamed && !request.detach;
    request.detach = !cancels;
    let (began, by) = (clock::rfc3339(clock::now_ms()), request.by.clone());
    let request = request.into_session().map_err(ApiError::invalid)?;
    check_stdin(&identity, &request.stdin)?;
    let view = api.daemon.create(request, Until::Accepted, None).await?;
    if !streamed {
        return Ok((StatusCode::CREATED, Json(view)).into_response());
    }
    // If the key belongs to the prompt of another client, disconnecting must not cancel it. The client that sent the prompt
    // may have reconnected after a crash.
    let ours = view.created_at >= began || !by.is_empty() && view.spec.asked_by == by;
    let reference = view.session.clone();
    // This client has not received any event yet, even if its headers contain an id.
    let response = stream(api.clone(), view, &HeaderMap::new()).await?;
    Ok(if cancels && ours { cancel_on_disconnect(&api, reference, response) } else { response })
}

/// Cancels the prompt if the client disconnects before the end of the response.
fn cancel_on_disconnect(api: &Api, reference: String, response: Response) -> Response {
    let cancel = api.daemon.cancel_on_drop(reference);
    response.map(|body| {
        Body::from_stream(unfold((body.into_data_stream(), cancel), async |(mut body, cancel)| {
            Some((body.next().await?, (body, cancel)))
        }))
    })
}

async fn complete(api: &Api, view: SessionView) -> Result<AnswerView, ApiError> {
    if view.judged.is_none() {
        return Err(ApiError::conflict(format!("session {} has not ended yet", view.session))
            .hint("wait=true waits for the answer"));
    }
    let id = view.id.clone();
    let read = api.streams.on_disk(move || Ok((transcript::answer_of(&view)?, view)));
    let (answer, view) = read
        .await
        .map_err(|error| ApiError::internal(format!("can't read the answer of {id}: {error}")))?;
    AnswerView::of(&view, answer).ok_or_else(|| ApiError::internal("the prompt has no verdict"))
}

/// Streams the actions of the agent as events.
async fn stream(api: Api, view: SessionView, headers: &HeaderMap) -> Result<Response, ApiError> {
    let (view, resume) = ResumePosition::resolve(&api.daemon, view, headers).await?;
    if resume == Some(AnswerPoint::Verdict) {
        // A browser does not reconnect after this status.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse::respond(AttemptStream::new(api, view, resume)))
}
