//! What the checks need besides Rust.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::cargo::{cargo, run, succeeds};

/// A program, and the packages of Debian that it comes with.
struct Program {
    name: &'static str,
    packages: &'static [&'static str],
}

const PROGRAMS: [Program; 6] = [
    Program { name: "git", packages: &["git"] },
    // The tests become another user by the first, and let processes get away by the second.
    Program { name: "setpriv", packages: &["util-linux"] },
    Program { name: "setsid", packages: &["util-linux"] },
    Program { name: "kill", packages: &["procps"] },
    // The shell that the agents' tools run in.
    Program { name: "bash", packages: &["bash"] },
    Program { name: "cc", packages: &["gcc", "libc6-dev"] },
];

/// A component of the Rust toolchain, and the subcommand of cargo that shows whether it is there.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Sees to it that everything needed is there: installs what it can, else says what to install.
pub(crate) fn provide() -> anyhow::Result<()> {
    provide_programs()?;
    for (component, subcommand) in COMPONENTS {
        provide_component(component, subcommand)?;
    }
    println!("all there");
    Ok(())
}

fn missing_programs() -> Vec<&'static Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    PROGRAMS.iter().filter(|program| !is_in(&path, program.name)).collect()
}

fn provide_programs() -> anyhow::Result<()> {
    let missing = missing_programs();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> =
        missing.iter().flat_map(|program| program.packages).copied().collect();
    if may_install() {
        let apt = |arguments: &[&str]| {
            run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
        };
        apt(&["update"])?;
        apt(&[&["install", "-y", "--no-install-recommends"], &packages[..]].concat())?;
    }
    let missing: Vec<&str> = missing_programs().iter().map(|program| program.name).collect();
    if !missing.is_empty() {
        bail!(
            "not found: {}; on Debian or Ubuntu they come by `apt-get install {}` as root",
            missing.join(", "),
            packages.join(" ")
        );
    }
    Ok(())
}

/// Whether this is a system whose packages we know, and ours to install on.
fn may_install() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let path = std::env::var_os("PATH").unwrap_or_default();
    is_root && Path::new("/etc/debian_version").exists() && is_in(&path, "apt-get")
}

fn provide_component(component: &str, subcommand: &str) -> anyhow::Result<()> {
    let is_there = || succeeds(&mut cargo(&[subcommand, "--version"]));
    let add = ["component", "add", component];
    if is_there() || (run(Command::new("rustup").args(add)).is_ok() && is_there()) {
        return Ok(());
    }
    bail!("`cargo {subcommand}` does not work; install {component}: rustup {}", add.join(" "))
}

/// Whether there is a program of this name in the folders of `path`.
fn is_in(path: &OsStr, name: &str) -> bool {
    std::env::split_paths(path).any(|folder| {
        let file = fs::metadata(folder.join(name));
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
