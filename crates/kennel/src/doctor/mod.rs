//! `kennel doctor`: what this machine offers, found out by trying.

mod advice;
mod api;
mod cleanup;
mod finding;
mod machine;
mod print;
mod trial;

use clap::Args;
use kennel_pen::holder::HeldKind;
use serde::Serialize;

use crate::command_error::CommandError;
use crate::config::{Config, ProfileChoice};
use crate::exit_code;
use crate::home::Home;
use crate::print as paper;
use finding::{Finding, FindingState};
use trial::Trial;
pub(crate) use trial::take_trial_role;

/// The flags of `kennel doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Everything that the doctor found. The names of the fields are stable.
#[derive(Debug, Serialize)]
struct DoctorReport {
    /// Kennel's version.
    version: &'static str,
    /// Whether any sound pen is possible.
    sound: bool,
    /// The pen that a session gets by itself: `cgroup`, `subtree`, or nothing.
    pen: Option<&'static str>,
    /// The trial of each kind of pen.
    pens: Vec<Trial>,
    /// What else was found.
    findings: Vec<Finding>,
    /// What that pen can't promise here.
    cannot_promise: Vec<String>,
    /// How to get better.
    advice: Vec<String>,
}

/// Examines the machine and prints what was found.
pub(crate) fn doctor(
    config: &Config,
    home: Option<&Home>,
    args: &DoctorArgs,
) -> Result<u8, CommandError> {
    let diagnosis = examine(config, home);
    if args.json {
        paper::json(&diagnosis)?;
    } else {
        paper::print(&print::text(&diagnosis))?;
    }
    Ok(if diagnosis.sound { 0 } else { 1 })
}

fn examine(config: &Config, home: Option<&Home>) -> DoctorReport {
    let pens = [
        ("cgroup", HeldKind::Cgroup),
        ("subtree", HeldKind::Subtree),
        ("pidns", HeldKind::Namespace),
    ]
    .map(|(name, kind)| Trial::hold(name, kind, home.map(|home| &home.id)));
    let works = |wanted: &str| pens.iter().any(|trial| trial.kind == wanted && trial.works);
    // What `--pen auto` takes; a namespace changes what a program sees, so it must be asked for.
    let pen = ["cgroup", "subtree"].into_iter().find(|kind| works(kind));
    DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        sound: pen.is_some(),
        pen,
        findings: machine::findings(home)
            .into_iter()
            .chain(configuration(config))
            .chain(cleanup::findings(home))
            .chain(api::finding(home))
            .collect(),
        cannot_promise: advice::cannot(pen, works("pidns")),
        advice: advice::advice(&pens),
        pens: pens.into(),
    }
}

/// The configuration, if there is any or it is wrong.
fn configuration(config: &Config) -> Option<Finding> {
    match config.settings(ProfileChoice::Chosen(None)) {
        Ok(settings) => {
            let path = settings.location.filter(|_| settings.found)?.path;
            Some(Finding::new("config", FindingState::Good, path.display().to_string()))
        }
        Err(error) => Some(Finding::new("config", FindingState::Bad, error.to_string())),
    }
}

const _: () = assert!(exit_code::USAGE > 200, "1 is the doctor's own word");
