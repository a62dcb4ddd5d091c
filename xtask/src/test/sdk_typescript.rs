//! The TypeScript client: that its types are those of the API, that it compiles, and its tests against a real daemon.

use super::skips::Skips;
use crate::cargo::{run, target_folder, workspace};
use crate::node::{self, Missing, npm};

/// Everything; skipped loudly where there is no Node, or no way to its packages.
pub(crate) fn test(skips: &Skips) -> anyhow::Result<()> {
    let folder = workspace().join("sdk/typescript");
    match node::prepare(&folder) {
        Ok(()) => {}
        Err(Missing::Here(why)) => return skips.add(&format!("TypeScript client: {why}")),
        Err(Missing::Failed(error)) => return Err(error),
    }
    let programs = target_folder()?.join("debug");
    run(npm(&folder).args(["run", "--silent", "test"]).env("KENNEL_TEST_PROGRAMS", programs))
}
