//! What the checks need besides Rust.

use std::process::Command;

use anyhow::bail;

use crate::cargo::{cargo, run, succeeds, workspace};
use crate::programs::{self, Program};

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

/// What the dashboard is built with.
const NODE: [Program; 2] =
    [Program { name: "node", packages: &["nodejs"] }, Program { name: "npm", packages: &["npm"] }];

/// A component of the Rust toolchain, and the subcommand of cargo that shows whether it is there.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Sees to it that everything needed is there: installs what it can, else says what to install.
pub(crate) fn provide() -> anyhow::Result<()> {
    programs::provide(&PROGRAMS)?;
    if has_dashboard() {
        programs::provide(&NODE)?;
    }
    for (component, subcommand) in COMPONENTS {
        provide_component(component, subcommand)?;
    }
    println!("all there");
    Ok(())
}

/// Whether its sources are there.
pub(super) fn has_dashboard() -> bool {
    workspace().join("web/package.json").exists()
}

fn provide_component(component: &str, subcommand: &str) -> anyhow::Result<()> {
    let is_there = || succeeds(&mut cargo(&[subcommand, "--version"]));
    let add = ["component", "add", component];
    if is_there() || (run(Command::new("rustup").args(add)).is_ok() && is_there()) {
        return Ok(());
    }
    bail!("`cargo {subcommand}` does not work; install {component}: rustup {}", add.join(" "))
}
