//! Requests a stop from the daemon without waiting for it.

use std::thread;

use kennel_types::api::{StopRequest, StopResponse};

use crate::command_prelude::*;

/// Stops one session on behalf of the foreground command that owns it.
#[derive(Debug, Clone)]
pub(crate) struct Stopper {
    home: HomeDir,
    session: String,
    pub(crate) grace: Duration,
}

/// Who stops it, for the record.
pub(crate) const BY_OWNER: &str = "its foreground command";
pub(crate) const BY_RUN: &str = "kennel run";
pub(crate) const BY_CHAT: &str = "kennel chat";
pub(crate) const BY_RESUME: &str = "kennel resume";

impl Stopper {
    pub(crate) fn new(home: &HomeDir, session: &SessionView) -> Self {
        Self { home: home.clone(), session: session.id.clone(), grace: session.spec.grace }
    }

    /// Requests the end, at once or with the session's grace period.
    pub(crate) fn ask(&self, now: bool, signal: i32) {
        let stopper = self.clone();
        let started =
            thread::Builder::new().name("stop".into()).spawn(move || stopper.post(now, signal));
        // Without the thread, the caller stops the keeper itself, without a recorded reason.
        drop(started);
    }

    fn post(&self, now: bool, signal: i32) {
        let Ok(daemon) = DaemonClient::connect(&self.home, StartDaemon::Never) else { return };
        let by = format!("{BY_OWNER}, signal {signal}");
        let request = StopRequest { now, by, ..StopRequest::default() };
        let path = session_path(&self.session, "/stop");
        // The keeper reports the result.
        let sent = daemon.send("POST", &path, Some(&request), Timeout::None);
        sent.and_then(Sent::receive::<StopResponse>).ok();
    }
}
