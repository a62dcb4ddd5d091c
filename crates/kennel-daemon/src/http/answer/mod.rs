//! What an agent answers to a prompt: when it is over, or as it comes.

mod course;
mod mark;
mod telling;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_types::SessionView;
use kennel_types::api::AnswerView;
use serde::Deserialize;

use super::access::Identity;
use super::body::Params;
use super::output::{on_disk, show};
use super::pulse::exactly;
use super::{Api, ask, pull, sse};
use crate::error::ApiError;
use crate::owner::message::Command;
use crate::prompt::transcript;
use course::Course;
use mark::{Mark, Place};

/// How it is asked for.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Manner {
    /// Whether to wait until it is over.
    #[serde(default)]
    wait: bool,
    /// Whether it ends if whoever hears the stream goes before it is over: for those who asked, and have lost a daemon.
    #[serde(default)]
    tied: bool,
    format: Option<Form>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Form {
    Json,
    Sse,
}

pub(super) async fn answer(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    headers: HeaderMap,
    Params(manner): Params<Manner>,
) -> Result<Response, ApiError> {
    let view = show(&api, reference).await?;
    if !view.spec.is_prompt() {
        return Err(ApiError::conflict(format!("session {} is no prompt", view.id))
            .hint("its output is at …/output"));
    }
    let streamed =
        manner.format.map_or_else(|| sse::is_accepted(&headers), |form| form == Form::Sse);
    if !streamed {
        return whole(api, view, manner.wait).await;
    }
    if !manner.tied {
        return stream(api, view, &headers).await;
    }
    identity.may_change()?;
    let reference = view.session.clone();
    let told = stream(api.clone(), view, &headers).await?;
    Ok(ask::held(&api, reference, told))
}

/// All of it, when it is over.
async fn whole(api: Api, view: SessionView, wait: bool) -> Result<Response, ApiError> {
    let reference = view.session.clone();
    let view = match wait {
        true => api.ask(|answer| Command::Wait { reference, tether: None, answer }).await?,
        false => view,
    };
    Ok(Json(told(&api, view).await?).into_response())
}

/// What became of a prompt that is over.
async fn told(api: &Api, view: SessionView) -> Result<AnswerView, ApiError> {
    if view.judged.is_none() {
        return Err(ApiError::conflict(format!("session {} is not over", view.session))
            .hint("with wait=true the answer comes when it is"));
    }
    let id = view.id.clone();
    let read = on_disk(api, move || Ok((transcript::answer_of(&view)?, view)));
    let (answer, view) = read.await.map_err(|error| {
        ApiError::internal(format!("the answer of {id} can't be read: {error}"))
    })?;
    AnswerView::of(&view, answer).ok_or_else(|| ApiError::internal("it was not judged"))
}

/// What the agent does, as it does it.
pub(super) async fn stream(
    api: Api,
    view: SessionView,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let resume = match sse::last_id(headers) {
        Some(id) => Some(id.parse::<Mark>().map_err(ApiError::invalid)?),
        None => None,
    };
    let view = match &resume {
        Some(mark) if mark.launch != view.id => {
            let former = show(&api, exactly(&mark.launch)).await?;
            if former.session != view.session {
                return Err(ApiError::invalid("that event is of another session"));
            }
            former
        }
        _ => view,
    };
    let place = resume.map(|mark| mark.place);
    if place == Some(Place::Verdict) {
        // By this a browser knows that it need not come back.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut response = pull::body(Course::begin(api, view, place)).into_response();
    sse::mark(&mut response);
    Ok(response)
}
