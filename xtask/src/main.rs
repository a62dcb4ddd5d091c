//! The development tasks of this workspace: `cargo xtask COMMAND`.

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

use crate::agents::{Agent, AgentInstall, InstallOutcome};
use crate::cargo::{cargo, run, workspace};
use crate::test::TestRequest;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [--slice N]  check everything: programs, format, lints, build, tests, the Python and TypeScript
                    clients, the dashboard in a browser, docs, and that nothing is left behind. Tests that
                    have many combinations run in one slice of them [default: by the commit's hash]
  test --full       check everything in all combinations; also long explorations, ten minutes of torture,
                    and every benchmark once, quickly
  test FILTER       build, and run only the tests whose names contain FILTER, in all combinations
  agents [NAME...]  install real agent CLIs from npm, at pinned versions
                    [default: claude, codex, gemini, opencode]
  agents record [NAME...]
                    run the agents against a mock of their model APIs, and record their output for the
                    tests of kennel-agents [default: the installed ones]; some take minutes
  torture [--seconds N] [--seed S] [--epoch E]
                    run random commands while processes are killed and paused, disks are full and
                    descriptors are missing, then audit from outside [default: 60 s, a random seed]
  openapi           regenerate openapi.json from the code
  bench NAME [--quick] [ARGS...]
                    build the benchmarks with the `dist` profile, and run one: pen, session, ask, api, web
  vm [FILTER]       create a small Debian virtual machine, and run the tests of pens, keepers and limits
                    in it: under systemd, as root and as a user with a delegated cgroup. FILTER selects
                    test programs by name, such as kennel-pen/limits

environment:
  KENNEL_AGENTS_DIR  folder of the agent CLIs [default: .agents in the workspace]";

/// Why a command failed.
enum CommandError {
    /// The command line is wrong.
    Usage,
    /// The command itself failed.
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        CommandError::Failed(error)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Usage) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(CommandError::Failed(error)) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<(), CommandError> {
    match arguments {
        ["help" | "--help" | "-h"] => println!("{USAGE}"),
        ["test", arguments @ ..] => match TestRequest::parse(arguments) {
            Some(request) => test::run_request(&request)?,
            None => return Err(CommandError::Usage),
        },
        ["agents", "record", names @ ..] => record_agents(names)?,
        ["agents", names @ ..] => install_agents(names)?,
        ["openapi"] => openapi::write()?,
        ["torture", arguments @ ..] => torture::torture(arguments)?,
        ["bench", arguments @ ..] if !arguments.is_empty() => bench::bench(arguments)?,
        ["vm"] => vm::run(None)?,
        ["vm", filter] if !filter.starts_with('-') => vm::run(Some(filter))?,
        _ => return Err(CommandError::Usage),
    }
    Ok(())
}

/// Installs these agents, or all; fails if one is not available.
fn install_agents(names: &[&str]) -> anyhow::Result<()> {
    let wanted = match names {
        [] => Agent::ALL.to_vec(),
        names => parse_agents(names)?,
    };
    programs_of(&wanted).map(drop)
}

/// Records the output of these agents, or of those that are installed.
fn record_agents(names: &[&str]) -> anyhow::Result<()> {
    let wanted = match names {
        [] => Agent::ALL.into_iter().filter(|agent| agents::is_installed(*agent)).collect(),
        names => parse_agents(names)?,
    };
    ensure!(!wanted.is_empty(), "no agent is installed: run `cargo xtask agents` first");
    let mut command = cargo(&["run", "-p", "kennel-agents", "--example", "record", "--"]);
    command.arg(workspace().join("crates/kennel-agents/fixtures"));
    for (agent, program) in programs_of(&wanted)? {
        let program = program.canonicalize().context("can't find an installed program")?;
        command.arg(format!("{}={}", agent.name(), program.display()));
    }
    run(&mut command)
}

fn parse_agents(names: &[&str]) -> anyhow::Result<Vec<Agent>> {
    names.iter().map(|name| name.parse()).collect()
}

/// Returns the programs of these agents, and installs those that are missing; fails if one is not
/// available.
fn programs_of(wanted: &[Agent]) -> anyhow::Result<Vec<(Agent, PathBuf)>> {
    let (mut programs, mut missing) = (Vec::new(), Vec::new());
    for AgentInstall { agent, outcome } in agents::install(wanted)? {
        match outcome {
            InstallOutcome::AlreadyInstalled(program) | InstallOutcome::Fresh(program) => {
                programs.push((agent, program));
            }
            // The reason has been printed already.
            InstallOutcome::Unavailable(_) => missing.push(agent.name()),
        }
    }
    ensure!(missing.is_empty(), "not available: {}", missing.join(", "));
    Ok(programs)
}
