//! `cargo xtask bench`: benchmarks, always of the build that is shipped (profile `dist`).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::browser;
use crate::cargo::{cargo, run, target_folder, workspace};
use crate::node::{self, PrepareError, npm};
use crate::test::Skips;

/// The benchmarks of `kennel-bench`.
const BENCHMARKS: [&str; 4] = ["pen", "session", "ask", "api"];

/// Builds the benchmarks and the programs that they run, then runs one of them with these
/// arguments.
pub(crate) fn bench(arguments: &[&str]) -> anyhow::Result<()> {
    build()?;
    match arguments {
        ["web"] => web(false),
        ["web", "--quick"] => web(true),
        _ => run(Command::new(folder()?.join("kennel-bench")).args(arguments)),
    }
}

/// Runs every benchmark with few rounds: not for the figures, but to see that it still works.
pub(crate) fn run_each_quickly(skips: &Skips) -> anyhow::Result<()> {
    build()?;
    for name in BENCHMARKS {
        run(Command::new(folder()?.join("kennel-bench")).args([name, "--quick"]))
            .with_context(|| format!("benchmark {name}"))?;
    }
    match node::prepare(&tests()) {
        Err(PrepareError::Unavailable(why)) => skips.add(&format!("dashboard benchmark: {why}")),
        _ => web(true),
    }
}

fn build() -> anyhow::Result<()> {
    let programs = ["-p", "kennel-bench", "-p", "fake-agent", "-p", "kennel"];
    run(&mut cargo(&[&["build", "--profile", "dist"], &programs[..]].concat()))
}

/// Where the programs are.
fn folder() -> anyhow::Result<PathBuf> {
    Ok(target_folder()?.join("dist"))
}

fn tests() -> PathBuf {
    workspace().join("web/tests")
}

/// Measures the dashboard in a browser.
fn web(quick: bool) -> anyhow::Result<()> {
    match node::prepare(&tests()) {
        Ok(()) => {}
        Err(PrepareError::Unavailable(why)) => bail!("can't measure the dashboard here: {why}"),
        Err(PrepareError::Failed(error)) => return Err(error),
    }
    let mut command = npm(&tests());
    if quick {
        command.env("KENNEL_BENCH_QUICK", "1");
    }
    run(command
        .args(["run", "--silent", "bench"])
        .env("KENNEL_TEST_CHROMIUM", browser::for_benchmarks()?)
        .env("KENNEL_TEST_OUTPUT", target_folder()?.join("web-tests"))
        .env("KENNEL_BIN", folder()?.join("kennel")))
}
