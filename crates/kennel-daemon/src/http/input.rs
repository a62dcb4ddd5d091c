//! Signals and input, carried to a session's keeper.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, LONGEST_INPUT, PeerRole};
use kennel_sys::pidfd::{self, SignalDelivery};
use kennel_types::api::{InputRequest, SignalRequest, Text};
use kennel_types::{Phase, SessionView, StartedBy};
use rustix::process::Signal;
use tokio::time::timeout;

use super::Api;
use super::body::Body;
use crate::error::ApiError;
use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::owner::message::Command;

/// How long a keeper may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an agent may take to read a piece.
const READING: Duration = Duration::from_secs(10);
/// The highest signal.
const LAST_SIGNAL: i32 = 64;

pub(super) async fn signal(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(SignalRequest { signal }): Body<SignalRequest>,
) -> Result<StatusCode, ApiError> {
    if !(1..=LAST_SIGNAL).contains(&signal) {
        return Err(ApiError::invalid(format!("there is no signal {signal}")));
    }
    if show(&api, &reference).await?.started_by == StartedBy::User {
        return signal_process(&api, reference, signal).await;
    }
    let conversation = begin(&api, reference).await?;
    let told = async {
        conversation.say(&KeeperRequest::Signal(signal)).await?;
        // Requests are heard in order: with this answer the signal is on its way.
        conversation.say(&KeeperRequest::Status).await?;
        conversation.hear(|report, _| matches!(report, KeeperReport::State(_)).then_some(())).await
    };
    answered(timeout(PATIENCE, told).await)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn input(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(InputRequest { hex, eof }): Body<InputRequest>,
) -> Result<StatusCode, ApiError> {
    let bytes = std::ffi::OsString::try_from(Text::Bytes { hex });
    let bytes = bytes.map_err(ApiError::invalid)?.into_encoded_bytes();
    let conversation = begin(&api, reference).await?;
    for piece in bytes.chunks(LONGEST_INPUT) {
        let taken = async {
            conversation.say(&KeeperRequest::Input(piece.to_vec())).await?;
            let mut left = piece.len();
            conversation
                .hear(|report, _| {
                    if let KeeperReport::InputTaken(taken) = report {
                        left = left.saturating_sub(taken as usize);
                    }
                    (left == 0).then_some(())
                })
                .await
        };
        match timeout(READING, taken).await {
            Ok(taken) => answered(Ok(taken))?,
            Err(_) => {
                return Err(ApiError::busy("the agent does not read its input")
                    .hint("what it has not read waits for it"));
            }
        }
    }
    if eof {
        let told = async {
            conversation.say(&KeeperRequest::CloseInput).await?;
            conversation.say(&KeeperRequest::Status).await?;
            conversation
                .hear(|report, _| matches!(report, KeeperReport::State(_)).then_some(()))
                .await
        };
        answered(timeout(PATIENCE, told).await)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A session that a user started is one process, and has no keeper.
async fn signal_process(api: &Api, reference: String, number: i32) -> Result<StatusCode, ApiError> {
    let signal = Signal::from_named_raw(number);
    let signal = signal.ok_or_else(|| ApiError::invalid(format!("there is no signal {number}")))?;
    let named = reference.clone();
    let handle = api.ask(|answer| Command::Handle { reference, answer }).await?;
    match pidfd::send(handle.get_ref(), signal).map_err(ApiError::internal)? {
        SignalDelivery::Yes => Ok(StatusCode::NO_CONTENT),
        SignalDelivery::Gone => Err(ApiError::conflict(format!("session {named} does not run"))),
        SignalDelivery::NotPermitted => {
            Err(ApiError::conflict("its process may not be signalled by us"))
        }
    }
}

async fn show(api: &Api, reference: &str) -> Result<SessionView, ApiError> {
    let reference = reference.to_owned();
    api.ask(|answer| Command::Show { reference, answer }).await
}

/// A connection to the keeper of a session that runs.
async fn begin(api: &Api, reference: String) -> Result<KeeperConnection, ApiError> {
    let view = show(api, &reference).await?;
    if view.started_by == StartedBy::User {
        let text = format!("session {} was started in a terminal of its own", view.id);
        return Err(ApiError::conflict(text).hint("type into it there"));
    }
    if !matches!(view.phase, Phase::Running | Phase::Stopping) {
        return Err(not_running(&view));
    }
    let conversation = KeeperConnection::begin(std::path::Path::new(&view.folder));
    let conversation = conversation.map_err(|error| match error {
        KeeperRequestError::NobodyListens => not_running(&view),
        other => ApiError::busy(other),
    })?;
    answered(timeout(PATIENCE, conversation.greet(PeerRole::Client)).await)?;
    Ok(conversation)
}

fn not_running(view: &SessionView) -> ApiError {
    ApiError::conflict(format!("session {} does not run", view.id))
}

fn answered<T>(
    result: Result<Result<T, KeeperRequestError>, tokio::time::error::Elapsed>,
) -> Result<T, ApiError> {
    match result {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(KeeperRequestError::Refused(why))) => Err(ApiError::conflict(why)),
        Ok(Err(error)) => Err(ApiError::busy(format!("the keeper can't be told: {error}"))),
        Err(_) => Err(ApiError::busy("the keeper does not answer")),
    }
}
