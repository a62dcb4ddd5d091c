//! `cargo xtask openapi`: regenerates the description of the API.

use anyhow::{Context, ensure};

use crate::cargo::{cargo, workspace};

/// The description, relative to the workspace.
const FILE: &str = "crates/kennel-http/openapi.json";

/// Generates the description from the code. A test fails when the file is out of date.
pub(crate) fn write() -> anyhow::Result<()> {
    let arguments = ["run", "-p", "kennel-http", "--example", "openapi", "--features", "schema"];
    let output = cargo(&arguments).stderr(std::process::Stdio::inherit()).output();
    let output = output.context("can't run cargo")?;
    ensure!(output.status.success(), "can't generate {FILE}: {}", output.status);
    let path = workspace().join(FILE);
    std::fs::write(&path, output.stdout)
        .with_context(|| format!("can't write {}", path.display()))?;
    println!("wrote {FILE}");
    Ok(())
}
