//! conmon: a monitor for each container. Its runtime here is this program, which starts the command
//! and nothing else: a real one takes tens of milliseconds more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::{Peer, Started, at_once, exists, folder};
use crate::session::disk::run;
use crate::session::serial::TRUE;

/// The hidden argument of a runtime.
pub(crate) const RUNTIME_ARGUMENT: &str = "__runtime";

/// How long to wait for the end of a program.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// A conmon with a minimal runtime.
pub(crate) struct Conmon {
    program: PathBuf,
    folder: PathBuf,
    serial: usize,
}

impl Conmon {
    /// Finds conmon, or unpacks it from the distribution's package.
    pub(crate) fn find(scratch: &Path) -> Started<Self> {
        let found = || -> Result<Self> {
            let folder = scratch.join("conmon");
            fs::create_dir(&folder)?;
            for part in ["exits", "bundle"] {
                fs::create_dir(folder.join(part))?;
            }
            Ok(Self { program: program()?, folder, serial: 0 })
        };
        found().map_err(|error| format!("{error:#}"))
    }

    fn run_one(&self, id: &str) -> Result<()> {
        let at = |name: &str| self.folder.join(name);
        let exit = at("exits").join(id);
        let status = Command::new(&self.program)
            .args(["--cid", id, "--cuuid", id, "--name", id, "--runtime"])
            .arg(std::env::current_exe()?)
            .args(["--runtime-arg", RUNTIME_ARGUMENT, "--bundle"])
            .arg(at("bundle"))
            .arg("--container-pidfile")
            .arg(at(&format!("{id}.pid")))
            .arg("--exit-dir")
            .arg(at("exits"))
            .arg("--log-path")
            .arg(format!("k8s-file:{}", at(&format!("{id}.log")).display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "conmon: {status}");
        // conmon misses the end of a program that ends before it watches, and then never reports
        // it.
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while !exit.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }
}

fn program() -> Result<PathBuf> {
    if exists("conmon", "--version") {
        return Ok("conmon".into());
    }
    let folder = folder("conmon")?;
    let program = folder.join("usr/bin/conmon");
    if !program.is_file() {
        run(Command::new("apt-get").args(["download", "-q", "conmon"]).current_dir(&folder))?;
        let package = fs::read_dir(&folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        run(Command::new("dpkg").arg("-x").arg(package.context("no package")?).arg(&folder))?;
    }
    let runs = exists(&program.display().to_string(), "--version");
    ensure!(runs, "not installed, and the distribution's package does not run here");
    Ok(program)
}

impl Peer for Conmon {
    fn name(&self) -> String {
        "conmon (a runtime that only spawns)".to_owned()
    }

    fn batch(&self) -> usize {
        100
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let first = self.serial;
        self.serial += count;
        let begun = Instant::now();
        at_once(count, || Ok(()), |(), index| self.run_one(&format!("c{}", first + index)))?;
        Ok(begun.elapsed())
    }
}

/// A minimal container runtime: `create --bundle DIR --pid-file FILE ID` starts the command.
pub(crate) fn serve_as_runtime(words: &[String]) -> Result<()> {
    let after = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1)
    };
    if !words.iter().any(|word| word == "create") {
        return Ok(());
    }
    let pid_file = after("--pid-file").context("no --pid-file")?;
    let child = Command::new(TRUE).env_clear().spawn()?;
    // This process does not wait for it: it becomes a child of conmon when this process ends.
    fs::write(pid_file, child.id().to_string())?;
    Ok(())
}
