//! What was seen last in place of the condition, for the event log.

use std::io;
use std::sync::{Mutex, PoisonError};

/// The last observation.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<Option<String>>);

impl Observed {
    pub(super) fn note(&self, what: impl Into<String>) {
        // A panic elsewhere leaves the text intact.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what.into());
    }

    /// Notes the error of an attempt.
    pub(super) fn note_error(&self, error: &io::Error) {
        self.note(match error.kind() {
            io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            io::ErrorKind::NotFound => "no such socket".to_owned(),
            io::ErrorKind::UnexpectedEof => {
                "the connection was closed without an answer".to_owned()
            }
            _ => error.to_string(),
        });
    }

    pub(super) fn last(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_observation_counts_in_plain_words() {
        let observed = Observed::default();
        assert_eq!(observed.last(), None);
        observed.note_error(&io::ErrorKind::NotFound.into());
        assert_eq!(observed.last().as_deref(), Some("no such socket"));
        observed.note_error(&io::Error::from_raw_os_error(111));
        assert_eq!(observed.last().as_deref(), Some("connection refused"));
        observed.note_error(&io::Error::other("the last response was 404"));
        assert_eq!(observed.last().as_deref(), Some("the last response was 404"));
    }
}
