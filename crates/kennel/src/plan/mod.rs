//! `kennel plan`: several agents with one cancel.

mod check;
mod evidence;
mod follow;
mod print;
mod results;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kennel_types::api::ByRequest;
use kennel_types::plan::{PlanStatus, PlanView};

use crate::command_error::CommandError;
use crate::connect::{DaemonClient, Patience, StartDaemon, escape};
use crate::exit_code;
use crate::home::Home;
use crate::print::{ColorMode, json, print, width};
use crate::run::PenChoice;

/// The published exit codes of plans.
const EXIT_CODES: &str = "\
Exit codes: 0 if the plan has succeeded; 1 if it has failed, or was refused;
124 if it took too long; 130 if it was cancelled; 201 if the command line or
the plan was not understood; 202 if home or daemon can't be used; 207 if
Kennel itself failed.";

/// The flags of `kennel plan`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Run a plan from a file: stages of agents, one after the other
    ///
    /// Shows a line for each agent while it goes on. Control-C cancels it: every agent is ended, whatever state it is in,
    /// and it is said of each what became of it.
    Run(PlanRunArgs),
    /// List plans
    #[command(visible_alias = "ls")]
    List(PlanListArgs),
    /// Show a plan: each agent, and what became of it
    Show(PlanShowArgs),
    /// End every agent of a plan, and wait until all are gone
    Cancel(PlanCancelArgs),
    /// Go on with a plan that is over: only with what is not done
    Resume(PlanResumeArgs),
}

/// The flags of `kennel plan run`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
struct PlanRunArgs {
    /// Leave it to itself, and print its id
    #[arg(short, long)]
    detach: bool,
    /// A value for an input of the plan
    #[arg(long = "set", value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    /// Only check the plan, and whether its members and the programs of its
    /// agents are here; say what it would do
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    output: PlanOutputArgs,
    /// The folder in which agents work that name none [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// What holds the processes; `kennel doctor` tries each
    #[arg(long, value_enum, default_value_t = PenChoice::Auto)]
    pen: PenChoice,
    /// The plan (see docs/plans.md)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// What is shown and written of a plan that goes on.
#[derive(Debug, Args)]
struct PlanOutputArgs {
    /// Write what each agent has answered to this folder, as STAGE.AGENT.md,
    /// and plan.json with all the rest
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Print the plan as JSON when it is over
    #[arg(long)]
    json: bool,
    /// Don't show how it goes
    #[arg(short, long)]
    quiet: bool,
}

/// The flags of `kennel plan list`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
struct PlanListArgs {
    /// Print JSON, for programs: an array of plans
    #[arg(long)]
    json: bool,
}

/// The flags of `kennel plan show`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct PlanShowArgs {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Its name, its id, or the beginning of that
    #[arg(value_name = "PLAN")]
    plan: String,
}

/// The flags of `kennel plan cancel`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::SHORT_HELP)]
struct PlanCancelArgs {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Its name, its id, or the beginning of that
    #[arg(value_name = "PLAN")]
    plan: String,
}

/// The flags of `kennel plan resume`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
struct PlanResumeArgs {
    /// Leave it to itself
    #[arg(short, long)]
    detach: bool,
    /// Ask those again that may have run, and of which nobody knows how they
    /// ended
    #[arg(long)]
    replay: bool,
    #[command(flatten)]
    output: PlanOutputArgs,
    /// Its name, its id, or the beginning of that
    #[arg(value_name = "PLAN")]
    plan: String,
}

/// Does what was asked.
pub(crate) fn plan(home: &Home, args: &PlanArgs) -> Result<u8, CommandError> {
    match &args.verb {
        PlanVerb::Run(args) => run::run(home, args),
        PlanVerb::Resume(args) => run::resume(home, args),
        PlanVerb::List(args) => {
            let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
            let plans: Vec<PlanView> = daemon.get("/v1/plans")?;
            if args.json {
                json(&plans)?;
            } else {
                print(&print::list(&plans, width(), ColorMode::of_stdout()))?;
            }
            Ok(0)
        }
        PlanVerb::Show(args) => {
            let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
            let plan: PlanView = daemon.get(&path(&args.plan, ""))?;
            if args.json {
                json(&plan)?
            } else {
                print(&print::summary(&plan, &evidence::of(&daemon, &plan)))?
            }
            Ok(0)
        }
        PlanVerb::Cancel(args) => cancel(home, args),
    }
}

fn cancel(home: &Home, args: &PlanCancelArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let by = ByRequest { by: asked_by("plan cancel") };
    let path = path(&args.plan, "/cancel");
    // All of them are waited for.
    let sent = daemon.send("POST", &path, Some(&by), Patience::Endless)?;
    let plan: PlanView = sent.receive()?;
    if args.json {
        json(&plan)?
    } else {
        print(&print::summary(&plan, &evidence::of(&daemon, &plan)))?
    }
    Ok(0)
}

fn path(plan: &str, what: &str) -> String {
    format!("/v1/plans/{}{what}", escape(plan))
}

fn asked_by(verb: &str) -> String {
    format!("kennel {verb} (user {})", rustix::process::getuid().as_raw())
}

/// The exit code of a plan that is over.
fn exit_code_of(status: PlanStatus) -> u8 {
    match status {
        PlanStatus::Succeeded => 0,
        PlanStatus::TimedOut => 124,
        PlanStatus::Cancelled => 130,
        PlanStatus::Failed | PlanStatus::Running | PlanStatus::Stopping => 1,
    }
}
