//! A browser for the dashboard's tests and benchmarks.

use std::path::PathBuf;

use anyhow::Context;

use crate::programs::{self, Program};

/// The names of suitable complete browsers.
const COMPLETE: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// The same engine without a user interface: a page takes a third less work.
const HEADLESS: Program =
    Program { name: "chromium-headless-shell", packages: &["chromium-headless-shell"] };
const CHROMIUM: Program = Program { name: "chromium", packages: &["chromium"] };

/// Returns a browser for tests: the headless one if possible.
pub(crate) fn for_tests() -> anyhow::Result<PathBuf> {
    if let Some(found) =
        from_environment().or_else(|| programs::find(HEADLESS.name)).or_else(complete)
    {
        return Ok(found);
    }
    install(HEADLESS).or_else(|_| install(CHROMIUM))
}

/// Returns a browser for benchmarks: a complete one, as users have it.
pub(crate) fn for_benchmarks() -> anyhow::Result<PathBuf> {
    from_environment().or_else(complete).map_or_else(|| install(CHROMIUM), Ok)
}

/// Returns the browser that the environment names.
fn from_environment() -> Option<PathBuf> {
    std::env::var_os("KENNEL_TEST_CHROMIUM").map(PathBuf::from)
}

fn complete() -> Option<PathBuf> {
    COMPLETE.into_iter().find_map(programs::find)
}

/// Installs a browser from Debian's packages.
fn install(program: Program) -> anyhow::Result<PathBuf> {
    let name = program.name;
    programs::provide(&[program])?;
    programs::find(name).with_context(|| format!("{name} is installed, but not in PATH"))
}
