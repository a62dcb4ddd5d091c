//! Records the output of the real agents, which use the mock of their model APIs. `cargo xtask
//! agents record` runs it.
//!
//! Each scenario is a run with exactly Kennel's arguments, in its own home. The output and the end
//! are written to `FOLDER/<cli>/<scenario>/`, without paths of this machine. The scenarios of an
//! agent run in parallel, because some agents retry for minutes.

mod run;
mod scenarios;
mod scrub;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, bail};
use kennel_agents::Agent;
use kennel_types::AgentSettings;
use mock_llm::Cli;

use run::Program;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((folder, programs)) if !programs.is_empty() => match record(folder, programs) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("record: {error:#}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: record FOLDER CLI=PROGRAM[:SCENARIO,...] ...");
            ExitCode::from(2)
        }
    }
}

fn record(folder: &str, programs: &[String]) -> anyhow::Result<()> {
    for argument in programs {
        let (name, program) = argument.split_once('=').context("CLI=PROGRAM")?;
        let (program, only) = program.split_once(':').unwrap_or((program, ""));
        let cli = Cli::ALL.into_iter().find(|cli| cli.name() == name);
        let cli = cli.with_context(|| format!("no CLI is called {name:?}"))?;
        let settings = AgentSettings { agent: name.to_owned(), ..AgentSettings::default() };
        let agent = Agent::of(&settings)?;
        let path = PathBuf::from(program);
        let version = run::version(&path, &agent)?;
        println!("{name} {version}");
        let program = Program { cli, agent, path, version };
        let only: Vec<&str> = only.split(',').filter(|name| !name.is_empty()).collect();
        record_all(&program, &Path::new(folder).join(name), &only)?;
    }
    Ok(())
}

/// Runs all scenarios of an agent in parallel, or only the named ones.
fn record_all(program: &Program, folder: &Path, only: &[&str]) -> anyhow::Result<()> {
    let mut scenarios = scenarios::of(program.cli);
    scenarios.retain(|scenario| only.is_empty() || only.contains(&scenario.name));
    let failed: Vec<&str> = thread::scope(|scope| {
        let runs: Vec<_> = scenarios
            .iter()
            .map(|scenario| {
                let folder = folder.join(scenario.name);
                (scenario.name, scope.spawn(move || run::record(program, scenario, &folder)))
            })
            .collect();
        runs.into_iter()
            .filter_map(|(name, run)| match run.join() {
                Ok(Ok(summary)) => {
                    println!("  {name}: {summary}");
                    None
                }
                Ok(Err(error)) => {
                    eprintln!("  {name}: {error:#}");
                    Some(name)
                }
                Err(_) => Some(name),
            })
            .collect()
    });
    if !failed.is_empty() {
        bail!("not recorded: {}", failed.join(", "));
    }
    Ok(())
}
