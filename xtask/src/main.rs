//! One place for the chores of this workspace: `cargo xtask COMMAND`.

mod agents;
mod bench;
mod browser;
mod cargo;
mod node;
mod openapi;
mod programs;
mod test;
mod torture;
mod vm;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, ensure};

use crate::agents::{Agent, Installed, Outcome};
use crate::cargo::{cargo, run, workspace};

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test              check everything: programs, format, lints, build, tests, the clients in Python and
                    TypeScript, the dashboard in a browser, docs, and that the tests left nothing behind
  test FILTER       only build, and run the tests whose names contain FILTER
  agents [NAME...]  install real agent CLIs from npm, at pinned versions:
                    claude, codex, gemini, opencode, or those named
  agents record [NAME...]
                    run them against the mock of their model APIs and write down what they print, for the
                    tests of kennel-agents [default: those that are installed]; some take minutes
  torture [--seconds N] [--seed S] [--epoch E]
                    random verbs, kills, pauses, full disks and missing descriptors,
                    then an audit from outside [default: 60 s, a seed of its own]
  openapi           write the description of the API anew, from its code
  bench ARGS...     build the benchmarks for release and run them: bench pen [--quick]; `bench web` has the
                    dashboard in a browser
  vm                make a small Debian machine and run the tests of pens, keepers and limits in it,
                    under systemd, as root and as a user with a delegated cgroup
  vm FILTER         only those in test programs with FILTER in their names: kennel-pen/limits

environment:
  KENNEL_AGENTS_DIR          where the agent CLIs are [default: .agents in the workspace]
  KENNEL_TEST_FEW_AGENTS=1   keep `test` from installing gemini and opencode, which are big";

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
        ["agents", "record", names @ ..] => record_agents(names)?,
        ["agents", names @ ..] => install_agents(names)?,
        ["openapi"] => openapi::write()?,
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
        names => parse_agents(names)?,
    };
    programs_of(&wanted).map(drop)
}

/// Records these agents anew, or those that are installed.
fn record_agents(names: &[&str]) -> anyhow::Result<()> {
    let wanted = match names {
        [] => Agent::ALL.into_iter().filter(|agent| agents::is_installed(*agent)).collect(),
        names => parse_agents(names)?,
    };
    ensure!(!wanted.is_empty(), "no agent is installed; `cargo xtask agents` does it");
    let mut command = cargo(&["run", "-p", "kennel-agents", "--example", "record", "--"]);
    command.arg(workspace().join("crates/kennel-agents/fixtures"));
    for (agent, program) in programs_of(&wanted)? {
        let program = program.canonicalize().context("an installed program")?;
        command.arg(format!("{}={}", agent.name(), program.display()));
    }
    run(&mut command)
}

fn parse_agents(names: &[&str]) -> anyhow::Result<Vec<Agent>> {
    names.iter().map(|name| name.parse()).collect()
}

/// The programs of these agents, which are installed if they aren't; a failure if one can't be had.
fn programs_of(wanted: &[Agent]) -> anyhow::Result<Vec<(Agent, PathBuf)>> {
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    for Installed { agent, outcome } in agents::install(wanted)? {
        match outcome {
            Outcome::AlreadyThere(program) | Outcome::Fresh(program) => {
                programs.push((agent, program));
            }
            // The reason has been told on the way.
            Outcome::Unavailable(_) => missing.push(agent.name()),
        }
    }
    ensure!(missing.is_empty(), "not available: {}", missing.join(", "));
    Ok(programs)
}
