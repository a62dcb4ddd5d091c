//! One place for the chores of this workspace: `cargo xtask COMMAND`.

mod agents;
mod bench;
mod cargo;
mod programs;
mod test;
mod torture;
mod vm;

use std::process::ExitCode;

use anyhow::ensure;

use crate::agents::{Agent, Outcome};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test              check everything: programs, format, lints, build, tests, docs, and that
                    the tests left nothing behind
  test FILTER       only build, and run the tests whose names contain FILTER
  agents [NAME...]  install real agent CLIs from npm, at pinned versions:
                    claude, codex, gemini, opencode, or those named
  torture [--seconds N] [--seed S] [--epoch E]
                    random verbs, kills, pauses, full disks and missing descriptors,
                    then an audit from outside [default: 60 s, a seed of its own]
  bench ARGS...     build the benchmarks for release and run them: bench pen [--quick]
  vm                make a small Debian machine and run the tests of pens, keepers and limits in it,
                    under systemd, as root and as a user with a delegated cgroup
  vm FILTER         only those in test programs with FILTER in their names: kennel-pen/limits

environment:
  KENNEL_AGENTS_DIR          where the agent CLIs are [default: .agents in the workspace]
  KENNEL_TEST_ALL_AGENTS=1   have `test` install gemini and opencode too, which are big";

/// What went wrong, by whose fault.
enum Failure {
    /// The command line was not understood.
    Usage,
    /// Something failed.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Failed(error)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(Failure::Failed(error)) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<(), Failure> {
    match arguments {
        ["help" | "--help" | "-h"] => println!("{USAGE}"),
        ["test"] => test::everything()?,
        ["test", filter] if !filter.starts_with('-') => test::some(filter)?,
        ["agents", names @ ..] => install_agents(names)?,
        ["torture", arguments @ ..] => torture::torture(arguments)?,
        ["bench", arguments @ ..] if !arguments.is_empty() => bench::bench(arguments)?,
        ["vm"] => vm::run(None)?,
        ["vm", filter] if !filter.starts_with('-') => vm::run(Some(filter))?,
        _ => return Err(Failure::Usage),
    }
    Ok(())
}

/// Installs these agents, or all; a failure if one can't be had.
fn install_agents(names: &[&str]) -> anyhow::Result<()> {
    let wanted = match names {
        [] => Agent::ALL.to_vec(),
        names => names.iter().map(|name| name.parse()).collect::<Result<_, _>>()?,
    };
    let mut missing = Vec::new();
    for installed in agents::install(&wanted)? {
        // How it went, with the path or the reason, has been told on the way.
        if let Outcome::Unavailable(_) = installed.outcome {
            missing.push(installed.agent.name());
        }
    }
    ensure!(missing.is_empty(), "not available: {}", missing.join(", "));
    Ok(())
}
