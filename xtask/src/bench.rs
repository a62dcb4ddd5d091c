//! Benchmarks, always of a release build.

use std::process::Command;

use anyhow::bail;

use crate::browser;
use crate::cargo::{cargo, run, target_folder, workspace};
use crate::node::{self, Missing, npm};

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
    if arguments == ["web"] {
        return web();
    }
    run(Command::new(target_folder()?.join("release/kennel-bench")).args(arguments))
}

/// The dashboard, in a browser.
fn web() -> anyhow::Result<()> {
    let tests = workspace().join("web/tests");
    match node::prepare(&tests) {
        Ok(()) => {}
        Err(Missing::Here(why)) => bail!("the dashboard can't be measured here: {why}"),
        Err(Missing::Failed(error)) => return Err(error),
    }
    run(npm(&tests)
        .args(["run", "--silent", "bench"])
        .env("KENNEL_TEST_CHROMIUM", browser::as_people_have_it()?)
        .env("KENNEL_TEST_OUTPUT", target_folder()?.join("web-tests"))
        .env("KENNEL_BIN", target_folder()?.join("release/kennel")))
}
