//! Has the page of the dashboard made by npm, and its files put into the crate. Where that can't be done the build goes on
//! without it, and says why.
//!
//! ```text
//! web/ ── same inputs as last time? ──┬── yes ─────────────────────────┬── web/dist ── OUT_DIR: files, files.gz, table.rs
//!                                     └── no ── npm ci ── npm run build ┘
//! ```
//! `KENNEL_WEB=none` runs no npm; `KENNEL_WEB=require` makes a page that can't be had an error.

mod bounded;
mod inputs;
mod make;
mod table;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use make::{MakeError, Maker};

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where"));
    let web = here.join("../../web");
    let is_ours = is_beside(&web, &here);
    for path in inputs::watched(&web) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let wish = env::var("KENNEL_WEB").unwrap_or_default();
    let why_not = match page(&web, &out, &wish, is_ours) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(why_not) => why_not,
    };
    // With the page in it, the outcome is the same whatever is wished for, and nobody's build is made anew for it.
    println!("cargo:rerun-if-env-changed=KENNEL_WEB");
    if wish == "require" {
        eprintln!("the dashboard can't be built, and KENNEL_WEB=require wants it: {why_not}");
        return ExitCode::FAILURE;
    }
    if wish != "none" {
        println!("cargo:warning=kennel is built without its dashboard: {}", one_line(&why_not));
    }
    match table::write_none(&out, &why_not) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("can't write to {}: {error}", out.display());
            ExitCode::FAILURE
        }
    }
}

/// Whether that folder is Kennel's: where this crate was copied to, as `cargo vendor` does, it may be anybody's.
fn is_beside(web: &Path, here: &Path) -> bool {
    let same = |one: PathBuf, other: &Path| {
        one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|it| it == one))
    };
    let package = std::fs::read_to_string(web.join("package.json")).unwrap_or_default();
    package.contains("\"name\": \"@kennel/web\"") && same(web.join("../crates/kennel-web"), here)
}

/// Makes the page, and puts it into the crate; else says why not.
fn page(web: &Path, out: &Path, wish: &str, is_ours: bool) -> Result<(), String> {
    if wish == "none" {
        return Err("KENNEL_WEB=none was set when it was built".to_owned());
    }
    if !is_ours {
        return Err(told(&MakeError::NoFolder));
    }
    let made = Maker::new(web, out).page().map_err(|error| told(&error))?;
    let packed = table::write(&made.dist, out);
    packed.map_err(|source| told(&MakeError::Files { what: "packed", source }))
}

/// An error with all its causes.
fn told(error: &MakeError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Cargo takes a line for a warning.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
