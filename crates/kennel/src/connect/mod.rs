//! The way to the daemon: find it, start it if need be, ask it.

mod deposit;
mod http;
mod inside;
mod socket;
mod start;

use std::io;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use kennel_core::SessionView;
use kennel_core::api::{DaemonView, Problem, SessionPage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit_code;
use crate::failure::Failure;
use crate::home::Home;

pub(crate) use deposit::leave_stdin;
pub(crate) use http::escape;
pub(crate) use inside::{find as find_inside, holds_file_in, value as cookie};
pub(crate) use start::{Yard, environment, may_start, spawn_yard};

/// The daemon's socket in the home.
const SOCKET: &str = "kennel.sock";
/// How long an answer may take that waits for nothing but the daemon.
const SHORTLY: Duration = Duration::from_secs(30);
/// How often in a row one who waits for something looks for a daemon that has vanished …
const MOST_LOSSES: u32 = 50;
/// … and the pause before each.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What to do if no daemon runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Start one.
    IfNeeded,
    /// Say so.
    Never,
}

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as a daemon in good health may take.
    Short,
    /// Until it comes: the daemon waits for something itself.
    Endless,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// The daemon said no.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// No daemon listens.
    #[error("no daemon runs for this home")]
    NoDaemon,
    /// It went away in the middle.
    #[error("the daemon went away before it had answered")]
    Lost(#[source] io::Error),
    /// It does not answer.
    #[error("the daemon has not answered for {} s", SHORTLY.as_secs())]
    Silent,
    /// It said something that makes no sense.
    #[error("the daemon's answer makes no sense")]
    Garbled(#[source] io::Error),
    /// A call failed here.
    #[error("can't reach the daemon")]
    Call(#[source] io::Error),
}

impl AskError {
    fn reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Self::Lost(error),
            io::ErrorKind::InvalidData => Self::Garbled(error),
            _ => Self::Call(error),
        }
    }

    fn is_no_daemon(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
    }

    /// Told with the name that people gave the session, beside its id.
    pub(crate) fn about(self, session: &SessionView) -> Self {
        match (self, &session.name) {
            (Self::Problem(mut problem), Some(name)) => {
                let both = format!("{name} ({})", session.id);
                problem.detail = replace_word(&problem.detail, &session.id, &both);
                Self::Problem(problem)
            }
            (other, _) => other,
        }
    }

    /// Whether the daemon has vanished, and may be asked again when it is back.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::NoDaemon | Self::Lost(_) => true,
            // Its last words: nobody is behind its socket any more.
            Self::Problem(problem) => problem.code == "gone",
            _ => false,
        }
    }

    /// The same, or it is about to go and lets go of those who wait.
    pub(crate) fn is_gone_or_leaving(&self) -> bool {
        let leaving = |problem: &Problem| problem.code == "refused";
        self.is_gone() || matches!(self, Self::Problem(problem) if leaving(problem))
    }
}

impl From<AskError> for Failure {
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

/// A request on its way, and an answer.
pub(crate) type Sent = http::Sent<UnixStream>;
/// Lines of an answer, as they come.
pub(crate) type Lines<T> = http::Lines<T, UnixStream>;

/// The daemon of a home.
#[derive(Debug)]
pub(crate) struct Daemon {
    home: Home,
    start: Start,
}

impl Daemon {
    /// Finds the daemon of this home.
    pub(crate) fn connect(home: &Home, start: Start) -> Result<Self, Failure> {
        let daemon = Self { home: home.clone(), start };
        match (daemon.dial(), start) {
            (Ok(_), _) => Ok(daemon),
            (Err(AskError::NoDaemon), Start::IfNeeded) => {
                start::bring_up(home)?;
                Ok(daemon)
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// The daemon of this home, which is there or soon will be: nobody starts one.
    pub(crate) fn expected(home: &Home) -> Self {
        Self { home: home.clone(), start: Start::Never }
    }

    fn dial(&self) -> Result<UnixStream, AskError> {
        socket::stream(&self.home.folder, SOCKET).map_err(|error| {
            if AskError::is_no_daemon(&error) { AskError::NoDaemon } else { AskError::Call(error) }
        })
    }

    /// Looks for a daemon that has vanished: the yard starts it again, or we do if we may.
    pub(crate) fn find_again(&self) -> Result<(), Failure> {
        match (self.dial(), self.start) {
            (Ok(_), _) => Ok(()),
            (Err(AskError::NoDaemon), Start::IfNeeded) => start::bring_up(&self.home),
            (Err(error), _) => Err(error.into()),
        }
    }

    /// The same after a moment: one that leaves may still listen.
    pub(crate) fn find_again_later(&self) -> Result<(), Failure> {
        start::pause(&[], LOOK_AGAIN);
        self.find_again()
    }

    /// Sends a request, and does not wait for the answer: see [`receive`].
    pub(crate) fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Sent, AskError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| AskError::Call(error.into()))?;
        let stream = self.dial()?;
        let limit = (patience == Patience::Short).then_some(SHORTLY);
        stream.set_read_timeout(limit).map_err(AskError::Call)?;
        http::send(stream, method, target, body.as_deref()).map_err(AskError::Call)
    }

    /// Asks for something that the daemon knows.
    pub(crate) fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, AskError> {
        let mut losses = 0;
        loop {
            let answer = self.send("GET", target, None::<&()>, Patience::Short).and_then(receive);
            match answer {
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

    /// Asks for something to be done.
    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, AskError> {
        receive(self.send("POST", target, Some(body), Patience::Short)?)
    }

    /// The same, if the answer is of no interest.
    pub(crate) fn tell(&self, target: &str, body: &impl Serialize) -> Result<(), AskError> {
        accepted(self.send("POST", target, Some(body), Patience::Short)?).map(drop)
    }

    /// Removes something.
    pub(crate) fn delete(&self, target: &str) -> Result<(), AskError> {
        accepted(self.send("DELETE", target, None::<&()>, Patience::Short)?).map(drop)
    }

    /// Lines as they come.
    pub(crate) fn lines<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Lines<T>, AskError> {
        Ok(accepted(self.send(method, target, body, Patience::Endless)?)?.lines())
    }

    /// The daemon itself.
    pub(crate) fn view(&self) -> Result<DaemonView, AskError> {
        self.get("/v1/daemon")
    }

    /// One session, by id, unique beginning of an id, or name.
    pub(crate) fn session(&self, reference: &str) -> Result<SessionView, AskError> {
        self.get(&session_path(reference, ""))
    }

    /// Waits until the session has settled, over restarts of the daemon.
    pub(crate) fn wait(&self, reference: &str) -> Result<SessionView, Failure> {
        let path = session_path(reference, "/wait");
        let mut losses = 0;
        loop {
            let asked_at = Instant::now();
            let sent = self.send("GET", &path, None::<&()>, Patience::Endless);
            match sent.and_then(receive) {
                Ok(session) => return Ok(session),
                Err(error) if error.is_gone_or_leaving() => {
                    // One that served for a while was sound; one that goes again and again is not.
                    losses = if asked_at.elapsed() > SHORTLY { 1 } else { losses + 1 };
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

/// The text with a word of it replaced, where that stands alone: in a path, or in a longer word, it is a part of
/// something else.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    // A sentence may go on right after it, but for a file name with a dot in it.
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-');
    let joins_after = |rest: &str| {
        let mut next = rest.chars();
        match next.next() {
            Some('.') => next.next().is_some_and(char::is_alphanumeric),
            Some(c) => joins(c),
            None => false,
        }
    };
    let mut out = String::new();
    let mut done = 0;
    for (at, found) in text.match_indices(word) {
        let end = at + found.len();
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| joins(c) || c == '.') || joins_after(&text[end..]) {
            continue;
        }
        out.push_str(&text[done..at]);
        out.push_str(by);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

impl Daemon {
    /// All sessions, or all that are not over, page by page.
    pub(crate) fn sessions(&self, all: bool) -> Result<Vec<SessionView>, AskError> {
        let mut sessions = Vec::new();
        let mut after = String::new();
        loop {
            let page: SessionPage = self.get(&format!("/v1/sessions?all={all}{after}"))?;
            sessions.extend(page.sessions);
            match page.next {
                Some(next) => after = format!("&after={next}"),
                None => return Ok(sessions),
            }
        }
    }
}

/// The path of something about a session.
pub(crate) fn session_path(reference: &str, what: &str) -> String {
    format!("/v1/sessions/{}{what}", escape(reference))
}

/// Waits for an answer that is no refusal.
pub(crate) fn accepted(sent: Sent) -> Result<http::Response<UnixStream>, AskError> {
    let response = sent.receive().map_err(AskError::reading)?;
    if (200..300).contains(&response.status) {
        return Ok(response);
    }
    let status = response.status;
    let text = response.bytes().map_err(AskError::reading)?;
    let problem = serde_json::from_slice(&text).unwrap_or_else(|_| Problem {
        code: "internal".to_owned(),
        status,
        detail: format!("the daemon answered with HTTP status {status}"),
        hint: Some("if it is an older one, `kennel daemon restart` brings this version".to_owned()),
        ..Problem::default()
    });
    Err(AskError::Problem(Box::new(problem)))
}

/// Waits for the answer to a request.
pub(crate) fn receive<T: DeserializeOwned>(sent: Sent) -> Result<T, AskError> {
    let text = accepted(sent)?.bytes().map_err(AskError::reading)?;
    serde_json::from_slice(&text).map_err(|error| AskError::Garbled(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_gets_its_name_only_where_it_stands_alone() {
        let both = "fix (0abc)";
        let told = |text: &str| replace_word(text, "0abc", both);
        assert_eq!(told("session 0abc has not ended"), "session fix (0abc) has not ended");
        assert_eq!(told("0abc, and \"0abc\": 0abc."), format!("{both}, and \"{both}\": {both}."));
        for text in [
            "can't remove /home/u/sessions/0abc/journal",
            "in sessions/0abc",
            "0abc/journal",
            "0abc.lock",
            "launch 0abc_2",
            "x0abc and 0abcd",
            "kennel-0abc",
        ] {
            assert_eq!(told(text), text);
        }
        assert_eq!(told("0abc: can't remove /s/0abc"), "fix (0abc): can't remove /s/0abc");
    }
}
