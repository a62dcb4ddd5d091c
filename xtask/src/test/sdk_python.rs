//! Checks the Python client: that its types match the API, its tests, and that the API conforms to
//! its description.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::skips::Skips;
use crate::cargo::{run, succeeds, target_folder, workspace};
use crate::programs::{self, Program};

/// The client's folder in the workspace.
const FOLDER: &str = "sdk/python";
/// The packages that the checks need, at fixed versions.
const REQUIREMENTS: &str = "requirements-test.txt";

const PYTHON: [Program; 1] = [Program { name: "python3", packages: &["python3", "python3-venv"] }];

/// Runs all checks. The tests need only Python; the other checks need packages, and are skipped if
/// those can't be downloaded.
pub(super) fn check(skips: &Skips) -> anyhow::Result<()> {
    provide_python()?;
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 10))";
    if !succeeds(Command::new("python3").args(["-c", new_enough])) {
        bail!("python3 is too old: the Python client needs Python 3.10 or newer");
    }
    run(python("python3", &["tools/generate_types.py", "--check"])?.current_dir(folder()))?;
    let tests = ["-m", "unittest", "discover", "--start-directory", "tests"];
    run(python("python3", &tests)?.current_dir(folder()))?;
    match environment() {
        Ok(python3) => check_with_packages(&python3),
        Err(error) => skips.add(&format!("types and conformance of the Python client: {error:#}")),
    }
}

/// Checks the types, and sends requests that are generated from the description of the API.
fn check_with_packages(python3: &Path) -> anyhow::Result<()> {
    let python3 = python3.to_str().context("the path of the target folder is not UTF-8")?;
    run(python(python3, &["-m", "mypy"])?.current_dir(folder()))?;
    let conformance = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "."];
    run(python(python3, &conformance)?.current_dir(folder().join("conformance")))
}

/// Installs Python if it is missing and this is possible.
pub(super) fn provide_python() -> anyhow::Result<()> {
    programs::provide(&PYTHON)
}

fn folder() -> PathBuf {
    workspace().join(FOLDER)
}

/// A Python that writes nothing into the sources, and finds the programs under test.
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

/// Returns the interpreter of a virtual environment with the packages. Creates it if it is missing
/// or the packages changed.
pub(super) fn environment() -> anyhow::Result<PathBuf> {
    let folder = target_folder()?.join("sdk-python");
    let (python3, note) = (folder.join("bin/python3"), folder.join(REQUIREMENTS));
    let wanted = self::folder().join(REQUIREMENTS);
    let text = fs::read(&wanted).with_context(|| format!("can't read {}", wanted.display()))?;
    // Written last, so that an unfinished environment is created again.
    if fs::read(&note).is_ok_and(|installed| installed == text)
        && succeeds(Command::new(&python3).arg("--version"))
    {
        return Ok(python3);
    }
    create(&folder)?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    run(Command::new(&python3).args(install).arg(&wanted))?;
    fs::write(&note, text).with_context(|| format!("can't write {}", note.display()))?;
    Ok(python3)
}

/// Creates a virtual environment. Debian has the module for it in a separate package.
fn create(folder: &Path) -> anyhow::Result<()> {
    let create = || run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder));
    if create().is_ok() {
        return Ok(());
    }
    if programs::is_root() && Path::new("/etc/debian_version").exists() {
        programs::apt_get(&["install", "-y", "--no-install-recommends", "python3-venv"])?;
    }
    create().context("on Debian or Ubuntu, run `apt-get install python3-venv` as root")
}
