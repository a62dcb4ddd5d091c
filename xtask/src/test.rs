//! `cargo xtask test`: one command that checks everything, on a machine with nothing but Rust.

mod leftovers;
mod needs;
mod sdk_python;
mod sdk_typescript;
mod skips;
mod web;

use std::num::NonZero;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::agents::{self, Agent, Outcome};
use crate::cargo::{cargo, run, succeeds};
use crate::torture;
use skips::Skips;

/// Everything, in order, up to the first failure.
pub(crate) fn everything() -> anyhow::Result<()> {
    let skips = Skips::new()?;
    let mut steps = Steps::default();
    steps.run("programs", needs::provide)?;
    steps.run("format", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.run("lints", lint)?;
    steps.run("build", build)?;
    steps.run("agents", || install_agents(&skips))?;
    let before = leftovers::look();
    steps.run("tests", || run_tests(&skips, None))?;
    steps.run("the Python client", || sdk_python::check(&skips))?;
    steps.run("the TypeScript client", || sdk_typescript::test(&skips))?;
    steps.run("the dashboard", || web::test(&skips))?;
    steps.run("torture, and meanwhile the docs and their examples", || {
        beside(torture_a_while, || {
            test_docs()?;
            document()
        })
    })?;
    steps.run("nothing left behind", || leftovers::check(&before))?;
    skips.print()?;
    steps.print();
    Ok(())
}

/// The tests whose names contain `filter`, and what they need.
pub(crate) fn some(filter: &str) -> anyhow::Result<()> {
    let skips = Skips::new()?;
    let mut steps = Steps::default();
    steps.run("build", build)?;
    steps.run("agents", || install_agents(&skips))?;
    steps.run("tests", || run_tests(&skips, Some(filter)))?;
    skips.print()
}

/// Steps with a name and a time each.
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
        println!("{:8.1} s  in all", total.as_secs_f64());
    }
}

fn lint() -> anyhow::Result<()> {
    let what = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(&mut cargo(&[&what[..], &["--", "-D", "warnings"]].concat()))
}

/// Everything at once, so that the programs that tests start are there, and from the same source. With
/// all features, as the tests: else everything would be built twice.
fn build() -> anyhow::Result<()> {
    run(&mut cargo(&["build", "--workspace", "--all-targets", "--all-features"]))
}

/// The agents that tests drive. Two can be left out: they are big, and start slowly.
fn install_agents(skips: &Skips) -> anyhow::Result<()> {
    let few = std::env::var_os("KENNEL_TEST_FEW_AGENTS").is_some_and(|value| value == "1");
    let mut wanted = Agent::ALL.to_vec();
    wanted.retain(|agent| {
        !few || matches!(agent, Agent::Claude | Agent::Codex) || agents::is_installed(*agent)
    });
    for installed in agents::install(&wanted)? {
        if let Outcome::Unavailable(why) = installed.outcome {
            skips.add(&format!("{}: {why}", installed.agent))?;
        }
    }
    Ok(())
}

/// The tests, by nextest if there is one. Both runners go on after a failure, to name them all.
fn run_tests(skips: &Skips, filter: Option<&str>) -> anyhow::Result<()> {
    let what = ["--workspace", "--all-features", "--no-fail-fast"];
    let threads = threads().to_string();
    let mut command = if succeeds(&mut cargo(&["nextest", "--version"])) {
        let mut command = cargo(&["nextest", "run"]);
        command.args(what).args(["--test-threads", &threads]).args(filter);
        command
    } else {
        let mut command = cargo(&["test", "--all-targets"]);
        command.args(what).args(filter).args(["--", "--test-threads", &threads]);
        command
    };
    command.env("KENNEL_TEST_SKIPS", skips.path());
    // Tests run in another folder than we do.
    command.env("KENNEL_AGENTS_DIR", agents::cache_dir()?);
    run(&mut command)
}

/// How many tests at once: more than there are cores, since most of them wait for processes most of the time.
fn threads() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get) * 3 / 2
}

/// The same plan each time, so that what fails is not the luck of the draw: new ones are drawn by hand.
const SEED: &str = "7";

/// A minute of what nobody thought of. It waits for processes most of the time, and the docs take a core.
fn torture_a_while() -> anyhow::Result<()> {
    run(Command::new(torture::built()?).args(["--seconds", "60", "--seed", SEED]))
}

/// Does both at once; the failure of either is one.
fn beside(
    first: impl FnOnce() -> anyhow::Result<()> + Send,
    second: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        first.join().map_err(|_| anyhow!("it panicked"))??;
        second
    })
}

fn test_docs() -> anyhow::Result<()> {
    run(&mut cargo(&["test", "--doc", "--workspace", "--all-features"]))
}

fn document() -> anyhow::Result<()> {
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
    fn the_failure_of_either_of_two_is_one() {
        assert!(beside(|| Ok(()), || Ok(())).is_ok());
        assert!(beside(|| bail!("first"), || Ok(())).is_err());
        assert!(beside(|| Ok(()), || bail!("second")).is_err());
    }
}
