//! Benchmarks, always of a release build.

use std::process::Command;

use crate::cargo::{cargo, run, target_folder};

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
    run(Command::new(target_folder()?.join("release/kennel-bench")).args(arguments))
}
