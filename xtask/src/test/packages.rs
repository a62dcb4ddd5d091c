//! Downloads: agents, npm packages, a browser, Python packages. They need the network and little
//! CPU time, so that they are installed while the compiler runs.

use super::skips::Skips;
use super::{Scope, sdk_python, web};
use crate::agents::{self, InstallOutcome};
use crate::cargo::workspace;
use crate::node;

/// Installs everything. Only trouble with the agents is reported here: the other steps prepare what
/// they need again, and report what is missing.
pub(super) fn install(skips: &Skips, scope: Scope) -> anyhow::Result<()> {
    // The packages of `web` itself are the build script's task.
    for folder in ["web/tests", "sdk/typescript"] {
        node::prepare(&workspace().join(folder)).ok();
    }
    web::browser().ok();
    sdk_python::provide_python().and_then(|()| sdk_python::environment()).ok();
    install_agents(skips, scope)
}

/// Installs the agents that tests drive: in a slice only its own.
pub(super) fn install_agents(skips: &Skips, scope: Scope) -> anyhow::Result<()> {
    for installed in agents::install(scope.agents())? {
        if let InstallOutcome::Unavailable(why) = installed.outcome {
            skips.add(&format!("{}: {why}", installed.agent))?;
        }
    }
    Ok(())
}
