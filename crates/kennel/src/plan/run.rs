//! Runs a plan from a file, and resumes one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use kennel_types::api::{Environment, OsText, PlanRequest, PlanResumeRequest};
use kennel_types::plan::{PlanSpec, PlanView};

use super::follow::follow;
use super::{PlanOutputArgs, PlanResumeArgs, PlanRunArgs, asked_by, exit_code_of, path, print};
use super::{check, evidence, results};
use crate::command_prelude::*;
use crate::foreground::Signals;
use crate::print::{json, print as put};
use crate::run::client_env;

/// Runs a plan and returns the exit code.
pub(super) fn run(home: &HomeDir, args: &PlanRunArgs) -> Result<u8, CommandError> {
    let spec = read(&args.file)?;
    let inputs = inputs(&args.inputs)?;
    kennel_core::plan::fill_inputs(&spec, &inputs).map_err(|error| usage(&error))?;
    if args.check {
        check::check(home, &spec)?;
        put(&print::outline(&spec))?;
        return Ok(0);
    }
    results::check(args.output.results.as_deref())?;
    let cwd = client_env::folder(args.cwd.as_deref()).map_err(CommandError::setup)?;
    let request = PlanRequest {
        spec,
        inputs,
        env: environment()?,
        cwd: OsText::from(cwd.as_os_str()),
        umask: client_env::umask(),
        limits: client_env::limits(),
        pen: args.pen.into(),
        tied: !args.detach,
        by: asked_by("plan run"),
    };
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on, signals are queued until they are read.
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let plan: PlanView = daemon.post("/v1/plans", &request)?;
    finish(&daemon, plan, args.detach, &args.output, &signals)
}

/// Resumes a plan and returns the exit code.
pub(super) fn resume(home: &HomeDir, args: &PlanResumeArgs) -> Result<u8, CommandError> {
    results::check(args.output.results.as_deref())?;
    let request = PlanResumeRequest {
        replay: args.replay,
        env: environment()?,
        umask: client_env::umask(),
        limits: client_env::limits(),
        tied: !args.detach,
        by: asked_by("plan resume"),
    };
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let plan: PlanView = daemon.post(&path(&args.plan, "/resume"), &request)?;
    finish(&daemon, plan, args.detach, &args.output, &signals)
}

fn finish(
    daemon: &DaemonClient,
    plan: PlanView,
    detach: bool,
    output: &PlanOutputArgs,
    signals: &Signals,
) -> Result<u8, CommandError> {
    if detach {
        put(&format!("{}\n", plan.id))?;
        return Ok(0);
    }
    let plan = follow(daemon, plan, signals, output.quiet || output.json)?;
    if let Some(folder) = &output.results {
        results::write(daemon, &plan, folder)?;
    }
    if output.json {
        json(&plan)?;
    } else {
        put(&print::summary(&plan, &evidence::of(daemon, &plan)))?;
    }
    Ok(exit_code_of(plan.state))
}

fn environment() -> Result<Environment, CommandError> {
    let variables: Vec<(OsString, OsString)> =
        client_env::environment(&[], &[], None).map_err(CommandError::setup)?;
    let text = |text: &OsStr| OsText::from(text);
    Ok(variables.iter().map(|(name, value)| (text(name), text(value))).collect())
}

fn usage(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::because(exit_code::USAGE, error.to_string())
}

/// Reads a plan and the prompt files next to it.
fn read(file: &Path) -> Result<PlanSpec, CommandError> {
    let text = std::fs::read_to_string(file)
        .with_context(|| file.display().to_string())
        .map_err(CommandError::setup)?;
    let name = file.display().to_string();
    let wrong = |error: kennel_core::plan::PlanError| {
        CommandError::because(exit_code::USAGE, error.in_file(&name))
    };
    let mut spec = kennel_core::plan::parse(&text).map_err(wrong)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    for (place, prompt) in spec.prompt_files() {
        let path = folder.join(&prompt);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("prompt of {place}: {}", path.display()))
            .map_err(CommandError::setup)?;
        kennel_core::plan::put_prompt(&mut spec, &place, &text).map_err(wrong)?;
    }
    Ok(spec)
}

fn inputs(given: &[String]) -> Result<BTreeMap<String, String>, CommandError> {
    let mut inputs = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            let text = format!("invalid --set {text:?}: expected NAME=VALUE");
            return Err(CommandError::because(exit_code::USAGE, text));
        };
        if inputs.insert(name.to_owned(), value.to_owned()).is_some() {
            let text = format!("--set {name} is given twice");
            return Err(CommandError::because(exit_code::USAGE, text));
        }
    }
    Ok(inputs)
}
