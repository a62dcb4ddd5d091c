//! Node and its packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::cargo::{run, succeeds};

/// The oldest Node that our packages are for.
const OLDEST: u32 = 20;
/// A copy of the lock file by which the installed packages are known.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// Why a package can't be used here.
pub(crate) enum Missing {
    /// There is no Node, or no way to the registry: an ordinary outcome.
    Here(String),
    /// Something is wrong with the package.
    Failed(anyhow::Error),
}

/// `npm`, in the folder of a package.
pub(crate) fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}

/// Sees to it that Node and what the package needs are there.
pub(crate) fn prepare(folder: &Path) -> Result<(), Missing> {
    is_there().map_err(Missing::Here)?;
    install(folder).map_err(|error| {
        match succeeds(npm(folder).args(["ping", "--fetch-retries=0"])) {
            true => Missing::Failed(error),
            false => Missing::Here(format!("no way to its packages: {error:#}")),
        }
    })
}

/// Whether Node is there, and new enough.
fn is_there() -> Result<(), String> {
    let output = Command::new("node").arg("--version").output();
    let output = output.map_err(|error| format!("node can't be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match major(&text) {
        Some(major) if major >= OLDEST => {}
        _ => return Err(format!("it needs Node {OLDEST}, and this is {text:?}")),
    }
    match succeeds(Command::new("npm").arg("--version")) {
        true => Ok(()),
        false => Err("npm can't be run".to_owned()),
    }
}

fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Installs the packages that the lock file names, unless that was done: so the registry is asked once.
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
    fn the_version_of_node_is_read() {
        assert_eq!(major("v20.11.1"), Some(20));
        assert_eq!(major("v8"), Some(8));
        assert_eq!(major(""), None);
        assert_eq!(major("20.1.0"), None);
    }
}
