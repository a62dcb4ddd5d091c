//! Why there is no answer.

use std::io;

use kennel_types::SessionView;
use kennel_types::api::ProblemDetails;

use crate::client::SHORTLY;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon said no.
    #[error("{}", .0.detail)]
    Problem(Box<ProblemDetails>),
    /// No daemon listens.
    #[error("no daemon is running for this home")]
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

    pub(crate) fn dialling(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::NoDaemon,
            _ => Self::Call(error),
        }
    }

    /// Told with the name that people gave the session, beside its id.
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

    /// Whether the daemon has vanished, and may be asked again when it is back.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        match self {
            Self::NoDaemon | Self::Lost(_) => true,
            // Its last words: nobody is behind its socket any more.
            Self::Problem(problem) => problem.code == "gone",
            _ => false,
        }
    }

    /// The same, or it is about to go and lets go of those who wait.
    #[must_use]
    pub fn is_gone_or_leaving(&self) -> bool {
        let leaving = |problem: &ProblemDetails| problem.code == "refused";
        self.is_gone() || matches!(self, Self::Problem(problem) if leaving(problem))
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
