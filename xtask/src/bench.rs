//! Benchmarks, always of a release build.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo::{cargo, run};

/// Builds the benchmarks, the program and the agent that they run, and passes the arguments on.
pub(crate) fn bench(arguments: &[&str]) -> anyhow::Result<()> {
    run(&mut cargo(&[
        "build",
        "--release",
        "-p",
        "kennel-bench",
        "-p",
        "fake-agent",
        "-p",
        "kennel",
    ]))?;
    run(Command::new(release_folder()?.join("kennel-bench")).args(arguments))
}

/// Where cargo puts release builds: beside the folder that we were built into, whatever the target folder
/// is and whoever has set it.
fn release_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("our own path")?;
    let target = own.parent().and_then(Path::parent).context("no target folder")?;
    Ok(target.join("release"))
}
