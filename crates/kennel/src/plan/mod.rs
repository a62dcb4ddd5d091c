//! `kennel plan`: several agents in stages that are cancelled together.

mod check;
mod follow;
mod print;
mod run;

use std::path::PathBuf;

use kennel_types::PenKind;
use kennel_types::api::ByRequest;
use kennel_types::plan::{PlanStatus, PlanView};

use crate::command_prelude::*;
use crate::print::{json_or_text, width};
use crate::run::{PENS, choice};
use crate::verbs::asked_by;

/// The published exit codes of plans.
const EXIT_CODES: &str = "\
Exit codes: 0 if the plan succeeded; 1 if it failed or was refused; 124 if it
timed out; 130 if it was cancelled; 201 for an invalid command line or plan;
202 if home, daemon or a file can't be used; 207 if Kennel itself failed.";

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Run a plan from a file
    ///
    /// Runs the stages of the plan one after the other and shows a line for each agent. Ctrl-C
    /// cancels the plan: every agent is stopped, and the outcome of each is printed.
    Run(PlanRunArgs),
    /// List plans
    #[command(visible_alias = "ls")]
    List(PlanListArgs),
    /// Show a plan and the state of its agents
    Show(NamedPlanArgs),
    /// Stop all agents of a plan and wait until they are gone
    Cancel(NamedPlanArgs),
    /// Resume an ended plan with the agents that have not succeeded
    Resume(PlanResumeArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
struct PlanRunArgs {
    /// Run in the background and print the id
    #[arg(short, long)]
    detach: bool,
    /// Value for an input of the plan; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Only check the plan, its members and the programs of its agents, and
    /// show what it would do
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    output: PlanOutputArgs,
    /// Working folder of agents without one [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Kind of pen that contains the processes; `kennel doctor` tests each
    #[arg(long, default_value = "auto", value_parser = choice(PENS))]
    pen: PenKind,
    /// File with the plan (see docs/plans.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, Args)]
struct PlanOutputArgs {
    /// Write each answer to this folder as STAGE.AGENT.md, and the plan as
    /// plan.json
    #[arg(long, value_name = "DIR", conflicts_with = "detach")]
    results: Option<PathBuf>,
    /// Print the plan as JSON when it has ended
    #[arg(long)]
    json: bool,
    /// Don't show the progress
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
struct PlanListArgs {
    /// Print a JSON array of plans
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct NamedPlanArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "PLAN")]
    plan: String,
}

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
struct PlanResumeArgs {
    /// Run in the background and print the id
    #[arg(short, long)]
    detach: bool,
    /// Also repeat agents that may have run and whose outcome is unknown
    #[arg(long)]
    replay: bool,
    #[command(flatten)]
    output: PlanOutputArgs,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "PLAN")]
    plan: String,
}

pub(crate) fn plan(home: &HomeDir, args: &PlanArgs) -> Result<u8, CommandError> {
    let daemon = || DaemonClient::connect(home, StartDaemon::IfNeeded);
    match &args.verb {
        PlanVerb::Run(args) => run::run(home, args),
        PlanVerb::Resume(args) => run::resume(home, args),
        PlanVerb::List(args) => {
            let plans: Vec<PlanView> = daemon()?.get("/v1/plans")?;
            json_or_text(args.json, &plans, || print::list(&plans, width(), ColorMode::of_stdout()))
        }
        PlanVerb::Show(args) => {
            let daemon = daemon()?;
            print_plan(&daemon, &daemon.get(&path(&args.plan, ""))?, args.json)
        }
        PlanVerb::Cancel(args) => {
            let daemon = daemon()?;
            let by = ByRequest { by: asked_by("plan cancel") };
            // The response arrives when all agents are gone.
            let path = path(&args.plan, "/cancel");
            let sent = daemon.send("POST", &path, Some(&by), Timeout::None)?;
            print_plan(&daemon, &sent.receive()?, args.json)
        }
    }
}

fn print_plan(daemon: &DaemonClient, plan: &PlanView, json: bool) -> Result<u8, CommandError> {
    json_or_text(json, plan, || print::summary(plan, &run::evidence(daemon, plan)))
}

fn path(plan: &str, what: &str) -> String {
    format!("/v1/plans/{}{what}", escape(plan))
}

fn exit_code_of(status: PlanStatus) -> u8 {
    match status {
        PlanStatus::Succeeded => 0,
        PlanStatus::TimedOut => 124,
        PlanStatus::Cancelled => 130,
        PlanStatus::Failed | PlanStatus::Running | PlanStatus::Stopping => 1,
    }
}
