//! Checks the TypeScript client: that its types match the API, that it compiles, and its tests
//! against a real daemon.

use super::skips::Skips;
use crate::cargo::{run, target_folder, workspace};
use crate::node::{self, PrepareError, npm};

/// Runs all checks; skips them where there is no Node, or its packages can't be downloaded.
pub(super) fn check(skips: &Skips) -> anyhow::Result<()> {
    let folder = workspace().join("sdk/typescript");
    match node::prepare(&folder) {
        Ok(()) => {}
        Err(PrepareError::Unavailable(why)) => {
            return skips.add(&format!("TypeScript client: {why}"));
        }
        Err(PrepareError::Failed(error)) => return Err(error),
    }
    let programs = target_folder()?.join("debug");
    run(npm(&folder).args(["run", "--silent", "test"]).env("KENNEL_TEST_PROGRAMS", programs))
}
