//! Finds the programs that a task needs besides Rust, and installs them where possible.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::cargo::run;

/// A program, and the Debian packages that contain it.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) packages: &'static [&'static str],
}

/// Installs those of the programs that are missing; where it can't, the error lists what to
/// install.
pub(crate) fn provide(programs: &[Program]) -> anyhow::Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|program| program.packages).copied().collect();
    if may_install() {
        let install = [&["install", "-y", "--no-install-recommends"], &packages[..]].concat();
        // Most often the package lists are missing or out of date.
        if apt_get(&install).is_err() {
            apt_get(&["update"])?;
            apt_get(&install)?;
        }
    }
    let missing: Vec<&str> = self::missing(programs).iter().map(|program| program.name).collect();
    if !missing.is_empty() {
        bail!(
            "not found: {}; on Debian or Ubuntu, run `apt-get install {}` as root",
            missing.join(", "),
            packages.join(" ")
        );
    }
    Ok(())
}

/// Runs `apt-get` without prompts.
pub(crate) fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Returns whether this process runs as root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn missing(programs: &[Program]) -> Vec<&Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    programs.iter().filter(|program| !is_in(&path, program.name)).collect()
}

/// Returns whether this is a Debian system, and this process may install packages on it.
fn may_install() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    is_root() && Path::new("/etc/debian_version").exists() && is_in(&path, "apt-get")
}

/// Returns the path of a program, if it is in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// Returns whether one of the folders in `path` contains the program.
fn is_in(path: &OsStr, name: &str) -> bool {
    find_in(path, name).is_some()
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| {
        let file = fs::metadata(file);
        file.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_program_in_the_folders_of_the_path() {
        let path = OsStr::new("/nowhere:/bin");
        assert!(is_in(path, "sh"));
        assert!(!is_in(path, "no-such-program"));
        assert!(!is_in(OsStr::new("/"), "proc"), "a folder is not a program");
    }
}
