//! Builds the dashboard with npm and includes its files in the crate. If that fails, prints a warning and builds the crate
//! without them.
//!
//! ```text
//! web/ ── same inputs as last time? ──┬── yes ─────────────────────────┬── web/dist ── OUT_DIR: files, files.gz, table.rs
//!                                     └── no ── npm ci ── npm run build ┘
//! ```
//! `KENNEL_WEB=none` runs no npm; `KENNEL_WEB=require` makes a missing dashboard an error.

mod bounded;
mod inputs;
mod npm;
mod table;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use npm::{DashboardBuilder, NpmBuildError};

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let web = here.join("../../web");
    let is_own = is_own_web_folder(&web, &here);
    for path in inputs::watched(&web) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let mode = env::var("KENNEL_WEB").unwrap_or_default();
    let reason = match build(&web, &out, &mode, is_own) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(reason) => reason,
    };
    // With a dashboard the result does not depend on the variable, so a change of it must not cause a rebuild.
    println!("cargo:rerun-if-env-changed=KENNEL_WEB");
    if mode == "require" {
        eprintln!("KENNEL_WEB=require is set, but the dashboard can't be built: {reason}");
        return ExitCode::FAILURE;
    }
    if mode != "none" {
        println!("cargo:warning=building kennel without its dashboard: {}", one_line(&reason));
    }
    match table::write_none(&out, &reason) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("can't write to {}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

/// Whether this is Kennel's own `web` folder: a copy of this crate, as by `cargo vendor`, may be next to another one.
fn is_own_web_folder(web: &Path, here: &Path) -> bool {
    let same = |one: PathBuf, other: &Path| {
        one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|it| it == one))
    };
    let package = std::fs::read_to_string(web.join("package.json")).unwrap_or_default();
    package.contains("\"name\": \"@kennel/web\"") && same(web.join("../crates/kennel-web"), here)
}

/// Builds the dashboard and includes its files; returns the reason if that fails.
fn build(web: &Path, out: &Path, mode: &str, is_own: bool) -> Result<(), String> {
    if mode == "none" {
        return Err("KENNEL_WEB=none was set during the build".to_owned());
    }
    if !is_own {
        return Err(with_causes(&NpmBuildError::NoFolder));
    }
    let built = DashboardBuilder::new(web, out).build().map_err(|error| with_causes(&error))?;
    let packed = table::write(&built.dist, out);
    packed.map_err(|source| with_causes(&NpmBuildError::Files { action: "include", source }))
}

fn with_causes(error: &NpmBuildError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Joins the lines of a text, because a warning for cargo is one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
