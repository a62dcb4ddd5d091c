//! Launches the fake agent in a pen.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kennel_pen::{Command, EndOutcome, Pen, StdStream, StdStreams};

/// How long a tree may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the path of the fake agent: beside this program, where cargo puts both.
pub(crate) fn path() -> Result<PathBuf> {
    let me = std::env::current_exe().context("finding my own program")?;
    let path = me.with_file_name("fake-agent");
    ensure!(
        path.is_file(),
        "{} is missing: cargo build --profile dist -p fake-agent (with the same --target-dir)",
        path.display()
    );
    Ok(path)
}

/// Launches the fake agent, and waits until its tree is complete.
pub(crate) fn launch(pen: &mut Pen, behaviour: &[&str]) -> Result<()> {
    launch_other(pen, path()?, behaviour)
}

/// Launches a program with an empty environment, and waits until it prints `ready`.
pub(crate) fn launch_other(pen: &mut Pen, program: PathBuf, args: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(args.iter().copied());
    command.streams(StdStreams::Each {
        stdin: StdStream::Null,
        stdout: StdStream::Pipe,
        stderr: StdStream::Inherit,
    });
    let ends = pen.launch(command)?.open(Instant::now() + START_TIMEOUT)?;
    let stdout = ends.stdout.context("its output was asked for")?;
    let mut word = [0; 6];
    std::fs::File::from(stdout)
        .read_exact(&mut word)
        .with_context(|| format!("{args:?} did not start"))?;
    ensure!(&word == b"ready\n", "{args:?} did not start");
    Ok(())
}

/// Ends everything in the pen, and removes it.
pub(crate) fn clean_up(mut pen: Pen) -> Result<()> {
    let end = pen.end(Instant::now() + Duration::from_secs(120))?;
    ensure!(end == EndOutcome::Empty, "still alive: {end:?}");
    pen.remove()?;
    Ok(())
}
