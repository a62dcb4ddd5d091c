//! The way to the daemon: find it, start it if need be, ask it.

mod inside;
mod start;
mod stdin_handoff;

use std::time::{Duration, Instant};

use kennel_client::Client;
use kennel_types::SessionView;
use kennel_types::api::{DaemonView, ListRequest, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::command_error::CommandError;
use crate::exit_code;
use crate::home::Home;

pub(crate) use inside::{find as find_inside, holds_file_in, value as cookie};
pub(crate) use kennel_client::{
    ClientError as AskError, Lines, Patience, Sent, escape, session_path,
};
pub(crate) use start::{YardStatus, environment, may_start, spawn_yard};
pub(crate) use stdin_handoff::hand_over_stdin;

/// How long a daemon that was sound serves.
const SOUND: Duration = Duration::from_secs(30);
/// How often in a row one who waits for something looks for a daemon that has vanished …
const MOST_LOSSES: u32 = 50;
/// … and the pause before each.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What to do if no daemon runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartDaemon {
    /// Start one.
    IfNeeded,
    /// Say so.
    Never,
}

impl From<AskError> for CommandError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Problem(problem) => {
                let Problem { code, detail, hint, .. } = *problem;
                let number =
                    if code == "internal" { exit_code::INTERNAL } else { exit_code::REFUSED };
                let failure = Self::because(number, detail);
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
            AskError::NoDaemon => {
                Self::new(exit_code::SETUP, error).hint("`kennel daemon start` starts one")
            }
            AskError::Silent => Self::internal(error)
                .hint("`kennel daemon logs` may say why; `kennel rescue` works without it"),
            other => Self::internal(other),
        }
    }
}

/// The daemon of a home.
#[derive(Debug)]
pub(crate) struct DaemonClient {
    home: Home,
    client: Client,
    start: StartDaemon,
}

impl DaemonClient {
    /// Finds the daemon of this home.
    pub(crate) fn connect(home: &Home, start: StartDaemon) -> Result<Self, CommandError> {
        let daemon = Self { start, ..Self::expected(home) };
        match (daemon.client.dial(), start) {
            (Ok(()), _) => Ok(daemon),
            (Err(AskError::NoDaemon), StartDaemon::IfNeeded) => {
                start::bring_up(home)?;
                Ok(daemon)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// The daemon of this home, which is there or soon will be: nobody starts one.
    pub(crate) fn expected(home: &Home) -> Self {
        let client = Client::of_home(&home.folder);
        Self { home: home.clone(), client, start: StartDaemon::Never }
    }

    /// Looks for a daemon that has vanished: the yard starts it again, or we do if we may.
    pub(crate) fn find_again(&self) -> Result<(), CommandError> {
        match (self.client.dial(), self.start) {
            (Ok(()), _) => Ok(()),
            (Err(AskError::NoDaemon), StartDaemon::IfNeeded) => start::bring_up(&self.home),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// The same after a moment: one that leaves may still listen.
    pub(crate) fn find_again_later(&self) -> Result<(), CommandError> {
        start::pause(&[], LOOK_AGAIN);
        self.find_again()
    }

    /// Asks for something that the daemon knows, over restarts of it.
    fn read<T>(&self, ask: impl Fn(&Client) -> Result<T, AskError>) -> Result<T, AskError> {
        let mut losses = 0;
        loop {
            match ask(&self.client) {
                // Nothing is changed by asking again.
                Err(error) if error.is_gone() && losses < MOST_LOSSES => {
                    if losses > 0 {
                        // One that leaves may still listen for a moment.
                        start::pause(&[], LOOK_AGAIN);
                    }
                    losses += 1;
                    if self.find_again().is_err() {
                        return Err(error);
                    }
                }
                answer => return answer,
            }
        }
    }

    /// The same, of whatever is at this path.
    pub(crate) fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, AskError> {
        self.read(|client| client.get(target))
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Sent, AskError> {
        self.client.send(method, target, body, patience)
    }

    /// Asks for something to be done.
    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, AskError> {
        self.client.post(target, body)
    }

    /// The same, if the answer is of no interest.
    pub(crate) fn tell(&self, target: &str, body: &impl Serialize) -> Result<(), AskError> {
        self.client.tell(target, body)
    }

    /// Removes something.
    pub(crate) fn delete(&self, target: &str) -> Result<(), AskError> {
        self.client.delete(target)
    }

    /// Lines as they come.
    pub(crate) fn lines<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Lines<T>, AskError> {
        self.client.lines(method, target, body)
    }

    /// The daemon itself.
    pub(crate) fn view(&self) -> Result<DaemonView, AskError> {
        self.read(Client::daemon)
    }

    /// One session, by id, unique beginning of an id, or name.
    pub(crate) fn session(&self, reference: &str) -> Result<SessionView, AskError> {
        self.read(|client| client.session(reference))
    }

    /// All sessions, or all that are not over.
    pub(crate) fn sessions(&self, all: bool) -> Result<Vec<SessionView>, AskError> {
        let wish = ListRequest { all, ..ListRequest::default() };
        self.read(|client| client.sessions(&wish))
    }

    /// Waits until the session has settled, over restarts of the daemon.
    pub(crate) fn wait(&self, reference: &str) -> Result<SessionView, CommandError> {
        let mut losses = 0;
        loop {
            let asked_at = Instant::now();
            match self.client.wait(reference) {
                Ok(session) => return Ok(session),
                Err(error) if error.is_gone_or_leaving() => {
                    // One that served for a while was sound; one that goes again and again is not.
                    losses = if asked_at.elapsed() > SOUND { 1 } else { losses + 1 };
                    if losses > MOST_LOSSES {
                        return Err(error.into());
                    }
                    start::pause(&[], LOOK_AGAIN);
                    self.find_again()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
