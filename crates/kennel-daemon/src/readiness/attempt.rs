//! Connection attempts, repeated until one succeeds.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::os::short_path;

const ATTEMPT: Duration = Duration::from_secs(5);
/// The first pause after a failed attempt; it doubles …
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// … up to this: a local connection is cheap, and a client waits.
const LAST_PAUSE: Duration = Duration::from_millis(300);

/// What was observed last instead of the condition, for the event log.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<Option<String>>);

impl Observed {
    pub(super) fn note(&self, what: impl Into<String>) {
        // A panic elsewhere leaves the text intact.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what.into());
    }

    fn note_error(&self, error: &io::Error) {
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

/// Repeats an attempt until it succeeds. The last error is noted, in case none ever does.
pub(super) async fn until<F: Future<Output = io::Result<()>>>(
    observed: &Observed,
    mut attempt: impl FnMut() -> F,
) {
    let mut pause = FIRST_PAUSE;
    observed.note("no answer");
    loop {
        match timeout(ATTEMPT, attempt()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => observed.note_error(&error),
            Err(_) => observed.note(format!("no answer within {ATTEMPT:?}")),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

pub(super) async fn socket(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let (_folder, short) = short_path(folder, name)?;
    UnixStream::connect(short).await.map(drop)
}

pub(super) async fn tcp(host: &str, port: u16) -> io::Result<()> {
    TcpStream::connect((host, port)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_ready_when_it_accepts_and_not_when_it_only_exists() {
        let folder = tempfile::tempdir().unwrap();
        // Longer than an address may be.
        let deep = folder.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("a.sock");
        assert!(socket(&path).await.is_err());
        let (_folder, short) = short_path(&deep, "a.sock").unwrap();
        let listener = std::os::unix::net::UnixListener::bind(&short).unwrap();
        socket(&path).await.unwrap();
        drop(listener);
        assert!(path.exists());
        assert!(socket(&path).await.is_err(), "no process listens there any more");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a plain file").unwrap();
        assert!(socket(&path).await.is_err());
    }

    #[tokio::test]
    async fn repeats_an_attempt_until_it_succeeds() {
        let mut left = 3;
        let observed = Observed::default();
        until(&observed, || {
            left -= 1;
            let failed = left > 0;
            async move { if failed { Err(io::ErrorKind::NotFound.into()) } else { Ok(()) } }
        })
        .await;
        assert_eq!(left, 0);
        assert_eq!(observed.last().as_deref(), Some("no such socket"));
    }

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
