//! Finds the daemon of a home, starts it if needed, and sends it requests.

mod inside;
mod start;
mod stdin_handoff;

use std::io;
use std::ops::Deref;

use kennel_client::Client;
use kennel_types::api::{DaemonView, ListRequest, ProblemDetails};
use serde::de::DeserializeOwned;

use crate::command_prelude::*;

pub(crate) use inside::{find as find_inside, holds_file_in, value as cookie};
pub(crate) use kennel_client::{ClientError as RequestError, Sent, Timeout, escape, session_path};
pub(crate) use start::{YardStatus, environment, may_start, spawn_yard};
pub(crate) use stdin_handoff::hand_over_stdin;

/// Whether to start a daemon if none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartDaemon {
    IfNeeded,
    Never,
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Problem(problem) => {
                let ProblemDetails { code, detail, hint, .. } = *problem;
                let number =
                    if code == "internal" { exit_code::INTERNAL } else { exit_code::REFUSED };
                let mut error = Self::because(number, detail);
                error.hint = hint;
                error
            }
            RequestError::NoDaemon => {
                Self::new(exit_code::SETUP, error).hint("`kennel daemon start` starts one")
            }
            RequestError::Silent => Self::internal(error)
                .hint("see `kennel daemon logs`; `kennel rescue` works without the daemon"),
            other => Self::internal(other),
        }
    }
}

#[derive(Debug)]
pub(crate) struct DaemonClient {
    pub(crate) home: HomeDir,
    client: Client,
    start: StartDaemon,
}

impl DaemonClient {
    pub(crate) fn connect(home: &HomeDir, start: StartDaemon) -> Result<Self, CommandError> {
        let daemon = Self { start, ..Self::without_start(home) };
        daemon.reconnect()?;
        Ok(daemon)
    }

    /// Creates a client without checking that a daemon runs, and never starts one.
    pub(crate) fn without_start(home: &HomeDir) -> Self {
        let client = Client::of_home(&home.folder);
        Self { home: home.clone(), client, start: StartDaemon::Never }
    }

    /// Waits for a daemon: the yard restarts it after a crash, or this client starts it if it may.
    pub(crate) fn reconnect(&self) -> Result<(), CommandError> {
        match (self.client.dial(), self.start) {
            (Ok(()), _) => Ok(()),
            (Err(RequestError::NoDaemon), StartDaemon::IfNeeded) => start::bring_up(&self.home),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Finds the daemon again after it has gone away with this error, or returns the error.
    pub(crate) fn retry(
        &self,
        retry: &mut DaemonRetry,
        error: RequestError,
    ) -> Result<(), CommandError> {
        if retry.another() { self.reconnect() } else { Err(error.into()) }
    }

    /// Repeats a request that changes nothing until a daemon has answered it.
    fn read<T>(&self, ask: impl Fn(&Client) -> Result<T, RequestError>) -> Result<T, RequestError> {
        let mut retry = DaemonRetry::new();
        loop {
            match ask(&self.client) {
                Err(error) if error.is_gone() && retry.another() && self.reconnect().is_ok() => {}
                answer => return answer,
            }
        }
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, RequestError> {
        self.read(|client| client.get(target))
    }

    pub(crate) fn view(&self) -> Result<DaemonView, RequestError> {
        self.read(Client::daemon)
    }

    /// Fetches one session by id, unique prefix of an id, or name.
    pub(crate) fn session(&self, reference: &str) -> Result<SessionView, RequestError> {
        self.read(|client| client.session(reference))
    }

    /// Fetches all sessions, or all that have not ended.
    pub(crate) fn sessions(&self, all: bool) -> Result<Vec<SessionView>, RequestError> {
        let request = ListRequest { all, ..ListRequest::default() };
        self.read(|client| client.sessions(&request))
    }

    /// Waits until the session has ended, across restarts of the daemon.
    pub(crate) fn wait(&self, reference: &str) -> Result<SessionView, CommandError> {
        self.repeat_if(RequestError::is_gone_or_shutting_down, |client| client.wait(reference))
    }

    /// Repeats a request that may be repeated after such an error. Starts a daemon if allowed.
    pub(crate) fn repeat_if<T>(
        &self,
        again: impl Fn(&RequestError) -> bool,
        ask: impl Fn(&Client) -> Result<T, RequestError>,
    ) -> Result<T, CommandError> {
        let mut retry = DaemonRetry::new();
        loop {
            match ask(&self.client) {
                Err(error) if again(&error) => self.retry(&mut retry, error)?,
                answer => return answer.map_err(CommandError::from),
            }
        }
    }
}

/// Requests that change something are sent once, by the client itself.
impl Deref for DaemonClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Whether a connection failed because nothing listens on the socket.
pub(crate) fn nothing_listens(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// How many times in a row a request is repeated.
const LIMIT: u32 = 50;
/// The pause between two tries. The first one follows at once.
const PAUSE: Duration = Duration::from_millis(50);
/// A daemon that served this long was healthy: its loss doesn't count with the earlier ones.
const HEALTHY: Duration = Duration::from_secs(30);

/// Decides whether a request is repeated after its daemon has gone away.
#[derive(Debug)]
pub(crate) struct DaemonRetry {
    /// Replaces the limit on the number of losses.
    deadline: Option<Instant>,
    losses: u32,
    sent_at: Instant,
}

impl DaemonRetry {
    /// Repeats a request a limited number of times in a row.
    pub(crate) fn new() -> Self {
        Self { deadline: None, losses: 0, sent_at: Instant::now() }
    }

    pub(crate) fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::new() }
    }

    /// Counts a loss, and pauses. Returns whether the request may be sent again.
    pub(crate) fn another(&mut self) -> bool {
        let healthy = self.sent_at.elapsed() > HEALTHY;
        self.losses = if healthy { 1 } else { self.losses + 1 };
        let allowed = match self.deadline {
            Some(deadline) => Instant::now() < deadline,
            None => self.losses <= LIMIT,
        };
        // A daemon that is about to exit may still accept connections for a moment.
        if allowed && self.losses > 1 {
            // A pause that a signal ends early does no harm.
            poll(&mut [], Some(Instant::now() + PAUSE)).ok();
        }
        self.sent_at = Instant::now();
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_after_many_losses_or_at_the_deadline() {
        let mut retry = DaemonRetry { losses: LIMIT - 1, ..DaemonRetry::new() };
        assert!(retry.another());
        assert!(!retry.another());
        let mut retry = DaemonRetry { losses: LIMIT, ..DaemonRetry::until(Instant::now()) };
        assert!(!retry.another());
        retry.deadline = Some(Instant::now() + HEALTHY);
        assert!(retry.another(), "a deadline replaces the number of losses");
    }

    #[test]
    fn the_loss_of_a_healthy_daemon_starts_the_count_again() {
        let Some(long_ago) = Instant::now().checked_sub(2 * HEALTHY) else { return };
        let mut retry = DaemonRetry { losses: LIMIT, sent_at: long_ago, deadline: None };
        assert!(retry.another());
        assert_eq!(retry.losses, 1);
    }
}
