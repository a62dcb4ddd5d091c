//! The daemon itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use kennel_types::api::{DaemonView, ReplaceRequest, ShutdownLine, ShutdownRequest};
use tokio::sync::mpsc;

use super::Api;
use super::body::Body;
use super::stream::{self, Source};
use crate::error::ApiError;
use crate::owner::message::{Command, Leave, Message};

/// Where things are, and nothing secret.
const KEPT: [&str; 7] = ["HOME", "PATH", "LANG", "USER", "LOGNAME", "TZ", "TMPDIR"];

pub(super) async fn show(State(api): State<Api>) -> Result<Json<DaemonView>, ApiError> {
    let view = api.ask(|answer| Command::Daemon { answer }).await?;
    let environment = whereabouts(std::env::vars_os());
    Ok(Json(DaemonView { listen: api.0.access.view(), environment, ..view }))
}

/// Of what a daemon is started with, which is nothing secret, all that is not meant for itself.
fn whereabouts(own: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| {
            KEPT.contains(&&**name) || name.starts_with("LC_") || name.starts_with("XDG_")
        })
        .collect()
}

/// The lines about a shutdown. If the client goes, the shutdown goes on.
struct Told(mpsc::UnboundedReceiver<ShutdownLine>);

impl Source for Told {
    fn poll_line(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_recv(context).map(|told| told.and_then(|told| stream::line(&told)))
    }
}

pub(super) async fn stop(
    State(api): State<Api>,
    Body(request): Body<ShutdownRequest>,
) -> Result<Response, ApiError> {
    let (lines, told) = mpsc::unbounded_channel();
    let grace = request.grace_ms.map(Duration::from_millis);
    let leave = if request.keep {
        Leave::Keep { lines }
    } else {
        Leave::Stop { grace, lines: Some(lines) }
    };
    let sent = api.0.bus.send(Message::Command(Command::Leave(leave)));
    sent.map_err(|_| ApiError::gone())?;
    Ok(stream::respond(Told(told)))
}

pub(super) async fn replace(
    State(api): State<Api>,
    Body(request): Body<ReplaceRequest>,
) -> Result<StatusCode, ApiError> {
    let program = request.program.unwrap_or_default();
    if !program.is_empty() && !program.starts_with('/') {
        return Err(ApiError::invalid(format!("program {program:?} is not absolute")));
    }
    api.ask(|answer| Command::Leave(Leave::Replace { program, answer })).await?;
    Ok(StatusCode::ACCEPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_things_are_is_told() {
        let own = [("HOME", "/h"), ("KENNEL_HOME", "/k"), ("API_KEY", "secret"), ("LC_ALL", "C")];
        let told = whereabouts(own.map(|(name, value)| (name.into(), value.into())).into_iter());
        assert_eq!(
            told,
            [("HOME", "/h"), ("LC_ALL", "C")].map(|(n, v)| (n.into(), v.into())).into()
        );
    }
}
