//! Why a request failed.

use std::io;

use kennel_types::SessionView;
use kennel_types::api::ProblemDetails;

use crate::client::SHORT_TIMEOUT;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon responded with an error.
    #[error("{}", .0.detail)]
    Problem(Box<ProblemDetails>),
    /// No daemon is listening.
    #[error("no daemon is running for this home")]
    NoDaemon,
    /// The connection was closed before the response was complete.
    #[error("the daemon closed the connection before it responded")]
    Lost(#[source] io::Error),
    /// The daemon did not respond in time.
    #[error("the daemon did not respond within {} s", SHORT_TIMEOUT.as_secs())]
    Silent,
    /// The response is malformed.
    #[error("the daemon's response is malformed")]
    Garbled(#[source] io::Error),
    /// A system call failed.
    #[error("can't reach the daemon")]
    Call(#[source] io::Error),
}

impl ClientError {
    pub(crate) fn reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => Self::Lost(error),
            io::ErrorKind::InvalidData => Self::Garbled(error),
            _ => Self::Call(error),
        }
    }

    /// Adds the session's name, if it has one, to its id in the error message.
    #[must_use]
    pub fn about(self, session: &SessionView) -> Self {
        match (self, &session.name) {
            (Self::Problem(mut problem), Some(name)) => {
                let both = format!("{name} ({})", session.id);
                problem.detail = replace_word(&problem.detail, &session.id, &both);
                Self::Problem(problem)
            }
            (other, _) => other,
        }
    }

    /// Whether the daemon is gone, so that the request may be repeated when another one runs.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match self {
            Self::NoDaemon | Self::Lost(_) => true,
            // The daemon still accepts connections, but can't serve requests any more.
            Self::Problem(problem) => problem.code == "gone",
            _ => false,
        }
    }

    /// Whether the daemon is gone, or is shutting down and ends all waiting requests.
    #[must_use]
    pub fn is_gone_or_shutting_down(&self) -> bool {
        let leaving = |problem: &ProblemDetails| problem.code == "refused";
        self.is_gone() || matches!(self, Self::Problem(problem) if leaving(problem))
    }
}

/// Replaces a word where it stands alone, and not as a part of a path or of a longer word.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-');
    let joins_after = |rest: &str| {
        let mut next = rest.chars();
        match next.next() {
            // A dot ends a sentence, unless it is part of a file name.
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
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_a_name_only_to_an_id_that_stands_alone() {
        let both = "fix (0abc)";
        let replaced = |text: &str| replace_word(text, "0abc", both);
        assert_eq!(replaced("session 0abc has not ended"), "session fix (0abc) has not ended");
        assert_eq!(
            replaced("0abc, and \"0abc\": 0abc."),
            format!("{both}, and \"{both}\": {both}.")
        );
        for text in [
            "can't remove /home/u/sessions/0abc/journal",
            "in sessions/0abc",
            "0abc/journal",
            "0abc.lock",
            "launch 0abc_2",
            "x0abc and 0abcd",
            "kennel-0abc",
        ] {
            assert_eq!(replaced(text), text);
        }
        assert_eq!(replaced("0abc: can't remove /s/0abc"), "fix (0abc): can't remove /s/0abc");
    }
}
