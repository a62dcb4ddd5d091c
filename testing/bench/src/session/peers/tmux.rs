//! tmux: a separate server, with one session that keeps it alive.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::fd::OwnedFd;

use super::{Peer, Started, at_once, exists};
use crate::session::guard::{CleanupGuard, CleanupItem};
use crate::session::home::{LONG, wait_readable};
use crate::session::serial::TRUE;

/// A running tmux server.
pub(crate) struct Tmux {
    socket: PathBuf,
    /// A pidfd, to wait for its end.
    server: Option<OwnedFd>,
}

impl Tmux {
    /// Starts the server.
    pub(crate) fn start(guard: &mut CleanupGuard, scratch: &Path) -> Result<Started<Self>> {
        if !exists("tmux", "-V") {
            return Ok(Err("it is not installed".to_owned()));
        }
        let mut tmux = Self { socket: scratch.join("tmux"), server: None };
        guard.announce(CleanupItem::Tmux, &tmux.socket)?;
        tmux.run(&["new-session", "-d", "-s", "base", "exec sleep infinity"])?;
        let mut ask = tmux.command(&["display-message", "-p", "#{pid}"]);
        let answer = ask.stdout(Stdio::piped()).output()?;
        let pid = String::from_utf8_lossy(&answer.stdout).trim().parse().context("no pid")?;
        tmux.server = kennel_sys::pidfd::open(pid)?;
        Ok(Ok(tmux))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(&self.socket).args(words);
        // The shell that runs the programs.
        command.env("SHELL", "/bin/sh").env_remove("TMUX");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Result<()> {
        let status = self.command(words).status()?;
        ensure!(status.success(), "tmux {words:?}: {status}");
        Ok(())
    }

    /// Runs one session of `/bin/true`.
    pub(crate) fn new_session(&self) -> Result<()> {
        self.run(&["new-session", "-d", TRUE])
    }

    /// Waits until only the first session is left.
    pub(crate) fn until_idle(&self) -> Result<()> {
        let deadline = Instant::now() + LONG;
        loop {
            let mut list = self.command(&["list-sessions"]);
            let output = list.stdout(Stdio::piped()).output()?;
            ensure!(output.status.success(), "tmux list-sessions: {}", output.status);
            if String::from_utf8_lossy(&output.stdout).lines().count() == 1 {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "sessions of tmux are left");
        }
    }

    /// Ends the server.
    pub(crate) fn stop(self) -> Result<()> {
        self.run(&["kill-server"])?;
        match &self.server {
            Some(server) => wait_readable(server, Instant::now() + LONG),
            None => Ok(()),
        }
    }
}

impl Peer for &Tmux {
    fn name(&self) -> String {
        "tmux new-session -d".to_owned()
    }

    fn batch(&self) -> usize {
        100
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let begun = Instant::now();
        at_once(count, || Ok(()), |(), _| self.new_session())?;
        self.until_idle()?;
        Ok(begun.elapsed())
    }
}
