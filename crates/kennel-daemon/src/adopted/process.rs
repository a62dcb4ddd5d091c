//! A process that a user started: found, followed, and ended on request, always by a handle to that very process and never
//! by its pid.
//!
//! Only the parent of a process can collect its exit status; a recent kernel reports it to others once the parent has done
//! so. If the parent takes too long, the session counts as reaped with an unknown status: the process has ended.

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
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use crate::keeper::translate;
use crate::os::async_fd;
use crate::os::home::TOKEN_FILE;
use crate::os::proc;

/// How long the parent may take to reap it before the end is reported without a status …
const REAPED_SOON: Duration = Duration::from_secs(1);
/// … and how long the status is awaited from there on. Init or a busy parent may be slow.
const REAPED_LATE: Duration = Duration::from_secs(9);
/// How long it may take to die of a KILL before the survivor is reported; it doubles each time …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … up to this.
const LAST_PAUSE: Duration = Duration::from_secs(30);

const GONE: &str = "it ended while it was not followed, and its pid may have been reused";
const UNTOLD: &str = "a user started it, and only its parent was told how it ended";

/// A handle that becomes readable when the process has ended.
pub(crate) type Handle = Arc<AsyncFd<OwnedFd>>;

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct Errand(AbortHandle);

impl Errand {
    pub(crate) fn begin(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task).abort_handle())
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The input of a probe.
#[derive(Debug)]
pub(crate) struct Look {
    /// The process, as it is on record.
    pub(crate) identity: Option<String>,
    /// The folder for the token file.
    pub(crate) folder: PathBuf,
    /// The secret for its reports.
    pub(crate) token: String,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub(crate) rebooted: bool,
}

/// The result of a probe.
#[derive(Debug)]
pub(crate) struct Sighting {
    pub(crate) probe: Probe,
    /// A handle, if the process exists.
    pub(crate) handle: Option<Handle>,
}

impl From<Probe> for Sighting {
    fn from(probe: Probe) -> Self {
        Self { probe, handle: None }
    }
}

impl Look {
    /// Probes the process; a failure proves nothing.
    pub(crate) async fn run(self) -> Sighting {
        point("daemon.terminal.look");
        let failed = |error: &dyn std::fmt::Display| Probe::Failed { why: error.to_string() };
        let looked = spawn_blocking(move || self.look()).await;
        let (identity, handle) = match looked {
            Ok(Ok(Ok(found))) => found,
            Ok(Ok(Err(probe))) => return probe.into(),
            Ok(Err(error)) => return failed(&error).into(),
            Err(error) => return failed(&error).into(),
        };
        match async_fd::watch_readable(handle) {
            Ok(handle) => {
                let (pid, identity) = (identity.pid, identity.to_record());
                let probe = Probe::Running { identity, pid, pen: None, ending: false, exit: None };
                Sighting { probe, handle: Some(Arc::new(handle)) }
            }
            Err(error) => failed(&error).into(),
        }
    }

    /// The process, and a handle on it; or what became of it. What it needs for its reports is there then.
    fn look(&self) -> io::Result<Result<(ProcessIdentity, OwnedFd), Probe>> {
        let identity = self.identity.as_deref().and_then(ProcessIdentity::parse);
        let identity = identity.ok_or_else(|| io::Error::other("nobody knows which process"))?;
        if self.rebooted || identity.boot != boot_id()? {
            return Ok(Err(Probe::Rebooted));
        }
        let alive = match identity.open()? {
            Some(handle) if !pidfd::has_ended(handle.as_fd())? => Some(handle),
            _ => None,
        };
        let Some(handle) = alive else {
            let exit = Exit::Unknown { why: GONE.to_owned() };
            return Ok(Err(Probe::Over { exit, reason: None }));
        };
        leave_token(&self.folder, &self.token)?;
        point("daemon.terminal.files_made");
        Ok(Ok((identity, handle)))
    }
}

/// Writes the token so that only the owner can read it from the first moment on. A file that a crash left half written is
/// completed; a complete one is left alone, so that readers always see all of it.
fn leave_token(folder: &Path, token: &str) -> io::Result<()> {
    let path = folder.join(TOKEN_FILE);
    if fs::read(&path).is_ok_and(|there| there == token.as_bytes()) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(token.as_bytes())
}

/// Waits until the process has ended, and returns its status if the kernel reports it. If its parent takes long to reap
/// it, `tell` gets the end without a status first.
pub(crate) async fn follow(handle: Handle, tell: impl FnOnce(Event)) -> Event {
    ended(&handle).await;
    point("daemon.terminal.ended");
    let mut told = timeout(REAPED_SOON, reaped(&handle)).await;
    // An older kernel reports it only to the parent.
    if told.is_err() && pidfd::tells_more() {
        tell(Event::Exited { exit: untold() });
        told = timeout(REAPED_LATE, reaped(&handle)).await;
    }
    gone(told.ok().flatten())
}

/// Returns the end after a stop: the client that requested it does not wait long for the status.
pub(crate) async fn gone_soon(handle: Handle) -> Event {
    gone(timeout(REAPED_SOON, reaped(&handle)).await.ok().flatten())
}

fn gone(exit: Option<Exit>) -> Event {
    Event::Gone { exit: exit.unwrap_or_else(untold), reason: None }
}

fn untold() -> Exit {
    Exit::Unknown { why: UNTOLD.to_owned() }
}

/// Waits until the process has ended with all its threads.
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
        let told = pidfd::ended(handle);
        if gone || told.is_some() {
            return told.map(translate::exit_by_kernel);
        }
        guard.clear_ready();
    }
}

/// Ends the process and no other: TERM, and KILL after the grace. Reports the survivor as long as it lives.
pub(crate) async fn end(handle: Handle, pid: i32, grace: Duration, tell: impl Fn(Vec<Survivor>)) {
    point("daemon.terminal.end");
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
        tell(left.into_iter().collect());
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

fn send(handle: &Handle, signal: Signal) {
    match pidfd::send(handle.get_ref(), signal) {
        Ok(SignalDelivery::Yes | SignalDelivery::Gone) => {}
        Ok(SignalDelivery::NotPermitted) => {
            tracing::warn!(?signal, "a process may not be signalled")
        }
        Err(error) => tracing::warn!(%error, ?signal, "a process can't be signalled"),
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

    fn look(identity: &str, folder: &Path) -> Look {
        let identity = Some(identity.to_owned());
        Look { identity, folder: folder.join("s"), token: "secret".into(), rebooted: false }
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
        if pidfd::tells_more() {
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
        assert!(matches!(event, Event::Gone { exit: Exit::Unknown { .. }, .. }), "{event:?}");
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn waits_for_a_late_parent_and_reports_the_end_first() {
        if !pidfd::tells_more() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (mut child, identity) = sleeper();
        let sighting = look(&identity, folder.path()).run().await;
        child.kill().unwrap();
        let (meanwhile, told) = tokio::sync::oneshot::channel();
        let following = tokio::spawn(follow(sighting.handle.unwrap(), |event| {
            meanwhile.send(event).unwrap();
        }));
        let told = told.await.unwrap();
        assert!(matches!(told, Event::Exited { exit: Exit::Unknown { .. } }), "{told:?}");
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
            let sighting = Look { rebooted, ..look(&identity, folder.path()) }.run().await;
            assert!(sighting.handle.is_none());
            assert!(matches!(sighting.probe, Probe::Over { .. } | Probe::Rebooted));
        }
        let failed = Look { identity: None, ..look("", folder.path()) }.run().await;
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
