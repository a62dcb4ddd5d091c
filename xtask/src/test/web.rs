//! Checks the dashboard: that it compiles, and its tests in a real browser against real daemons.

use std::path::PathBuf;

use super::scope::Scope;
use super::skips::Skips;
use crate::browser;
use crate::cargo::{run, target_folder, workspace};
use crate::node::{self, PrepareError, npm};

/// Runs all checks; skips them where there is no Node or no browser, or they can't be downloaded.
pub(super) fn check(skips: &Skips, scope: Scope) -> anyhow::Result<()> {
    let page = workspace().join("web");
    let tests = page.join("tests");
    for folder in [&page, &tests] {
        match node::prepare(folder) {
            Ok(()) => run(npm(folder).args(["run", "--silent", "check"]))?,
            Err(PrepareError::Unavailable(why)) => return skips.add(&format!("dashboard: {why}")),
            Err(PrepareError::Failed(error)) => return Err(error),
        }
    }
    let browser = match browser() {
        Ok(browser) => browser,
        Err(error) => return skips.add(&format!("dashboard in a browser: {error:#}")),
    };
    let programs = target_folder()?.join("debug");
    let mut command = npm(&tests);
    scope.limit(&mut command);
    run(command
        .args(["run", "--silent", "test"])
        .env("KENNEL_TEST_CHROMIUM", browser)
        .env("KENNEL_TEST_OUTPUT", target_folder()?.join("web-tests"))
        .env("KENNEL_BIN", programs.join("kennel"))
        .env("KENNEL_FAKE_AGENT", programs.join("fake-agent")))
}

/// Returns the browser for the tests; installs one if it finds none.
pub(super) fn browser() -> anyhow::Result<PathBuf> {
    browser::for_tests()
}
