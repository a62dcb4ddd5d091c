//! Connection attempts, repeated until one succeeds.

use std::future::Future;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fd::AsRawFd;
use rustix::fs::{Mode, OFlags};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::observed::Observed;

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The first pause after a failed attempt; it doubles …
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// … up to this: a local connection is cheap, and a client waits.
const LAST_PAUSE: Duration = Duration::from_millis(300);

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

/// Connects to a socket.
pub(super) async fn socket(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    // By a descriptor of its folder, however long the path is.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    UnixStream::connect(short).await.map(drop)
}

/// Connects to a port.
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
        let inside = rustix::fs::open(&deep, OFlags::PATH, Mode::empty()).unwrap();
        let short = format!("/proc/self/fd/{}/a.sock", inside.as_raw_fd());
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
}
