//! Runs a plan from a file, and resumes one.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kennel_types::api::{CreateRequest, PlanRequest, PlanResumeRequest};
use kennel_types::plan::{PlanAgentStatus, PlanSpec, PlanView};

use super::follow::follow;
use super::{PlanOutputArgs, PlanResumeArgs, PlanRunArgs, asked_by, exit_code_of, path, print};
use super::{check, print_plan};
use crate::ask::answer_of;
use crate::command_prelude::*;
use crate::run::client_env;

pub(super) fn run(home: &HomeDir, args: &PlanRunArgs) -> Result<u8, CommandError> {
    let spec = read(&args.file)?;
    let inputs = inputs(&args.inputs)?;
    kennel_core::plan::fill_inputs(&spec, &inputs).map_err(|error| usage(&error))?;
    if args.check {
        check::check(home, &spec)?;
        print(&print::outline(&spec))?;
        return Ok(0);
    }
    check_results(args.output.results.as_deref())?;
    let CreateRequest { env, cwd, umask, limits, .. } =
        client_env::request(&[], &[], None, args.cwd.as_deref())?;
    let request = PlanRequest {
        spec,
        inputs,
        env,
        cwd,
        umask,
        limits,
        pen: args.pen,
        cancel_on_disconnect: !args.detach,
        by: asked_by("plan run"),
    };
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    // From here on, signals are queued until they are read.
    let signals = Signals::listen()?;
    let plan: PlanView = daemon.post("/v1/plans", &request)?;
    finish(&daemon, plan, args.detach, &args.output, &signals)
}

pub(super) fn resume(home: &HomeDir, args: &PlanResumeArgs) -> Result<u8, CommandError> {
    check_results(args.output.results.as_deref())?;
    let request = PlanResumeRequest {
        replay: args.replay,
        env: client_env::environment(&[], &[], None).map_err(CommandError::setup)?,
        umask: client_env::umask(),
        limits: client_env::limits(),
        cancel_on_disconnect: !args.detach,
        by: asked_by("plan resume"),
    };
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let signals = Signals::listen()?;
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
        print(&format!("{}\n", plan.id))?;
        return Ok(0);
    }
    let plan = follow(daemon, plan, signals, output.quiet || output.json)?;
    if let Some(folder) = &output.results {
        write_results(daemon, &plan, folder)?;
    }
    print_plan(daemon, &plan, output.json)?;
    Ok(exit_code_of(plan.state))
}

fn usage(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::usage(error.to_string())
}

/// Reads a plan and the prompt files next to it.
fn read(file: &Path) -> Result<PlanSpec, CommandError> {
    let text = fs::read_to_string(file)
        .with_context(|| file.display().to_string())
        .map_err(CommandError::setup)?;
    let name = file.display().to_string();
    let wrong = |error: kennel_core::plan::PlanError| CommandError::usage(error.in_file(&name));
    let mut spec = kennel_core::plan::parse(&text).map_err(wrong)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    for (place, prompt) in spec.prompt_files() {
        let path = folder.join(&prompt);
        let text = fs::read_to_string(&path)
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
            return Err(CommandError::usage(text));
        };
        if inputs.insert(name.to_owned(), value.to_owned()).is_some() {
            let text = format!("--set {name} is given twice");
            return Err(CommandError::usage(text));
        }
    }
    Ok(inputs)
}

/// The evidence of each verdict by session id.
pub(super) type Evidence = BTreeMap<String, String>;

/// Fetches the evidence of failed agents. A plan is shown without what can't be fetched.
pub(super) fn evidence(daemon: &DaemonClient, plan: &PlanView) -> Evidence {
    let agents = plan.stages.iter().flat_map(|stage| &stage.agents);
    let failed = agents.filter(|agent| agent.state == PlanAgentStatus::Failed);
    failed
        .filter_map(|agent| {
            let id = agent.session.as_ref()?;
            let judged = daemon.session(id).ok()?.judged?;
            Some((id.clone(), judged.verdict.evidence))
        })
        .collect()
}

/// Creates the folder before the plan starts, so that hours of work are not lost.
fn check_results(folder: Option<&Path>) -> Result<(), CommandError> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder)
        .with_context(|| format!("--results {}", folder.display()))
        .map_err(CommandError::setup)
}

fn write_results(
    daemon: &DaemonClient,
    plan: &PlanView,
    folder: &Path,
) -> Result<(), CommandError> {
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text)
            .with_context(|| path.display().to_string())
            .map_err(CommandError::setup)
    };
    for stage in &plan.stages {
        let done = stage.agents.iter().filter(|it| it.state == PlanAgentStatus::Succeeded);
        for agent in done {
            let Some(session) = &agent.session else { continue };
            let session = daemon.session(session)?;
            let answer = answer_of(&session)?.unwrap_or_default();
            let end = if answer.ends_with('\n') { "" } else { "\n" };
            put(&format!("{}.{}.md", stage.name, agent.name), &format!("{answer}{end}"))?;
        }
    }
    let text = serde_json::to_string_pretty(plan)?;
    put("plan.json", &format!("{text}\n"))
}
