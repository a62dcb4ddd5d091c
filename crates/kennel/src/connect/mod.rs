//! Finds the daemon of a home, starts it if needed, and sends it requests.

mod inside;
mod retry;
mod start;
mod stdin_handoff;

use kennel_client::Client;
use kennel_types::SessionView;
use kennel_types::api::{DaemonView, ListRequest, ProblemDetails};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command_prelude::*;

pub(crate) use inside::{find as find_inside, holds_file_in, value as cookie};
pub(crate) use kennel_client::{
    ClientError as RequestError, Lines, Patience, Sent, escape, session_path,
};
pub(crate) use retry::DaemonRetry;
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
                let error = Self::because(number, detail);
                match hint {
                    Some(hint) => error.hint(hint),
                    None => error,
                }
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

/// The daemon of a home.
#[derive(Debug)]
pub(crate) struct DaemonClient {
    home: HomeDir,
    client: Client,
    start: StartDaemon,
}

impl DaemonClient {
    /// Connects to the daemon of this home.
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

    /// Makes sure that a daemon listens: the yard restarts it after a crash, or this client starts
    /// it if it may.
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

    /// Fetches the resource at a path.
    pub(crate) fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, RequestError> {
        self.read(|client| client.get(target))
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Sent, RequestError> {
        self.client.send(method, target, body, patience)
    }

    /// Posts a request and returns the response.
    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, RequestError> {
        self.client.post(target, body)
    }

    /// Posts a request whose response has no content.
    pub(crate) fn execute(&self, target: &str, body: &impl Serialize) -> Result<(), RequestError> {
        self.client.tell(target, body)
    }

    /// Deletes the resource at a path.
    pub(crate) fn delete(&self, target: &str) -> Result<(), RequestError> {
        self.client.delete(target)
    }

    /// Reads a response of JSON lines as they arrive.
    pub(crate) fn lines<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Lines<T>, RequestError> {
        self.client.lines(method, target, body)
    }

    /// Fetches the daemon's own status.
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
        let mut retry = DaemonRetry::new();
        loop {
            match self.client.wait(reference) {
                Err(error) if error.is_gone_or_leaving() => self.retry(&mut retry, error)?,
                answer => return answer.map_err(CommandError::from),
            }
        }
    }
}
