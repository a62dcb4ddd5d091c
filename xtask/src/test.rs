//! `cargo xtask test`: one command that checks everything, on a machine with nothing but Rust.
//!
//! By default it runs every test in one slice of its combinations ([`Scope::Slice`]); `--full` runs
//! all combinations, and what takes too long for every commit.

mod leftovers;
mod needs;
mod packages;
mod scope;
mod sdk_python;
mod sdk_typescript;
mod skips;
mod slowest;
mod web;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::agents;
use crate::bench;
use crate::cargo::{cargo, linting_cargo, run, succeeds, target_folder};
use crate::torture;
pub(crate) use scope::{Scope, TestRequest};
pub(crate) use skips::Skips;

/// Runs the requested tests.
pub(crate) fn run_request(request: &TestRequest) -> anyhow::Result<()> {
    let scope = match request.scope {
        Some(scope) => scope,
        // A filter means that a developer works on these tests: all combinations matter.
        None if request.filter.is_some() => Scope::Full,
        None => Scope::of_commit(),
    };
    println!("{scope}");
    match &request.filter {
        Some(filter) => run_matching(filter, scope),
        None => run_all(scope),
    }
}

/// Runs all steps in order, up to the first failure.
fn run_all(scope: Scope) -> anyhow::Result<()> {
    let skips = Skips::new()?;
    let mut steps = Steps::default();
    steps.run("programs", needs::provide)?;
    steps.run("format", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.run("lints and build, with packages in parallel", || {
        concurrently(|| run(&mut build_command()), || packages::install(&skips, scope))
    })?;
    let before = leftovers::find();
    steps.run("tests", || run_tests(&skips, scope, None))?;
    // The checks of the clients have one thread each, and leave time for the browser.
    steps.run("dashboard, Python and TypeScript clients", || {
        let clients =
            || concurrently(|| sdk_python::check(&skips), || sdk_typescript::check(&skips));
        concurrently(|| web::check(&skips, scope), clients)
    })?;
    steps.run("torture, with doctests in parallel", || {
        let doctests = ["test", "--doc", "--workspace", "--all-features"];
        concurrently(|| torture_for(scope), || run(&mut linting_cargo(&doctests)))
    })?;
    if scope == Scope::Full {
        steps.run("docs", check_docs)?;
        steps.run("long explorations", explore)?;
        steps.run("benchmarks, quickly", || bench::run_each_quickly(&skips))?;
    }
    steps.run("nothing left behind", || leftovers::check(&before))?;
    skips.print()?;
    steps.print();
    println!("{scope}");
    Ok(())
}

/// Builds everything, and runs the tests whose names contain `filter`.
fn run_matching(filter: &str, scope: Scope) -> anyhow::Result<()> {
    let skips = Skips::new()?;
    let mut steps = Steps::default();
    steps.run("lints and build", || run(&mut build_command()))?;
    steps.run("agents", || packages::install_agents(&skips, scope))?;
    steps.run("tests", || run_tests(&skips, scope, Some(filter)))?;
    skips.print()
}

/// The steps done so far, with the time that each took.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn run(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        println!("\n=== {name}");
        let start = Instant::now();
        step().with_context(|| format!("FAILED: {name}"))?;
        let took = start.elapsed();
        println!("=== {name}: done in {:.1} s", took.as_secs_f64());
        self.0.push((name, took));
        Ok(())
    }

    fn print(&self) {
        println!("\n=== everything passed");
        for (name, took) in &self.0 {
            println!("{:8.1} s  {name}", took.as_secs_f64());
        }
        let total: Duration = self.0.iter().map(|(_, took)| took).sum();
        println!("{:8.1} s  total", total.as_secs_f64());
    }
}

/// Checks and compiles everything at once, with all features: the tests and the programs that they
/// start.
fn build_command() -> Command {
    let mut command = linting_cargo(&["build", "--workspace", "--all-targets", "--all-features"]);
    if needs::has_dashboard() {
        // The tests need the dashboard, so a dashboard that can't be built is an error and not a
        // warning.
        command.env("KENNEL_WEB", "require");
    }
    command
}

/// Runs the tests with nextest, or with `cargo test` where nextest is not installed. Both continue
/// after a failure.
fn run_tests(skips: &Skips, scope: Scope, filter: Option<&str>) -> anyhow::Result<()> {
    let what = ["--workspace", "--all-features", "--no-fail-fast"];
    let cores = thread::available_parallelism().map_or(2, NonZero::get);
    let has_nextest = succeeds(&mut cargo(&["nextest", "--version"]));
    let mut command = if has_nextest {
        let slots = (cores * scope.slots()).to_string();
        let mut command = linting_cargo(&["nextest", "run", "--profile", "suite"]);
        command.args(what).args(["--test-threads", &slots]).args(filter);
        command
    } else {
        // More than there are cores, since most tests wait for processes most of the time.
        let threads = (cores * 3 / 2).to_string();
        let mut command = linting_cargo(&["test", "--all-targets"]);
        command.args(what).args(filter).args(["--", "--test-threads", &threads]);
        command
    };
    scope.limit(&mut command);
    command.env("KENNEL_TEST_SKIPS", skips.path());
    // Absolute, because tests run in another working directory.
    command.env("KENNEL_AGENTS_DIR", agents::cache_dir()?);
    let result = run(&mut command);
    if has_nextest {
        slowest::print(&junit_report()?);
    }
    result
}

/// Where nextest writes its JUnit report.
fn junit_report() -> anyhow::Result<PathBuf> {
    Ok(target_folder()?.join("nextest/suite/junit.xml"))
}

/// Runs the torture test: always with the same seed, so that a failure is caused by a change and
/// not by the draw.
fn torture_for(scope: Scope) -> anyhow::Result<()> {
    let seconds = match scope {
        Scope::Slice(_) => "30",
        Scope::Full => "600",
    };
    run(Command::new(torture::program()?).args(["--seconds", seconds, "--seed", "7"]))
}

/// Runs the explorations that are ignored because they take minutes, optimized.
fn explore() -> anyhow::Result<()> {
    let what = ["test", "--profile", "dist", "-p", "kennel-core"];
    let tests = ["--test", "exploration", "--test", "plans", "--", "--ignored"];
    run(&mut cargo(&[&what[..], &tests].concat()))
}

/// Runs two steps at the same time; fails if either fails.
fn concurrently(
    first: impl FnOnce() -> anyhow::Result<()>,
    second: impl FnOnce() -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let second = scope.spawn(second);
        let first = first();
        second.join().map_err(|_| anyhow!("a step panicked"))??;
        first
    })
}

/// Builds the documentation, with warnings as errors.
fn check_docs() -> anyhow::Result<()> {
    let given = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
    let flags = format!("{given} -D warnings");
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    run(command.env("RUSTDOCFLAGS", flags.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn two_concurrent_steps_fail_if_either_fails() {
        assert!(concurrently(|| Ok(()), || Ok(())).is_ok());
        assert!(concurrently(|| bail!("first"), || Ok(())).is_err());
        assert!(concurrently(|| Ok(()), || bail!("second")).is_err());
    }
}
