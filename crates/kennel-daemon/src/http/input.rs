//! Signals and input, carried to a session's keeper.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use kennel_keeper::protocol::{LONGEST_INPUT, Report, Request, Role};
use kennel_sys::pidfd::{self, Sent};
use kennel_types::api::{InputRequest, SignalRequest, Text};
use kennel_types::{Phase, SessionView, StartedBy};
use rustix::process::Signal;
use tokio::time::timeout;

use super::Api;
use super::body::Body;
use crate::conversation::{Conversation, TalkError};
use crate::message::Command;
use crate::refused::Refused;

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
) -> Result<StatusCode, Refused> {
    if !(1..=LAST_SIGNAL).contains(&signal) {
        return Err(Refused::invalid(format!("there is no signal {signal}")));
    }
    if show(&api, &reference).await?.started_by == StartedBy::Terminal {
        return signal_process(&api, reference, signal).await;
    }
    let conversation = begin(&api, reference).await?;
    let told = async {
        conversation.say(&Request::Signal(signal)).await?;
        // Requests are heard in order: with this answer the signal is on its way.
        conversation.say(&Request::Status).await?;
        conversation.hear(|report, _| matches!(report, Report::State(_)).then_some(())).await
    };
    answered(timeout(PATIENCE, told).await)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn input(
    State(api): State<Api>,
    Path(reference): Path<String>,
    Body(InputRequest { hex, eof }): Body<InputRequest>,
) -> Result<StatusCode, Refused> {
    let bytes = std::ffi::OsString::try_from(Text::Bytes { hex });
    let bytes = bytes.map_err(Refused::invalid)?.into_encoded_bytes();
    let conversation = begin(&api, reference).await?;
    for piece in bytes.chunks(LONGEST_INPUT) {
        let taken = async {
            conversation.say(&Request::Input(piece.to_vec())).await?;
            let mut left = piece.len();
            conversation
                .hear(|report, _| {
                    if let Report::InputTaken(taken) = report {
                        left = left.saturating_sub(taken as usize);
                    }
                    (left == 0).then_some(())
                })
                .await
        };
        match timeout(READING, taken).await {
            Ok(taken) => answered(Ok(taken))?,
            Err(_) => {
                return Err(Refused::busy("the agent does not read its input")
                    .hint("what it has not read waits for it"));
            }
        }
    }
    if eof {
        let told = async {
            conversation.say(&Request::CloseInput).await?;
            conversation.say(&Request::Status).await?;
            conversation.hear(|report, _| matches!(report, Report::State(_)).then_some(())).await
        };
        answered(timeout(PATIENCE, told).await)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A session that a user started is one process, and has no keeper.
async fn signal_process(api: &Api, reference: String, number: i32) -> Result<StatusCode, Refused> {
    let signal = Signal::from_named_raw(number);
    let signal = signal.ok_or_else(|| Refused::invalid(format!("there is no signal {number}")))?;
    let named = reference.clone();
    let handle = api.ask(|answer| Command::Handle { reference, answer }).await?;
    match pidfd::send(handle.get_ref(), signal).map_err(Refused::internal)? {
        Sent::Yes => Ok(StatusCode::NO_CONTENT),
        Sent::Gone => Err(Refused::conflict(format!("session {named} does not run"))),
        Sent::NotPermitted => Err(Refused::conflict("its process may not be signalled by us")),
    }
}

async fn show(api: &Api, reference: &str) -> Result<SessionView, Refused> {
    let reference = reference.to_owned();
    api.ask(|answer| Command::Show { reference, answer }).await
}

/// A connection to the keeper of a session that runs.
async fn begin(api: &Api, reference: String) -> Result<Conversation, Refused> {
    let view = show(api, &reference).await?;
    if view.started_by == StartedBy::Terminal {
        let text = format!("session {} was started in a terminal of its own", view.id);
        return Err(Refused::conflict(text).hint("type into it there"));
    }
    if !matches!(view.phase, Phase::Running | Phase::Stopping) {
        return Err(not_running(&view));
    }
    let conversation = Conversation::begin(std::path::Path::new(&view.folder));
    let conversation = conversation.map_err(|error| match error {
        TalkError::NobodyListens => not_running(&view),
        other => Refused::busy(other),
    })?;
    answered(timeout(PATIENCE, conversation.greet(Role::Client)).await)?;
    Ok(conversation)
}

fn not_running(view: &SessionView) -> Refused {
    Refused::conflict(format!("session {} does not run", view.id))
}

fn answered<T>(
    result: Result<Result<T, TalkError>, tokio::time::error::Elapsed>,
) -> Result<T, Refused> {
    match result {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(TalkError::Refused(why))) => Err(Refused::conflict(why)),
        Ok(Err(error)) => Err(Refused::busy(format!("the keeper can't be told: {error}"))),
        Err(_) => Err(Refused::busy("the keeper does not answer")),
    }
}
