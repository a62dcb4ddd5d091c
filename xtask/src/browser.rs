//! A browser for the dashboard's tests and benchmarks.

use std::path::PathBuf;

use anyhow::Context;

use crate::programs::{self, Program};

/// By these names browsers that will do are known.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The one that the environment names, one that is there, or Debian's, installed.
pub(crate) fn provide() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("KENNEL_TEST_CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = NAMES.into_iter().find_map(programs::find) {
        return Ok(found);
    }
    programs::provide(&[Program { name: "chromium", packages: &["chromium"] }])?;
    programs::find("chromium").context("chromium is installed, and not found")
}
