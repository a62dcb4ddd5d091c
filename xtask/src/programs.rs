//! Programs that a chore needs besides Rust: found, installed where we may, else asked for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::cargo::run;

/// A program, and the packages of Debian that it comes with.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) packages: &'static [&'static str],
}

/// Sees to it that these are there: installs what it can, else says what to install.
pub(crate) fn provide(programs: &[Program]) -> anyhow::Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|program| program.packages).copied().collect();
    if may_install() {
        let install = [&["install", "-y", "--no-install-recommends"], &packages[..]].concat();
        // A list of packages that is old, or none, is the usual reason for a failure.
        if apt_get(&install).is_err() {
            apt_get(&["update"])?;
            apt_get(&install)?;
        }
    }
    let missing: Vec<&str> = self::missing(programs).iter().map(|program| program.name).collect();
    if !missing.is_empty() {
        bail!(
            "not found: {}; on Debian or Ubuntu they come by `apt-get install {}` as root",
            missing.join(", "),
            packages.join(" ")
        );
    }
    Ok(())
}

/// `apt-get ARGUMENTS…`, without questions.
pub(crate) fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn missing(programs: &[Program]) -> Vec<&Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    programs.iter().filter(|program| !is_in(&path, program.name)).collect()
}

/// Whether this is a system whose packages we know, and ours to install on.
fn may_install() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    is_root() && Path::new("/etc/debian_version").exists() && is_in(&path, "apt-get")
}

/// Where this program is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), name)
}

/// Whether there is a program of this name in the folders of `path`.
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
    fn a_program_is_found_where_the_path_says() {
        let path = OsStr::new("/nowhere:/bin");
        assert!(is_in(path, "sh"));
        assert!(!is_in(path, "no-such-program"));
        assert!(!is_in(OsStr::new("/"), "proc"), "a folder is no program");
    }
}
