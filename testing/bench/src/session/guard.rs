//! A process that cleans up when the benchmark ends, however it ends.
//!
//! The benchmark announces each thing before it creates it, over a pipe that closes when the
//! benchmark ends.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{disk, home};

/// The hidden argument of the guard.
pub(crate) const ARGUMENT: &str = "__guard";

/// What has to be cleaned up, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CleanupItem {
    /// A home, with its processes.
    Home,
    /// A server that ends at TERM, by its pid file.
    Server,
    /// A tmux server, by its socket.
    Tmux,
    /// A mounted disk.
    Mount,
    /// A folder.
    Folder,
}

const KINDS: [(&str, CleanupItem); 5] = [
    ("home", CleanupItem::Home),
    ("server", CleanupItem::Server),
    ("tmux", CleanupItem::Tmux),
    ("mount", CleanupItem::Mount),
    ("folder", CleanupItem::Folder),
];

/// The benchmark's connection to the guard.
pub(crate) struct CleanupGuard {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl CleanupGuard {
    pub(crate) fn start() -> Result<Self> {
        let me = std::env::current_exe().context("finding my own program")?;
        let mut process = Command::new(me)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            // An interrupt from the terminal must not end the guard.
            .process_group(0)
            .spawn()
            .context("starting the guard")?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// Announces something that is about to be created.
    pub(crate) fn announce(&mut self, kind: CleanupItem, path: &Path) -> Result<()> {
        let name = KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name);
        let path = path.to_str().context("the path is not UTF-8")?;
        let pipe = self.pipe.as_mut().context("the guard has been dismissed")?;
        writeln!(pipe, "{name} {path}").context("the guard is gone")
    }

    /// Makes the guard clean up everything that is left, and waits for it.
    pub(crate) fn dismiss(mut self) -> Result<()> {
        self.pipe = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "the cleanup failed, see above");
        Ok(())
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        self.pipe = None;
        self.process.wait().ok();
    }
}

/// Runs the guard.
pub(crate) fn serve() -> Result<()> {
    let mut owed: Vec<(CleanupItem, PathBuf)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, path) = line.split_once(' ').context("a line without a path")?;
        let kind = KINDS.iter().find(|(known, _)| *known == name).context("an unknown kind")?;
        owed.push((kind.1, path.into()));
    }
    owed.sort();
    let mut all_cleared = true;
    for (kind, path) in owed {
        if let Err(error) = clear(kind, &path) {
            eprintln!("kennel-bench: {}: {error:#}", path.display());
            all_cleared = false;
        }
    }
    ensure!(all_cleared, "something is left");
    Ok(())
}

fn clear(kind: CleanupItem, path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    match kind {
        CleanupItem::Home => {
            let mut stop = Command::new(home::program()?);
            stop.arg("--home").arg(path).args(["daemon", "stop", "--grace", "0s"]);
            disk::run(&mut stop)?;
            fs::remove_dir_all(path)?;
        }
        CleanupItem::Server => end_server(path)?,
        // A server without sessions has ended by itself.
        CleanupItem::Tmux => {
            drop(disk::run(Command::new("tmux").arg("-S").arg(path).arg("kill-server")))
        }
        CleanupItem::Mount => disk::unmount(path)?,
        CleanupItem::Folder => fs::remove_dir_all(path)?,
    }
    Ok(())
}

/// Ends a server by its pid file.
pub(crate) fn end_server(pid_file: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(pid_file) else { return Ok(()) };
    let pid: i32 = text.trim().parse().context("no pid")?;
    let Some(server) = kennel_sys::pidfd::open(pid)? else { return Ok(()) };
    let _sent_or_gone = kennel_sys::pidfd::send(&server, rustix::process::Signal::TERM)?;
    home::wait_readable(&server, std::time::Instant::now() + home::LONG)?;
    fs::remove_file(pid_file).ok();
    Ok(())
}
