//! The TypeScript client: that its types are those of the API, that it compiles, and its tests against a real daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::skips::Skips;
use crate::cargo::{run, succeeds, target_folder, workspace};

/// The oldest Node that it is for.
const OLDEST_NODE: u32 = 20;
/// A copy of the lock file by which the installed packages are known.
const INSTALLED: &str = "node_modules/.installed-lock.json";

/// Everything; skipped loudly where there is no Node, or no way to its packages.
pub(crate) fn test(skips: &Skips) -> anyhow::Result<()> {
    let folder = workspace().join("sdk/typescript");
    if let Err(why) = node_is_there() {
        return skips.add(&format!("TypeScript client: {why}"));
    }
    if let Err(error) = install(&folder) {
        // Without a way to the registry that is an ordinary outcome; else something is wrong with the package.
        return match succeeds(npm(&folder).args(["ping", "--fetch-retries=0"])) {
            true => Err(error),
            false => skips.add(&format!("TypeScript client: no way to its packages: {error:#}")),
        };
    }
    let programs = target_folder()?.join("debug");
    run(npm(&folder).args(["run", "--silent", "test"]).env("KENNEL_TEST_PROGRAMS", programs))
}

fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}

/// Whether Node is there, and new enough.
fn node_is_there() -> Result<(), String> {
    let output = Command::new("node").arg("--version").output();
    let output = output.map_err(|error| format!("node can't be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match major(&text) {
        Some(major) if major >= OLDEST_NODE => {}
        _ => return Err(format!("it needs Node {OLDEST_NODE}, and this is {text:?}")),
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
