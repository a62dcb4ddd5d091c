//! Probing a launch of a former daemon.
//!
//! ```text
//! lock free ── an outcome? ── over
//!     │            └ none ── another boot? ── rebooted, else no keeper
//!     └ held ── connect, ask ── the keeper's report
//!                    └ silence ── see `silent`
//! ```

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kennel_core::Probe;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{
    KeeperReport, KeeperRequest, KeeperState, OUTCOME_FILE, Outcome, OutcomeFile, PeerRole,
};
use kennel_sys::identity::ProcessStat;
use kennel_sys::pidfd;
use kennel_types::OwedKind;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use crate::keeper::link::KeeperSocket;
use crate::keeper::lock::{self, Era, NotedPen};
use crate::keeper::process;
use crate::keeper::request::{KeeperConnection, KeeperRequestError};
use crate::keeper::translate::{self, TimeLimits};

pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause between attempts to connect to a keeper that holds its lock and does not listen yet.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct LaunchProbe {
    pub(crate) folder: PathBuf,
    /// The secret that its keeper must know.
    pub(crate) token: String,
    pub(crate) stop_wanted: bool,
    /// Whether its keeper is in a pid namespace of its own, below the yard's child.
    pub(crate) in_namespace: bool,
    /// Whether the machine was restarted since the home's last daemon ran.
    pub(crate) rebooted: bool,
    pub(crate) timeout: Duration,
    pub(crate) limits: TimeLimits,
}

#[derive(Debug)]
pub(crate) struct ProbeResult {
    pub(crate) probe: Probe,
    pub(crate) keeper: Option<FoundKeeper>,
    pub(crate) ended_ms: Option<u64>,
    /// What its keeper could not remove.
    pub(crate) owes: Option<OwedKind>,
    /// When its gate was opened, by a clock that stands still while the machine sleeps.
    pub(crate) opened: Option<std::time::Instant>,
}

#[derive(Debug)]
pub(crate) struct FoundKeeper {
    pub(crate) socket: KeeperSocket,
    /// The yard's child that is the keeper, or its parent.
    pub(crate) pid: i32,
    pub(crate) agent: Option<OwnedFd>,
}

impl From<Probe> for ProbeResult {
    fn from(probe: Probe) -> Self {
        Self { probe, keeper: None, ended_ms: None, owes: None, opened: None }
    }
}

impl LaunchProbe {
    pub(crate) async fn run(self) -> ProbeResult {
        point("daemon.adopt.probe");
        let found = self.look().await;
        point("daemon.adopt.probed");
        found.unwrap_or_else(|error| Probe::Failed { why: error.to_string() }.into())
    }

    async fn look(&self) -> io::Result<ProbeResult> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let lock = lock::look(&self.folder)?;
            if !lock.as_ref().is_some_and(|lock| lock.held) {
                return self.without_keeper(lock.and_then(|lock| lock.origin).map(|(_, era)| era));
            }
            match KeeperConnection::connect(&self.folder) {
                Ok(connection) => return self.ask(connection, deadline).await,
                Err(_) if Instant::now() >= deadline => return Ok(self.silent()),
                // It is about to listen, or to end. The queue of a stopped process may be full.
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// No keeper exists or will exist.
    fn without_keeper(&self, era: Option<Era>) -> io::Result<ProbeResult> {
        if let Some(outcome) = OutcomeFile::read(&self.folder.join(OUTCOME_FILE))? {
            let pen = match lock::read_note(&self.folder)?.and_then(|note| note.pen) {
                Some(NotedPen::Cgroup(path)) => Some(path.display().to_string()),
                Some(NotedPen::Subtree) | None => None,
            };
            return Ok(found_outcome(&outcome, pen.as_deref(), self.limits));
        }
        let is_past = era.map_or(self.rebooted, |era| era == Era::Other);
        Ok(if is_past { Probe::Rebooted } else { Probe::NoKeeper }.into())
    }

    /// The keeper lives and does not answer. That is no reason to end a session without a stop
    /// request; but a stop does not wait for such a keeper.
    fn silent(&self) -> ProbeResult {
        let why = "its keeper does not answer".into();
        if self.stop_wanted { Probe::Silent } else { Probe::Failed { why } }.into()
    }

    async fn ask(
        &self,
        connection: KeeperConnection,
        deadline: Instant,
    ) -> io::Result<ProbeResult> {
        let peer = connection.peer()?;
        let half = Instant::now() + deadline.saturating_duration_since(Instant::now()) / 2;
        let answered = {
            let mut answer = std::pin::pin!(state_of(&connection));
            match timeout_at(half, &mut answer).await {
                Err(_) => {
                    wake(peer, &connection)?;
                    timeout_at(deadline, &mut answer).await
                }
                answered => answered,
            }
        };
        let (token, mut state, agent) = match answered {
            Err(_) => {
                // A task that ends the pen without the keeper identifies it by this connection.
                let pid = self.child_of_yard(peer)?;
                let socket = connection.into_socket();
                let keeper = Some(FoundKeeper { socket, pid, agent: None });
                return Ok(ProbeResult { keeper, ..self.silent() });
            }
            // It has just ended, or is another program: the next probe will show it.
            Ok(Err(error)) => return Ok(Probe::Failed { why: error.to_string() }.into()),
            Ok(Ok(answer)) => answer,
        };
        if token != self.token {
            let why = "the keeper of another launch answers in its folder".to_owned();
            return Ok(Probe::Failed { why }.into());
        }
        if let Some(agent) = &agent {
            state.identity = state.identity.map(|agents| agents.seen_from_here(agent.as_fd()));
        }
        let pid = self.child_of_yard(peer)?;
        let keeper = Some(FoundKeeper { socket: connection.into_socket(), pid, agent });
        let pen = state.cgroup.as_ref().map(|path| path.display().to_string());
        let opened = state.open_for_ms.map(Duration::from_millis);
        let opened = opened.and_then(|ago| std::time::Instant::now().checked_sub(ago));
        let found = match &state.outcome {
            Some(outcome) => found_outcome(outcome, pen.as_deref(), self.limits),
            None => translate::probe(&state, self.limits).into(),
        };
        Ok(ProbeResult { keeper, opened, ..found })
    }

    /// Returns the yard's child: for a keeper in a pid namespace of its own that is its parent.
    fn child_of_yard(&self, peer: i32) -> io::Result<i32> {
        if !self.in_namespace {
            return Ok(peer);
        }
        Ok(ProcessStat::read(peer)?.map_or(peer, |stat| stat.parent))
    }
}

async fn state_of(
    connection: &KeeperConnection,
) -> Result<(String, Box<KeeperState>, Option<OwnedFd>), KeeperRequestError> {
    let token = connection.greet(PeerRole::Daemon).await?;
    connection.send(&KeeperRequest::Status).await?;
    connection
        .wait_for(|report, mut descriptors| match report {
            KeeperReport::State(state) => Some((token.clone(), state, descriptors.pop())),
            _ => None,
        })
        .await
}

fn wake(peer: i32, connection: &KeeperConnection) -> io::Result<()> {
    if let Some(handle) = process::open(peer, connection.as_fd())? {
        let _woken_or_gone = pidfd::send(handle, Signal::CONT)?;
    }
    Ok(())
}

fn found_outcome(outcome: &Outcome, pen: Option<&str>, limits: TimeLimits) -> ProbeResult {
    let (exit, reason) = translate::end_of(outcome, limits);
    let (ended_ms, owes) = (Some(outcome.ended_ms), translate::owed(outcome, pen));
    ProbeResult { ended_ms, owes, ..Probe::Over { exit, reason }.into() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kennel_keeper::protocol::Cause;
    use kennel_pen::Status;
    use kennel_types::Exit;

    use rustix::fd::AsFd;

    use super::*;

    fn search(folder: &Path) -> LaunchProbe {
        LaunchProbe {
            folder: folder.to_owned(),
            token: "t".into(),
            limits: TimeLimits::default(),
            stop_wanted: false,
            in_namespace: false,
            rebooted: false,
            timeout: Duration::from_millis(50),
        }
    }

    fn me() -> kennel_sys::identity::ProcessIdentity {
        let pid = rustix::process::getpid().as_raw_pid();
        let pidfd = pidfd::open(pid).unwrap().unwrap();
        kennel_sys::identity::ProcessIdentity::new(pidfd.as_fd(), pid).unwrap()
    }

    #[tokio::test]
    async fn a_free_lock_means_no_keeper_and_an_outcome_counts() {
        let folder = tempfile::tempdir().unwrap();
        let probe = |search: LaunchProbe| async { search.run().await.probe };
        assert_eq!(probe(search(folder.path())).await, Probe::NoKeeper);
        let rebooted_probe = LaunchProbe { rebooted: true, ..search(folder.path()) };
        assert_eq!(probe(rebooted_probe).await, Probe::Rebooted);
        drop(lock::make(folder.path(), &me()).unwrap());
        let ours = LaunchProbe { rebooted: true, ..search(folder.path()) };
        assert_eq!(probe(ours).await, Probe::NoKeeper, "the launch itself is of this boot");
        let file = OutcomeFile::reserve(&folder.path().join(OUTCOME_FILE)).unwrap();
        assert_eq!(probe(search(folder.path())).await, Probe::NoKeeper, "only room for one");
        let outcome = Outcome {
            status: Some(Status::Code(7)),
            cause: Cause::Ended,
            ended_ms: 99,
            cpu: Duration::ZERO,
            folder_left: false,
        };
        file.write(&outcome).unwrap();
        let found = search(folder.path()).run().await;
        assert_eq!(found.probe, Probe::Over { exit: Exit::Code { code: 7 }, reason: None });
        assert_eq!(found.ended_ms, Some(99));
    }

    #[tokio::test]
    async fn a_lock_from_another_boot_means_a_reboot() {
        let folder = tempfile::tempdir().unwrap();
        let boot = "00000000-0000-0000-0000-000000000000".to_owned();
        let yard = kennel_sys::identity::ProcessIdentity { boot, ..me() };
        drop(lock::make(folder.path(), &yard).unwrap());
        assert_eq!(search(folder.path()).run().await.probe, Probe::Rebooted);
    }

    #[tokio::test]
    async fn a_failed_probe_proves_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = search(file.path()).run().await;
        assert!(matches!(found.probe, Probe::Failed { .. }), "{found:?}");
    }

    #[tokio::test]
    async fn a_silent_keeper_is_ended_only_if_a_stop_was_requested() {
        let folder = tempfile::tempdir().unwrap();
        let _held = lock::make(folder.path(), &me()).unwrap();
        let found = search(folder.path()).run().await;
        assert!(matches!(found.probe, Probe::Failed { .. }), "{found:?}");
        let wanted = LaunchProbe { stop_wanted: true, ..search(folder.path()) };
        assert_eq!(wanted.run().await.probe, Probe::Silent);
    }
}
