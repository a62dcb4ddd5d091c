//! Downloads: agents, npm packages, a browser, Python packages. They need the network and little
//! CPU time, so that they are installed while the compiler runs.

use super::skips::Skips;
use super::{sdk_python, web};
use crate::agents::{self, Agent, InstallOutcome};
use crate::cargo::workspace;
use crate::node;

/// Installs everything. Only trouble with the agents is reported here: the other steps prepare what
/// they need again, and report what is missing.
pub(super) fn install(skips: &Skips) -> anyhow::Result<()> {
    // The packages of `web` itself are the build script's task.
    for folder in ["web/tests", "sdk/typescript"] {
        node::prepare(&workspace().join(folder)).ok();
    }
    web::browser().ok();
    sdk_python::provide_python().and_then(|()| sdk_python::environment()).ok();
    install_agents(skips)
}

/// Installs the agents that tests drive. Two can be left out: they are big, and start slowly.
pub(super) fn install_agents(skips: &Skips) -> anyhow::Result<()> {
    let few = std::env::var_os("KENNEL_TEST_FEW_AGENTS").is_some_and(|value| value == "1");
    let mut wanted = Agent::ALL.to_vec();
    wanted.retain(|agent| {
        !few || matches!(agent, Agent::Claude | Agent::Codex) || agents::is_installed(*agent)
    });
    for installed in agents::install(&wanted)? {
        if let InstallOutcome::Unavailable(why) = installed.outcome {
            skips.add(&format!("{}: {why}", installed.agent))?;
        }
    }
    Ok(())
}
