//! In front of a session, over a WebSocket: bytes both ways, and a few words about them.
//!
//! ```text
//! client ──input, size──> Seat ──> keeper ──> agent
//!    ▲                     │                    │
//!    └──── output ─────────┴──── journal <──────┘
//! ```
//! What is printed comes from the journal, as for anybody who follows: so a client that is slow costs nothing, one that
//! comes back goes on where it was, and any number may look on.

mod closing;
mod control;
mod seat;
mod typist;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::Api;
use super::access::Identity;
use super::body::Params;
use super::output::{refuse_terminal, show};
use crate::error::ApiError;
use seat::Seat;

/// The longest message of a client. More input comes in more messages.
const LONGEST: usize = 64 * 1024;

/// How somebody sits down.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Manner {
    /// Output from this offset on comes first.
    from: Option<u64>,
    /// What comes first otherwise.
    replay: Option<Replay>,
    /// With it, so many of the last lines.
    tail: Option<usize>,
    #[serde(default)]
    read_only: bool,
    /// The size of the client's window.
    cols: Option<u16>,
    rows: Option<u16>,
}

/// What of the past is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Replay {
    /// What makes a screen look like the agent's.
    Screen,
    /// Nothing.
    None,
    /// Everything that is kept.
    All,
}

pub(super) async fn terminal(
    State(api): State<Api>,
    identity: Identity,
    Path(reference): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    Params(mut manner): Params<Manner>,
) -> Result<Response, ApiError> {
    let view = show(&api, reference).await?;
    refuse_terminal(&view, "it can't be attached to")?;
    let upgrade = upgrade.map_err(|wrong| {
        ApiError::invalid(format!("this is for WebSockets: {}", wrong.body_text()))
    })?;
    let place = api.0.live.attach();
    let place = place.ok_or_else(|| ApiError::busy("too many are attached already"))?;
    manner.read_only |= identity.may_change().is_err();
    let upgrade = upgrade.max_message_size(LONGEST).max_frame_size(LONGEST);
    Ok(upgrade.on_upgrade(async move |socket| {
        Seat::new(api, view, manner, socket).attend().await;
        drop(place);
    }))
}
