//! Answers of agents to prompts: when they are complete, or while the agent works.

mod ask;
mod attempt_events;
mod attempts;

use axum::Json;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_daemon::{ApiError, transcript};
use kennel_types::SessionView;
use kennel_types::api::AnswerView;
use serde::Deserialize;

use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::stream::resume_position::{AnswerPoint, ResumePosition};
use crate::stream::sse;
pub(crate) use ask::ask;
use ask::cancel_on_disconnect;
use attempts::AttemptStream;

/// How a client waits for an answer.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerQuery {
    /// Whether to wait until the prompt is over.
    #[serde(default)]
    wait: bool,
    /// Whether disconnecting from the stream cancels the prompt: for the client that asked and lost its daemon.
    #[serde(default)]
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
        return Err(error.hint("its output is at …/output").into());
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

async fn complete(api: &Api, view: SessionView) -> Result<AnswerView, ApiError> {
    if view.judged.is_none() {
        return Err(ApiError::conflict(format!("session {} is not over yet", view.session))
            .hint("wait=true waits for the answer"));
    }
    let id = view.id.clone();
    let read = api.streams.on_disk(move || Ok((transcript::answer_of(&view)?, view)));
    let (answer, view) = read
        .await
        .map_err(|error| ApiError::internal(format!("can't read the answer of {id}: {error}")))?;
    AnswerView::of(&view, answer).ok_or_else(|| ApiError::internal("the prompt has no verdict"))
}

/// What the agent does, as events.
async fn stream(api: Api, view: SessionView, headers: &HeaderMap) -> Result<Response, ApiError> {
    let (view, resume) = ResumePosition::resolve(&api.daemon, view, headers).await?;
    if resume == Some(AnswerPoint::Verdict) {
        // A browser does not reconnect after this.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse::respond(AttemptStream::new(api, view, resume)))
}
