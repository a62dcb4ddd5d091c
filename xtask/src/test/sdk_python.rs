//! The Python client: that its types are those of the API, its own tests, and the API held against its description.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::skips::Skips;
use crate::cargo::{run, succeeds, target_folder, workspace};
use crate::programs::{self, Program};

/// Its folder in the workspace.
const FOLDER: &str = "sdk/python";
/// What its checks need, at fixed versions.
const REQUIREMENTS: &str = "requirements-test.txt";

const PYTHON: [Program; 1] = [Program { name: "python3", packages: &["python3", "python3-venv"] }];

/// All of it. The tests need nothing but Python; what else there is needs packages, and is left out if there is no way to
/// get them.
pub(super) fn check(skips: &Skips) -> anyhow::Result<()> {
    programs::provide(&PYTHON)?;
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 10))";
    if !succeeds(Command::new("python3").args(["-c", new_enough])) {
        bail!("the Python client needs Python 3.10 or newer, and python3 is older");
    }
    run(python("python3", &["tools/generate_types.py", "--check"])?.current_dir(folder()))?;
    let tests = ["-m", "unittest", "discover", "--start-directory", "tests"];
    run(python("python3", &tests)?.current_dir(folder()))?;
    match environment() {
        Ok(python3) => check_with_packages(&python3),
        Err(error) => skips.add(&format!("types and conformance of the Python client: {error:#}")),
    }
}

/// Its types, and requests made from the description of the API.
fn check_with_packages(python3: &Path) -> anyhow::Result<()> {
    let python3 = python3.to_str().context("a target folder with an odd name")?;
    run(python(python3, &["-m", "mypy"])?.current_dir(folder()))?;
    let conformance = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "."];
    run(python(python3, &conformance)?.current_dir(folder().join("conformance")))
}

fn folder() -> PathBuf {
    workspace().join(FOLDER)
}

/// Leaves nothing in the sources, and finds the programs that were built.
fn python(program: &str, arguments: &[&str]) -> anyhow::Result<Command> {
    let target = target_folder()?;
    let scratch = target.join("sdk-python-scratch");
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", folder().join("src"));
    command.env("MYPY_CACHE_DIR", scratch.join("mypy"));
    command.env("HYPOTHESIS_STORAGE_DIRECTORY", scratch.join("hypothesis"));
    command.env("KENNEL_TEST_PROGRAMS", target.join("debug"));
    Ok(command)
}

/// The interpreter of a virtual environment with what is needed, which is made if it isn't there or needs other things now.
fn environment() -> anyhow::Result<PathBuf> {
    let place = target_folder()?.join("sdk-python");
    let (python3, note) = (place.join("bin/python3"), place.join(REQUIREMENTS));
    let wanted = folder().join(REQUIREMENTS);
    let text = fs::read(&wanted).with_context(|| format!("can't read {}", wanted.display()))?;
    // Written last, so that one that was not finished is made anew.
    if fs::read(&note).is_ok_and(|there| there == text)
        && succeeds(Command::new(&python3).arg("--version"))
    {
        return Ok(python3);
    }
    make(&place)?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&python3).args(install).arg(&wanted))?;
    fs::write(&note, text).with_context(|| format!("can't write {}", note.display()))?;
    Ok(python3)
}

/// Debian has what makes one in a package of its own.
fn make(place: &Path) -> anyhow::Result<()> {
    let make = || run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(place));
    if make().is_ok() {
        return Ok(());
    }
    if programs::is_root() && Path::new("/etc/debian_version").exists() {
        programs::apt_get(&["install", "-y", "--no-install-recommends", "python3-venv"])?;
    }
    make().context("on Debian or Ubuntu it needs `apt-get install python3-venv` as root")
}
