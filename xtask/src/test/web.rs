//! The dashboard: that it compiles, and its tests in a real browser with real daemons.

use super::skips::Skips;
use crate::browser;
use crate::cargo::{run, target_folder, workspace};
use crate::node::{self, Missing, npm};

/// Everything; skipped loudly where there is no Node, no browser, or no way to them.
pub(crate) fn test(skips: &Skips) -> anyhow::Result<()> {
    let page = workspace().join("web");
    let tests = page.join("tests");
    for folder in [&page, &tests] {
        match node::prepare(folder) {
            Ok(()) => run(npm(folder).args(["run", "--silent", "check"]))?,
            Err(Missing::Here(why)) => return skips.add(&format!("dashboard: {why}")),
            Err(Missing::Failed(error)) => return Err(error),
        }
    }
    let browser = match browser::for_tests() {
        Ok(browser) => browser,
        Err(error) => return skips.add(&format!("dashboard in a browser: {error:#}")),
    };
    let programs = target_folder()?.join("debug");
    run(npm(&tests)
        .args(["run", "--silent", "test"])
        .env("KENNEL_TEST_CHROMIUM", browser)
        .env("KENNEL_TEST_OUTPUT", target_folder()?.join("web-tests"))
        .env("KENNEL_BIN", programs.join("kennel"))
        .env("KENNEL_FAKE_AGENT", programs.join("fake-agent")))
}
