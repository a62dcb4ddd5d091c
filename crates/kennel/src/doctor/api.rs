//! The check of the API over TCP, if it is enabled.

use kennel_types::api::{ListenState, ListenView};

use super::finding::{Finding, FindingState};
use crate::command_prelude::*;

/// Returns nothing if no daemon runs or the API is not enabled.
pub(super) fn finding(home: Option<&HomeDir>) -> Option<Finding> {
    let daemon = DaemonClient::connect(home?, StartDaemon::Never).ok()?;
    // If the daemon doesn't answer, another finding reports it.
    daemon.view().ok()?.listen.map(|listen| check(&listen))
}

fn check(listen: &ListenView) -> Finding {
    match listen.state {
        ListenState::Open => Finding::new("api", FindingState::Good, listen.url.clone()),
        ListenState::Failing => {
            let why = listen.why.as_deref().unwrap_or("unknown");
            Finding::new("api", FindingState::Bad, format!("not listening on TCP: {why}"))
        }
    }
}
