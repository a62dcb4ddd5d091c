//! Attaches a client to a session over a WebSocket: bytes both ways, and a few control messages.
//!
//! ```text
//! client ──input, size──> TerminalConnection ──> keeper ──> agent
//!    ▲                     │                                  │
//!    └──── output ─────────┴──── journal <────────────────────┘
//! ```
//! Output comes from the journal, as for any client that follows: a slow client costs nothing, one that reconnects
//! resumes where it was, and any number may watch.

mod connection;
mod messages;

use axum::extract::Path;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use kennel_daemon::ApiError;
use serde::Deserialize;

use crate::access::Identity;
use crate::api::Api;
use crate::error::HandlerResult;
use crate::extract::Params;
use crate::output::refuse_adopted;
use connection::TerminalConnection;

/// The maximum size of a client's message. Longer input needs several messages.
const MAX_MESSAGE: usize = 64 * 1024;

/// How a client attaches.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TerminalQuery {
    /// Begin with the output from this offset.
    from: Option<u64>,
    /// Without `from` and `tail`: the earlier output to begin with.
    replay: Option<TerminalReplay>,
    /// Without `from`: begin with this many lines from the end.
    tail: Option<usize>,
    read_only: bool,
    /// The width of the client's window.
    cols: Option<u16>,
    /// The height of the client's window.
    rows: Option<u16>,
}

/// The earlier output to send first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum TerminalReplay {
    /// Output that redraws the agent's screen.
    Screen,
    /// Nothing.
    None,
    /// All recorded output.
    All,
}

pub(crate) async fn terminal(
    api: Api,
    identity: Identity,
    Path(reference): Path<String>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    Params(mut query): Params<TerminalQuery>,
) -> HandlerResult<Response> {
    let view = api.daemon.show(reference).await?;
    refuse_adopted(&view, "clients can't attach to it")?;
    let upgrade = upgrade.map_err(|error| {
        ApiError::invalid(format!("expected a WebSocket handshake: {}", error.body_text()))
    })?;
    let permit = api.streams.try_attach()?;
    query.read_only |= identity.require_full().is_err();
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(async move |socket| {
        TerminalConnection::new(api, view, query, socket).serve().await;
        drop(permit);
    }))
}
