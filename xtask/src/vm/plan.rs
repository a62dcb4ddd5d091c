//! Which tests run, and as which user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::cargo::{cargo, run};

/// The packages whose tests run, and the programs that these start. (The last one has too many
/// tests for an emulated machine: only those of limits run.)
const PACKAGES: [(&str, &[&str]); 3] = [
    ("kennel-pen", &["fake-agent", "kennel-supervisor"]),
    ("kennel-keeper", &[]),
    ("kennel", &["fake-agent", "kennel"]),
];
/// Test programs that don't run: the first needs cargo, the second is started by other tests.
const NOT_RUN: [&str; 2] = ["kennel-keeper/few_dependencies", "kennel-pen/kennel-supervisor"];

/// The built test programs, and the programs that they start.
pub(super) struct BuiltTests {
    /// The folder of the profile, to which the paths are relative.
    pub(super) folder: PathBuf,
    tests: Vec<TestProgram>,
    started: BTreeSet<&'static str>,
}

/// A test program.
struct TestProgram {
    /// The names of the package and of the program.
    name: String,
    /// Its path in the folder.
    path: PathBuf,
}

impl BuiltTests {
    /// Returns the paths of all programs that this plan needs.
    pub(super) fn files<'a>(&'a self, plan: &'a [PlannedRun]) -> BTreeSet<&'a Path> {
        let run = plan.iter().map(|run| run.path.as_path());
        run.chain(self.started.iter().map(Path::new)).collect()
    }
}

/// One test program as one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedRun {
    /// The user and the environment: a function `in_WHO` of `guest.sh`.
    pub(super) who: &'static str,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) arguments: &'static str,
}

/// Builds the tests: only those of one package, if the filter starts with its name and a slash.
pub(super) fn build(filter: Option<&str>) -> anyhow::Result<BuiltTests> {
    let named = filter.and_then(|filter| filter.split_once('/')).map(|(package, _)| package);
    let wanted = PACKAGES.iter().filter(|(package, _)| named.is_none_or(|named| named == *package));
    let (packages, started): (Vec<&str>, Vec<&[&'static str]>) = wanted.copied().unzip();
    ensure!(
        !packages.is_empty(),
        "tests of {} don't run in the machine",
        named.unwrap_or_default()
    );
    let started: BTreeSet<&str> = started.concat().into_iter().collect();
    let of_packages = packages.iter().flat_map(|package| ["-p", package]);
    if started.contains("fake-agent") {
        run(&mut cargo(&["build", "-p", "fake-agent", "--all-features"]))?;
    }
    let mut arguments = vec!["test", "--no-run", "--all-features", "--message-format=json"];
    arguments.extend(of_packages);
    let built = cargo(&arguments).stderr(Stdio::inherit()).output().context("cargo")?;
    ensure!(built.status.success(), "cargo {}: {}", arguments.join(" "), built.status);
    let text = String::from_utf8(built.stdout).context("cargo printed no text")?;
    let found: Vec<(String, PathBuf)> = text.lines().filter_map(test_program).collect();
    let folder = found.first().and_then(|(_, path)| path.parent()?.parent());
    let folder = folder.context("cargo has built no tests")?.to_owned();
    let relative = |(name, path): &(String, PathBuf)| {
        let path =
            path.strip_prefix(&folder).context("cargo has built tests in more than one folder")?;
        Ok(TestProgram { name: name.clone(), path: path.to_owned() })
    };
    let tests = found.iter().map(relative).collect::<anyhow::Result<_>>()?;
    Ok(BuiltTests { folder, tests, started })
}

/// Returns the name and the path of a test program, if this line of cargo's output describes one.
fn test_program(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let executable = message["executable"].as_str()?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = folder.file_name()?.to_str()?;
    let target = message["target"]["name"].as_str()?;
    Some((format!("{package}/{target}"), executable.into()))
}

/// Returns the runs: everything as root and as a user with a delegated cgroup; tests of limits also
/// without the CPU controller, and without delegation.
pub(super) fn plan(built: &BuiltTests, filter: Option<&str>) -> Vec<PlannedRun> {
    let mut runs = Vec::new();
    for who in ["root", "user", "user_without_cpu", "user_undelegated"] {
        if built.started.contains("kennel") {
            runs.push(doctor(who));
        }
        let delegated = matches!(who, "root" | "user");
        let tests = built.tests.iter().filter(|test| delegated || test.name == "kennel-pen/limits");
        for TestProgram { name, path } in tests {
            if let Some(arguments) = arguments(name) {
                runs.push(PlannedRun { who, name: name.clone(), path: path.clone(), arguments });
            }
        }
    }
    runs.retain(|run| filter.is_none_or(|filter| run.name.contains(filter)));
    // The tests for which the machine exists run first.
    let first = ["kennel-pen/limits", "kennel/end_to_end", "kennel/doctor"];
    runs.sort_by_key(|run| !first.contains(&run.name.as_str()));
    runs
}

fn doctor(who: &'static str) -> PlannedRun {
    PlannedRun { who, name: "kennel/doctor".into(), path: "kennel".into(), arguments: "doctor" }
}

/// Returns the arguments of a test program; `None` if it does not run.
fn arguments(name: &str) -> Option<&'static str> {
    match name {
        "kennel/end_to_end" => Some("--test-threads=1 limits::"),
        _ if name.starts_with("kennel/") || NOT_RUN.contains(&name) => None,
        _ => Some("--test-threads=2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(names: &[&str]) -> BuiltTests {
        let test = |name: &&str| TestProgram { name: (*name).to_owned(), path: "deps/x".into() };
        let tests = names.iter().map(test).collect();
        BuiltTests { folder: "/target/debug".into(), tests, started: BTreeSet::from(["kennel"]) }
    }

    #[test]
    fn names_a_test_after_its_package_and_itself() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/kennel-pen/Cargo.toml",
            "target":{"name":"limits"},"profile":{"test":true},"executable":"/t/debug/deps/limits-1"}"#
            .replace('\n', "");
        let found = test_program(&line);
        assert_eq!(found, Some(("kennel-pen/limits".into(), "/t/debug/deps/limits-1".into())));
        assert_eq!(test_program(&line.replace("true", "false")), None, "a program, not a test");
        assert_eq!(test_program("not JSON"), None);
    }

    #[test]
    fn limits_run_in_every_environment_and_other_tests_only_when_delegated() {
        let built = built(&["kennel-pen/limits", "kennel-keeper/journal", "kennel/kennel"]);
        let who = |name: &str| {
            let runs = plan(&built, None).into_iter().filter(|run| run.name == name);
            runs.map(|run| run.who).collect::<Vec<_>>()
        };
        assert_eq!(who("kennel-pen/limits").len(), 4);
        assert_eq!(who("kennel-keeper/journal"), ["root", "user"]);
        assert!(who("kennel/kennel").is_empty());
        assert!(plan(&built, Some("journal")).iter().all(|run| run.name.contains("journal")));
        assert!(plan(&built, Some("nothing")).is_empty());
    }
}
