//! Programs that the checks need besides Rust.

use std::process::Command;

use anyhow::bail;

use crate::cargo::{cargo, run, succeeds, workspace};
use crate::programs::{self, Program};

const PROGRAMS: [Program; 6] = [
    Program { name: "git", packages: &["git"] },
    // The tests switch to another user with the first; processes leave their group with the second.
    Program { name: "setpriv", packages: &["util-linux"] },
    Program { name: "setsid", packages: &["util-linux"] },
    Program { name: "kill", packages: &["procps"] },
    // The shell in which the agents run their tools.
    Program { name: "bash", packages: &["bash"] },
    Program { name: "cc", packages: &["gcc", "libc6-dev"] },
];

/// What builds the dashboard.
const NODE: [Program; 2] =
    [Program { name: "node", packages: &["nodejs"] }, Program { name: "npm", packages: &["npm"] }];

/// Components of the Rust toolchain, each with the subcommand of cargo that shows whether it is
/// installed.
const COMPONENTS: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Installs what is missing; where it can't, the error lists what to install.
pub(crate) fn provide() -> anyhow::Result<()> {
    programs::provide(&PROGRAMS)?;
    if has_dashboard() {
        programs::provide(&NODE)?;
    }
    for (component, subcommand) in COMPONENTS {
        provide_component(component, subcommand)?;
    }
    println!("all programs are installed");
    Ok(())
}

/// Returns whether the dashboard's sources exist.
pub(super) fn has_dashboard() -> bool {
    workspace().join("web/package.json").exists()
}

fn provide_component(component: &str, subcommand: &str) -> anyhow::Result<()> {
    let is_installed = || succeeds(&mut cargo(&[subcommand, "--version"]));
    let add = ["component", "add", component];
    if is_installed() || (run(Command::new("rustup").args(add)).is_ok() && is_installed()) {
        return Ok(());
    }
    bail!("`cargo {subcommand}` does not work; install {component}: rustup {}", add.join(" "))
}
