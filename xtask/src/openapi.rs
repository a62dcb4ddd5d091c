//! The description of the API.

use anyhow::{Context, ensure};

use crate::cargo::{cargo, workspace};

/// Where it lies.
const FILE: &str = "crates/kennel-daemon/openapi.json";

/// Has the code print it, and writes it down. A test says when that is due.
pub(crate) fn write() -> anyhow::Result<()> {
    let arguments = ["run", "-p", "kennel-daemon", "--example", "openapi", "--features", "schema"];
    let output = cargo(&arguments).stderr(std::process::Stdio::inherit()).output();
    let output = output.context("can't run cargo")?;
    ensure!(output.status.success(), "the description can't be made: {}", output.status);
    let path = workspace().join(FILE);
    std::fs::write(&path, output.stdout)
        .with_context(|| format!("can't write {}", path.display()))?;
    println!("{FILE} is written");
    Ok(())
}
