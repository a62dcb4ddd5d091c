//! `cargo xtask torture`: see `testing/torture`.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{linting_cargo, run, target_folder};

/// Builds the programs with fault points, the same way as the tests do, and passes the arguments
/// on.
pub(crate) fn torture(arguments: &[&str]) -> anyhow::Result<()> {
    let programs = ["-p", "kennel-torture", "-p", "fake-agent", "-p", "kennel"];
    run(&mut linting_cargo(&[&["build", "--all-features"], &programs[..]].concat()))?;
    run(Command::new(program()?).args(arguments))
}

/// The path of the built program.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    Ok(target_folder()?.join("debug/kennel-torture"))
}
