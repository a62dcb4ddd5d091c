//! A browser for the dashboard's tests and benchmarks.

use std::path::PathBuf;

use anyhow::Context;

use crate::programs::{self, Program};

/// By these names browsers that will do are known.
const WHOLE: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// The same engine without windows: a third less work for each page.
const HEADLESS: Program =
    Program { name: "chromium-headless-shell", packages: &["chromium-headless-shell"] };
const CHROMIUM: Program = Program { name: "chromium", packages: &["chromium"] };

/// One for tests: that without windows if it can be had, else a whole one.
pub(crate) fn for_tests() -> anyhow::Result<PathBuf> {
    if let Some(found) = named().or_else(|| programs::find(HEADLESS.name)).or_else(whole) {
        return Ok(found);
    }
    install(HEADLESS).or_else(|_| install(CHROMIUM))
}

/// One as people have it, for benchmarks.
pub(crate) fn as_people_have_it() -> anyhow::Result<PathBuf> {
    named().or_else(whole).map_or_else(|| install(CHROMIUM), Ok)
}

/// The one that the environment names.
fn named() -> Option<PathBuf> {
    std::env::var_os("KENNEL_TEST_CHROMIUM").map(PathBuf::from)
}

fn whole() -> Option<PathBuf> {
    WHOLE.into_iter().find_map(programs::find)
}

/// Debian's, installed.
fn install(program: Program) -> anyhow::Result<PathBuf> {
    let name = program.name;
    programs::provide(&[program])?;
    programs::find(name).with_context(|| format!("{name} is installed, and not found"))
}
