//! The API over TCP, if it is wanted.

use kennel_types::api::{ListenState, ListenView};

use super::finding::{Finding, FindingState};
use crate::connect::{DaemonClient, StartDaemon};
use crate::home::Home;

/// Nothing if no daemon runs, or nobody wants it.
pub(super) fn finding(home: Option<&Home>) -> Option<Finding> {
    let daemon = DaemonClient::connect(home?, StartDaemon::Never).ok()?;
    // If it can't be asked, another finding says so.
    daemon.view().ok()?.listen.map(|listen| told(&listen))
}

fn told(listen: &ListenView) -> Finding {
    match listen.state {
        ListenState::Open => Finding::new("api", FindingState::Good, listen.url.clone()),
        ListenState::Failing => {
            let why = listen.why.as_deref().unwrap_or("unknown");
            Finding::new("api", FindingState::Bad, format!("not over TCP for now: {why}"))
        }
    }
}
