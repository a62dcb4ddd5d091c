//! The torture run: see `testing/torture`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo::{cargo, run};

/// Builds what it takes, with the named points at which processes are killed, and passes the arguments on.
pub(crate) fn torture(arguments: &[&str]) -> anyhow::Result<()> {
    // The same as the tests build, so that nothing is built twice.
    run(&mut cargo(&[
        "build",
        "--all-features",
        "-p",
        "kennel-torture",
        "-p",
        "fake-agent",
        "-p",
        "kennel",
    ]))?;
    run(Command::new(built()?).args(arguments))
}

/// The program: beside ours, which is built the same way.
pub(crate) fn built() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("our own path")?;
    Ok(own.parent().unwrap_or(Path::new(".")).join("kennel-torture"))
}
