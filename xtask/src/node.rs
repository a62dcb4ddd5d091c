//! Node and the packages of our Node projects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo::{run, succeeds};

/// The oldest Node that our packages support.
const OLDEST: u32 = 20;
/// A copy of the lock file from which the packages were installed.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// Why a project can't be used.
pub(crate) enum PrepareError {
    /// This machine has no Node or can't reach the registry: the caller skips its step.
    Unavailable(String),
    /// Something is wrong with the project.
    Failed(anyhow::Error),
}

/// `npm` in the folder of a project.
pub(crate) fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}

/// Checks Node, and installs the packages of a project.
pub(crate) fn prepare(folder: &Path) -> Result<(), PrepareError> {
    check_node().map_err(PrepareError::Unavailable)?;
    install(folder).map_err(|error| {
        match succeeds(npm(folder).args(["ping", "--fetch-retries=0"])) {
            true => PrepareError::Failed(error),
            false => PrepareError::Unavailable(format!("can't reach the npm registry: {error:#}")),
        }
    })
}

/// Checks that Node and npm are installed, and that Node is new enough.
fn check_node() -> Result<(), String> {
    let output = Command::new("node").arg("--version").output();
    let output = output.map_err(|error| format!("can't run node: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match major(&text) {
        Some(major) if major >= OLDEST => {}
        _ => return Err(format!("Node is too old: found {text:?}, needs {OLDEST}")),
    }
    match succeeds(Command::new("npm").arg("--version")) {
        true => Ok(()),
        false => Err("can't run npm".to_owned()),
    }
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Installs the packages of the lock file, unless they are installed already.
fn install(folder: &Path) -> anyhow::Result<()> {
    let lock = folder.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("can't read {}", lock.display()))?;
    let installed: PathBuf = folder.join(INSTALLED);
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let how = ["ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];
    run(npm(folder).args(how))?;
    fs::write(&installed, wanted).with_context(|| format!("can't write {}", installed.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_major_version_of_node() {
        assert_eq!(major("v20.11.1"), Some(20));
        assert_eq!(major("v8"), Some(8));
        assert_eq!(major(""), None);
        assert_eq!(major("20.1.0"), None);
    }
}
