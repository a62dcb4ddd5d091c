//! Asking the daemon for a stop without waiting for it.

use std::thread;
use std::time::Duration;

use kennel_types::SessionView;
use kennel_types::api::{StopAnswer, StopRequest};

use crate::connect::{DaemonClient, Patience, Sent, StartDaemon, session_path};
use crate::home::Home;

/// Stops one session, in the name of the foreground run that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Stopper {
    home: Home,
    session: String,
    /// How long a stop waits between TERM and KILL.
    pub(crate) grace: Duration,
}

/// Who asks, in the event log.
pub(crate) const BY_RUN: &str = "kennel run";
/// The same, of a person's talk with an agent.
pub(crate) const BY_CHAT: &str = "kennel chat";
/// The same, of another launch.
pub(crate) const BY_RESUME: &str = "kennel resume";

impl Stopper {
    pub(crate) fn new(home: &Home, session: &SessionView) -> Self {
        Self { home: home.clone(), session: session.id.clone(), grace: session.spec.grace }
    }

    /// Asks for the end, at once or with the session's own grace.
    pub(crate) fn ask(&self, now: bool, signal: i32) {
        let stopper = self.clone();
        let asked =
            thread::Builder::new().name("stop".into()).spawn(move || stopper.post(now, signal));
        // Without it the keeper is told directly; only the reason is not on record then.
        drop(asked);
    }

    fn post(&self, now: bool, signal: i32) {
        let Ok(daemon) = DaemonClient::connect(&self.home, StartDaemon::Never) else { return };
        let request =
            StopRequest { now, by: format!("{BY_RUN}, signal {signal}"), ..StopRequest::default() };
        let path = session_path(&self.session, "/stop");
        // What came of it, the keeper tells.
        let sent = daemon.send("POST", &path, Some(&request), Patience::Endless);
        sent.and_then(Sent::receive::<StopAnswer>).ok();
    }
}
