//! A home for the benchmark, with its yard and its daemon.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kennel_keeper::YardClient;
use kennel_keeper::protocol::{YardReport, YardRequest};
use kennel_pen::HomeId;
use kennel_types::Phase;
use kennel_types::api::{DaemonView, PruneResponse};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, WaitOptions, waitpid};
use serde::Deserialize;

use kennel_testing::HttpClient;

/// A step that takes longer has failed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// The fields of a session that the benchmarks use.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SessionBrief {
    pub(crate) id: String,
    pub(crate) phase: Phase,
    pub(crate) exit_code: Option<i32>,
    pub(crate) folder: PathBuf,
    pub(crate) pid: Option<i32>,
}

/// A page of the list of sessions. All sessions of a benchmark fit on the first one.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionBriefPage {
    pub(crate) sessions: Vec<SessionBrief>,
}

/// A home with a running daemon.
pub(crate) struct BenchHome {
    pub(crate) folder: PathBuf,
    pub(crate) id: HomeId,
    pub(crate) yard: i32,
    /// A pidfd, to wait for its end.
    yard_handle: OwnedFd,
}

/// Returns the measured program: beside this one, where cargo puts both.
pub(crate) fn program() -> Result<PathBuf> {
    let me = std::env::current_exe().context("finding my own program")?;
    let path = me.with_file_name("kennel");
    ensure!(
        path.is_file(),
        "{} is missing: cargo build --profile dist -p kennel (with the same --target-dir)",
        path.display()
    );
    Ok(path)
}

impl BenchHome {
    /// Creates the home, and starts yard and daemon.
    pub(crate) fn start(folder: PathBuf) -> Result<Self> {
        let started = Command::new(program()?)
            .arg("--home")
            .arg(&folder)
            .args(["daemon", "start"])
            .stdin(Stdio::null())
            .output()
            .context("starting the daemon")?;
        let stderr = String::from_utf8_lossy(&started.stderr);
        ensure!(started.status.success(), "the daemon did not start: {stderr}");
        let view: DaemonView = HttpClient::connect(&folder)?.get("/v1/daemon")?;
        let yard = view.yard_pid.context("a daemon has a yard")?;
        let yard_handle = kennel_sys::pidfd::open(yard)?.context("the yard is gone")?;
        Ok(Self { folder, id: HomeId::parse(&view.home_id)?, yard, yard_handle })
    }

    /// Opens a new connection to the daemon.
    pub(crate) fn connect(&self) -> Result<HttpClient> {
        HttpClient::connect(&self.folder)
    }

    /// Returns the daemon's pid.
    pub(crate) fn daemon(&self) -> Result<i32> {
        Ok(self.connect()?.get::<DaemonView>("/v1/daemon")?.pid)
    }

    /// Asks the yard for the pids of its daemon and its keepers. With `start` it starts a daemon if
    /// none runs.
    pub(crate) fn ask_yard(&self, start: bool) -> Result<(Option<i32>, Vec<i32>)> {
        let yard = YardClient::connect(&self.folder).context("the yard does not listen")?;
        let request = if start { YardRequest::Start } else { YardRequest::Status };
        yard.send(&request)?;
        let deadline = Instant::now() + LONG;
        loop {
            match yard.receive()? {
                Some((YardReport::Status { daemon, keepers, .. }, _)) => {
                    return Ok((daemon, keepers));
                }
                Some(_) => {}
                None => wait_readable(&yard, deadline)?,
            }
        }
    }

    /// Waits until no session is left. (Spare keepers may be.)
    pub(crate) fn until_idle(&self) -> Result<()> {
        let deadline = Instant::now() + LONG;
        let mut client = self.connect()?;
        while client.get::<DaemonView>("/v1/daemon")?.live > 0 {
            ensure!(Instant::now() < deadline, "sessions are left in {}", self.folder.display());
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Removes all sessions that are over; returns how many.
    pub(crate) fn prune(&self) -> Result<usize> {
        let answer: PruneResponse = self.connect()?.post("/v1/prune", b"{}")?;
        Ok(answer.removed.len())
    }

    /// Returns the number of session folders.
    pub(crate) fn folders(&self) -> Result<usize> {
        Ok(fs::read_dir(self.folder.join("sessions"))?.count())
    }

    /// Ends all sessions, daemon and yard, and removes the folder. Returns how long the end took.
    pub(crate) fn stop(self) -> Result<Duration> {
        let begun = Instant::now();
        let lines = self.connect()?.request("POST", "/v1/daemon/stop", br#"{"grace_ms":0}"#)?;
        let lines = String::from_utf8_lossy(&lines.body).into_owned();
        ensure!(lines.contains("\"done\":true"), "the daemon did not end everything: {lines}");
        ensure!(!lines.contains("still_alive"), "some sessions could not be ended: {lines}");
        wait_readable(&self.yard_handle, Instant::now() + LONG)?;
        let took = begun.elapsed();
        // It became a child of this process when the client that started it ended.
        let yard = Pid::from_raw(self.yard).context("no pid")?;
        match waitpid(Some(yard), WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::CHILD) => {}
            Err(error) => return Err(error).context("waiting for the yard"),
        }
        fs::remove_dir_all(&self.folder).context("removing the home")?;
        Ok(took)
    }
}

/// Waits until a descriptor is readable: there is data, or a process has ended.
pub(crate) fn wait_readable(what: &impl AsFd, deadline: Instant) -> Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let limit =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut [PollFd::new(what, PollFlags::IN)], Some(&limit)) {
            Ok(0) => bail!("no data within {} s", LONG.as_secs()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs a session from the request to `Cleaned`; fails unless it succeeds.
pub(crate) fn run_session(client: &mut HttpClient, request: &[u8]) -> Result<()> {
    let over: SessionBrief = client.post("/v1/sessions?until=over", request)?;
    ensure!(
        over.phase == Phase::Cleaned && over.exit_code == Some(0),
        "unexpected end of a session: {over:?}"
    );
    Ok(())
}

/// Starts a session; fails unless it runs.
pub(crate) fn start_session(client: &mut HttpClient, request: &[u8]) -> Result<SessionBrief> {
    let session: SessionBrief = client.post("/v1/sessions", request)?;
    ensure!(session.phase == Phase::Running, "a session does not run: {session:?}");
    Ok(session)
}

/// Ends a session at once, and removes it.
pub(crate) fn discard_session(client: &mut HttpClient, session: &SessionBrief) -> Result<()> {
    let path = format!("/v1/sessions/{}", session.id);
    client.send("POST", &format!("{path}/stop"), br#"{"now":true}"#)?;
    client.send("DELETE", &path, b"")
}

/// Starts this many sessions, several at once.
pub(crate) fn start_many(
    home: &BenchHome,
    request: &[u8],
    count: usize,
) -> Result<Vec<SessionBrief>> {
    const AT_ONCE: usize = 8;
    let parts = std::thread::scope(|scope| {
        let starters: Vec<_> = (0..AT_ONCE)
            .map(|index| {
                scope.spawn(move || -> Result<Vec<SessionBrief>> {
                    let mut client = home.connect()?;
                    let own = count / AT_ONCE + usize::from(index < count % AT_ONCE);
                    (0..own).map(|_| start_session(&mut client, request)).collect()
                })
            })
            .collect();
        starters.into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.concat())
}

/// Returns the result of a thread.
pub(crate) fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|_| bail!("a thread panicked"))
}
