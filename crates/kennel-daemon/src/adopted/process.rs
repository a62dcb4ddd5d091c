//! A process that a user started: found, followed, and ended on request, always by a handle to that
//! very process and never by its pid.
//!
//! Only the parent of a process can collect its exit status; a recent kernel reports it to others
//! once the parent has done so. If the parent takes too long, the session counts as reaped although
//! the process is still a zombie: it has ended and runs nothing, and the exit status in the event
//! log states that its parent has not reaped it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kennel_core::{Event, Probe};
use kennel_keeper::fault::point;
use kennel_sys::identity::{ProcessIdentity, boot_id};
use kennel_sys::pidfd::{self, SignalDelivery};
use kennel_types::{Exit, Survivor};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use crate::keeper::translate;
use crate::os::async_fd;
use crate::os::home::TOKEN_FILE;
use crate::os::{proc, unblocked};

/// How long the parent may take to reap it before the end is reported without a status …
const REAP_TIMEOUT: Duration = Duration::from_secs(1);
/// … and how long the status is awaited from there on. Init or a busy parent may be slow.
const LATE_REAP_TIMEOUT: Duration = Duration::from_secs(9);
/// How long it may take to die of a KILL before the survivor is reported; it doubles each time …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

const GONE: &str = "it ended while it was not followed, and its pid may have been reused";
const UNREPORTED: &str = "a user started it, and the kernel reported its status only to its parent";
const UNREAPED: &str = "it has ended, but its parent has not reaped it yet";

/// A handle that becomes readable when the process has ended.
pub(crate) type Handle = Arc<AsyncFd<OwnedFd>>;

#[derive(Debug)]
pub(crate) struct AdoptedProbe {
    pub(crate) identity: Option<String>,
    /// The folder for the token file.
    pub(crate) folder: PathBuf,
    pub(crate) token: String,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub(crate) rebooted: bool,
}

#[derive(Debug)]
pub(crate) struct AdoptedSighting {
    pub(crate) probe: Probe,
    pub(crate) handle: Option<Handle>,
}

impl From<Probe> for AdoptedSighting {
    fn from(probe: Probe) -> Self {
        Self { probe, handle: None }
    }
}

impl AdoptedProbe {
    /// Probes the process; a failure proves nothing.
    pub(crate) async fn run(self) -> AdoptedSighting {
        point("daemon.adopted.inspect");
        let looked = unblocked(move || self.look()).await;
        let watched = looked.and_then(|found| {
            let (identity, handle) = match found {
                Ok(found) => found,
                Err(probe) => return Ok(probe.into()),
            };
            let handle = Some(Arc::new(async_fd::watch_readable(handle)?));
            let (pid, identity) = (identity.pid, identity.to_record());
            let probe = Probe::Running { identity, pid, pen: None, ending: false, exit: None };
            Ok(AdoptedSighting { probe, handle })
        });
        watched.unwrap_or_else(|error| Probe::Failed { why: error.to_string() }.into())
    }

    /// Returns the process and a handle to it, or what became of it. Its token file exists then.
    fn look(&self) -> io::Result<Result<(ProcessIdentity, OwnedFd), Probe>> {
        let identity = self.identity.as_deref().and_then(ProcessIdentity::parse);
        let identity = identity
            .ok_or_else(|| io::Error::other("the process of this session is not on record"))?;
        if self.rebooted || identity.boot != boot_id()? {
            return Ok(Err(Probe::Rebooted));
        }
        if let Some(handle) = identity.open()?
            && !pidfd::has_ended(handle.as_fd())?
        {
            write_token(&self.folder, &self.token)?;
            point("daemon.adopted.files_made");
            return Ok(Ok((identity, handle)));
        }
        let exit = Exit::Unknown { why: GONE.to_owned() };
        Ok(Err(Probe::Over { exit, reason: None }))
    }
}

/// Writes the token so that only the owner can read it from the first moment on. A file that a
/// crash left half written is completed; a complete one is left alone, so that readers always see
/// all of it.
fn write_token(folder: &Path, token: &str) -> io::Result<()> {
    let path = folder.join(TOKEN_FILE);
    if fs::read(&path).is_ok_and(|there| there == token.as_bytes()) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(token.as_bytes())
}

/// Waits until the process has ended, and returns its status if the kernel reports it. If its
/// parent takes long to reap it, `report` gets the end without a status first.
pub(crate) async fn follow(handle: Handle, report: impl FnOnce(Event)) -> Event {
    ended(&handle).await;
    point("daemon.adopted.ended");
    let mut exit = timeout(REAP_TIMEOUT, reaped(&handle)).await;
    // An older kernel reports it only to the parent.
    if exit.is_err() && pidfd::has_info() {
        report(Event::Exited { exit: unknown(&handle) });
        exit = timeout(LATE_REAP_TIMEOUT, reaped(&handle)).await;
    }
    gone(&handle, exit.ok().flatten())
}

/// Returns the end after a stop: the client that requested it does not wait long for the status.
pub(crate) async fn gone_soon(handle: Handle) -> Event {
    gone(&handle, timeout(REAP_TIMEOUT, reaped(&handle)).await.ok().flatten())
}

fn gone(handle: &Handle, exit: Option<Exit>) -> Event {
    Event::Gone { exit: exit.unwrap_or_else(|| unknown(handle)), reason: None }
}

fn unknown(handle: &Handle) -> Exit {
    let is_zombie = pidfd::exists(handle.get_ref().as_fd());
    Exit::Unknown { why: if is_zombie { UNREAPED } else { UNREPORTED }.to_owned() }
}

async fn ended(handle: &Handle) {
    loop {
        // It fails only if the runtime shuts down.
        let Ok(mut guard) = handle.readable().await else { return std::future::pending().await };
        if matches!(pidfd::has_ended(handle.get_ref().as_fd()), Ok(true)) {
            return;
        }
        guard.clear_ready();
    }
}

/// Waits until the parent has reaped it: then the kernel may report how it ended.
async fn reaped(handle: &Handle) -> Option<Exit> {
    loop {
        // Taken before the check: later changes wake the task again.
        let mut guard = handle.readable().await.ok()?;
        let handle = handle.get_ref().as_fd();
        let gone = !pidfd::exists(handle);
        let status = pidfd::ended(handle);
        if gone || status.is_some() {
            return status.map(translate::exit_by_kernel);
        }
        guard.clear_ready();
    }
}

/// Ends the process and no other: TERM, and KILL after the grace. Reports the survivor as long as
/// it lives.
pub(crate) async fn end(handle: Handle, pid: i32, grace: Duration, report: impl Fn(Vec<Survivor>)) {
    point("daemon.adopted.end");
    if !grace.is_zero() {
        send(&handle, Signal::TERM);
        // A stopped process handles no other signal.
        send(&handle, Signal::CONT);
        if timeout(grace, ended(&handle)).await.is_ok() {
            return;
        }
    }
    let mut pause = FIRST_PAUSE;
    loop {
        send(&handle, Signal::KILL);
        if timeout(pause, ended(&handle)).await.is_ok() {
            return;
        }
        let left = proc::survivor(pid).filter(|_| pidfd::exists(handle.get_ref().as_fd()));
        report(left.into_iter().collect());
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn send(handle: &Handle, signal: Signal) {
    match pidfd::send(handle.get_ref(), signal) {
        Ok(SignalDelivery::Yes | SignalDelivery::Gone) => {}
        Ok(SignalDelivery::NotPermitted) => {
            tracing::warn!(?signal, "not permitted to signal an adopted process")
        }
        Err(error) => tracing::warn!(%error, ?signal, "can't signal an adopted process"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> (Child, String) {
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let handle = pidfd::open(pid).unwrap().unwrap();
        let identity = ProcessIdentity::new(handle.as_fd(), pid).unwrap().to_record();
        (child, identity)
    }

    fn look(identity: &str, folder: &Path) -> AdoptedProbe {
        let identity = Some(identity.to_owned());
        AdoptedProbe { identity, folder: folder.join("s"), token: "secret".into(), rebooted: false }
    }

    #[tokio::test]
    async fn follows_a_process_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut child, identity) = sleeper();
        let sighting = look(&identity, folder.path()).run().await;
        assert!(matches!(sighting.probe, Probe::Running { .. }), "{:?}", sighting.probe);
        let token = folder.path().join("s").join(TOKEN_FILE);
        assert_eq!(fs::read_to_string(&token).unwrap(), "secret");
        assert_eq!(fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
        let following = tokio::spawn(follow(sighting.handle.unwrap(), |_| {}));
        child.kill().unwrap();
        child.wait().unwrap();
        let Event::Gone { exit, reason: None } = following.await.unwrap() else { panic!() };
        if pidfd::has_info() {
            assert_eq!(exit, Exit::Signal { signal: 9, core: false, oom: false });
        }
        let over = look(&identity, folder.path()).run().await;
        assert!(matches!(over.probe, Probe::Over { exit: Exit::Unknown { .. }, .. }), "{over:?}");
        assert!(over.handle.is_none());
    }

    #[tokio::test]
    async fn reports_the_end_of_a_process_that_is_not_reaped() {
        let folder = tempfile::tempdir().unwrap();
        let (mut child, identity) = sleeper();
        let sighting = look(&identity, folder.path()).run().await;
        child.kill().unwrap();
        let event = gone_soon(sighting.handle.clone().unwrap()).await;
        let Event::Gone { exit, reason: None } = event else { panic!("{event:?}") };
        assert_eq!(exit, Exit::Unknown { why: UNREAPED.to_owned() }, "it is a zombie");
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn waits_for_a_late_parent_and_reports_the_end_first() {
        if !pidfd::has_info() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (mut child, identity) = sleeper();
        let sighting = look(&identity, folder.path()).run().await;
        child.kill().unwrap();
        let (meanwhile, reported) = tokio::sync::oneshot::channel();
        let following = tokio::spawn(follow(sighting.handle.unwrap(), |event| {
            meanwhile.send(event).unwrap();
        }));
        let reported = reported.await.unwrap();
        assert!(matches!(reported, Event::Exited { exit: Exit::Unknown { .. } }), "{reported:?}");
        assert!(!following.is_finished());
        child.wait().unwrap();
        let exit = Exit::Signal { signal: 9, core: false, oom: false };
        assert_eq!(following.await.unwrap(), Event::Gone { exit, reason: None });
    }

    #[tokio::test]
    async fn ignores_another_process_with_the_same_pid() {
        let folder = tempfile::tempdir().unwrap();
        let (mut child, identity) = sleeper();
        let (start, _) = identity.rsplit_once(' ').unwrap();
        for (identity, rebooted) in [(format!("{start} 1"), false), (identity.clone(), true)] {
            let sighting = AdoptedProbe { rebooted, ..look(&identity, folder.path()) }.run().await;
            assert!(sighting.handle.is_none());
            assert!(matches!(sighting.probe, Probe::Over { .. } | Probe::Rebooted));
        }
        let failed = AdoptedProbe { identity: None, ..look("", folder.path()) }.run().await;
        assert!(matches!(failed.probe, Probe::Failed { .. }), "{failed:?}");
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn kills_a_process_that_ignores_term_after_its_grace() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM; echo; read x"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _held = child.stdin.take();
        let mut first = [0];
        io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut first).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let opened = pidfd::open(pid).unwrap().unwrap();
        let identity = ProcessIdentity::new(opened.as_fd(), pid).unwrap().to_record();
        let sighting = look(&identity, folder.path()).run().await;
        let ending = end(sighting.handle.unwrap(), pid, Duration::from_millis(50), |_| {});
        ending.await;
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
