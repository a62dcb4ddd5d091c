//! Which tests there are, and as whom each is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::cargo::{cargo, run};

/// The packages whose tests are run, and the programs that these start. (Of the last one's there are far too many for
/// an emulated machine: only those of limits.)
const PACKAGES: [(&str, &[&str]); 3] = [
    ("kennel-pen", &["fake-agent", "kennel-holder"]),
    ("kennel-keeper", &[]),
    ("kennel", &["fake-agent", "kennel"]),
];
/// One asks cargo, which the machine has not; the other is a program that others start, without a test of its own.
const NOT_RUN: [&str; 2] = ["kennel-keeper/few_dependencies", "kennel-pen/kennel-holder"];

/// The test programs, and where they and those that they start are.
pub(super) struct Built {
    /// The folder of the profile, in which the programs have their paths.
    pub(super) folder: PathBuf,
    tests: Vec<Test>,
    started: BTreeSet<&'static str>,
}

/// A test program.
struct Test {
    /// The package's name and its own.
    name: String,
    /// Where it is, in the folder.
    path: PathBuf,
}

impl Built {
    /// All that the machine needs for this plan, by their paths in the folder.
    pub(super) fn files<'a>(&'a self, plan: &'a [Run]) -> BTreeSet<&'a Path> {
        let run = plan.iter().map(|run| run.path.as_path());
        run.chain(self.started.iter().map(Path::new)).collect()
    }
}

/// One program as one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// As whom, and where: a function `in_WHO` of `guest.sh`.
    pub(super) who: &'static str,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) arguments: &'static str,
}

/// Builds the tests: of one package, if the filter begins with its name and a slash.
pub(super) fn build(filter: Option<&str>) -> anyhow::Result<Built> {
    let named = filter.and_then(|filter| filter.split_once('/')).map(|(package, _)| package);
    let wanted = PACKAGES.iter().filter(|(package, _)| named.is_none_or(|named| named == *package));
    let (packages, started): (Vec<&str>, Vec<&[&'static str]>) = wanted.copied().unzip();
    ensure!(!packages.is_empty(), "no tests of {} are run", named.unwrap_or_default());
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
    let folder = folder.context("cargo has built no test")?.to_owned();
    let relative = |(name, path): &(String, PathBuf)| {
        let path = path.strip_prefix(&folder).context("tests in more than one folder")?;
        Ok(Test { name: name.clone(), path: path.to_owned() })
    };
    let tests = found.iter().map(relative).collect::<anyhow::Result<_>>()?;
    Ok(Built { folder, tests, started })
}

/// The name and the program of a test, if this line of cargo's tells of one.
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

/// What is run: everything as root and as a user to whom a part of the hierarchy is delegated; what is about limits
/// also where less is, or nothing.
pub(super) fn plan(built: &Built, filter: Option<&str>) -> Vec<Run> {
    let mut runs = Vec::new();
    for who in ["root", "user", "user_without_cpu", "user_undelegated"] {
        if built.started.contains("kennel") {
            runs.push(doctor(who));
        }
        let delegated = matches!(who, "root" | "user");
        let tests = built.tests.iter().filter(|test| delegated || test.name == "kennel-pen/limits");
        for Test { name, path } in tests {
            if let Some(arguments) = arguments(name) {
                runs.push(Run { who, name: name.clone(), path: path.clone(), arguments });
            }
        }
    }
    runs.retain(|run| filter.is_none_or(|filter| run.name.contains(filter)));
    // What the machine is there for comes first.
    let first = ["kennel-pen/limits", "kennel/end_to_end", "kennel/doctor"];
    runs.sort_by_key(|run| !first.contains(&run.name.as_str()));
    runs
}

fn doctor(who: &'static str) -> Run {
    Run { who, name: "kennel/doctor".into(), path: "kennel".into(), arguments: "doctor" }
}

/// What a test program is told; none if it is not run at all.
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

    fn built(names: &[&str]) -> Built {
        let test = |name: &&str| Test { name: (*name).to_owned(), path: "deps/x".into() };
        let tests = names.iter().map(test).collect();
        Built { folder: "/target/debug".into(), tests, started: BTreeSet::from(["kennel"]) }
    }

    #[test]
    fn a_test_is_known_by_its_package_and_its_own_name() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/kennel-pen/Cargo.toml",
            "target":{"name":"limits"},"profile":{"test":true},"executable":"/t/debug/deps/limits-1"}"#
            .replace('\n', "");
        let found = test_program(&line);
        assert_eq!(found, Some(("kennel-pen/limits".into(), "/t/debug/deps/limits-1".into())));
        assert_eq!(test_program(&line.replace("true", "false")), None, "a program, not a test");
        assert_eq!(test_program("not JSON"), None);
    }

    #[test]
    fn limits_are_tried_everywhere_and_others_where_they_can_be_had() {
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
