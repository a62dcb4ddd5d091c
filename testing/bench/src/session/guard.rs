//! A process that clears up when the benchmark ends, however that comes about.
//!
//! It is told of each thing before it is made, over a pipe that closes with the benchmark's last breath.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::{disk, home};

/// The hidden argument of the guard.
pub(crate) const ARGUMENT: &str = "__guard";

/// What has to be cleared up, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A home, with whatever runs for it.
    Home,
    /// A server that ends at TERM, by the file with its pid.
    Server,
    /// A tmux server, by its socket.
    Tmux,
    /// A mounted disk.
    Mount,
    /// A folder.
    Folder,
}

const KINDS: [(&str, Kind); 5] = [
    ("home", Kind::Home),
    ("server", Kind::Server),
    ("tmux", Kind::Tmux),
    ("mount", Kind::Mount),
    ("folder", Kind::Folder),
];

/// The guard, seen from the benchmark.
pub(crate) struct Guard {
    process: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    pub(crate) fn post() -> Result<Self> {
        let me = std::env::current_exe().context("finding my own program")?;
        let mut process = Command::new(me)
            .arg(ARGUMENT)
            .stdin(Stdio::piped())
            // An interrupt from the terminal is for us, and is what the guard is there for.
            .process_group(0)
            .spawn()
            .context("starting the guard")?;
        let pipe = process.stdin.take();
        Ok(Self { process, pipe })
    }

    /// This is about to be made.
    pub(crate) fn owe(&mut self, kind: Kind, path: &Path) -> Result<()> {
        let name = KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name);
        let path = path.to_str().context("a path that is no text")?;
        let pipe = self.pipe.as_mut().context("the guard has been dismissed")?;
        writeln!(pipe, "{name} {path}").context("the guard is gone")
    }

    /// Has everything cleared up that is still there.
    pub(crate) fn dismiss(mut self) -> Result<()> {
        self.pipe = None;
        let status = self.process.wait()?;
        ensure!(status.success(), "something could not be cleared up, see above");
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.pipe = None;
        self.process.wait().ok();
    }
}

/// The life of the guard.
pub(crate) fn serve() -> Result<()> {
    let mut owed: Vec<(Kind, PathBuf)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, path) = line.split_once(' ').context("half a line")?;
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

fn clear(kind: Kind, path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    match kind {
        Kind::Home => {
            let mut stop = Command::new(home::program()?);
            stop.arg("--home").arg(path).args(["daemon", "stop", "--grace", "0s"]);
            disk::run(&mut stop)?;
            fs::remove_dir_all(path)?;
        }
        Kind::Server => end_server(path)?,
        // If it has no session any more it has gone by itself.
        Kind::Tmux => drop(disk::run(Command::new("tmux").arg("-S").arg(path).arg("kill-server"))),
        Kind::Mount => disk::unmount(path)?,
        Kind::Folder => fs::remove_dir_all(path)?,
    }
    Ok(())
}

/// Ends a server that wrote its pid into a file.
pub(crate) fn end_server(pid_file: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(pid_file) else { return Ok(()) };
    let pid: i32 = text.trim().parse().context("no pid")?;
    let Some(server) = kennel_sys::pidfd::open(pid)? else { return Ok(()) };
    let _sent_or_gone = kennel_sys::pidfd::send(&server, rustix::process::Signal::TERM)?;
    home::wait_readable(&server, std::time::Instant::now() + home::LONG)?;
    fs::remove_file(pid_file).ok();
    Ok(())
}
