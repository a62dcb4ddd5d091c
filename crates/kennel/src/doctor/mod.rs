//! `kennel doctor`: checks what this machine supports.

mod advice;
mod daemon;
mod machine;
mod print;
mod trial;

use kennel_pen::PenKind;
use serde::Serialize;

use crate::command_prelude::*;
use crate::config::{Config, ProfileChoice};
use crate::print as output;
use FindingState::{Bad, Good};
use trial::Trial;
pub(crate) use trial::take_trial_role;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of all checks. The names of the fields are stable.
#[derive(Debug, Serialize)]
struct DoctorReport {
    version: &'static str,
    /// Whether any pen works reliably.
    sound: bool,
    /// The default pen: `cgroup`, `subtree`, or nothing.
    pen: Option<&'static str>,
    pens: Vec<Trial>,
    findings: Vec<Finding>,
    /// What the default pen can't guarantee on this machine.
    cannot_promise: Vec<String>,
    advice: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingState {
    Good,
    /// Something optional is missing.
    Fair,
    /// Something will fail.
    Bad,
}

#[derive(Debug, Clone, Serialize)]
struct Finding {
    /// The name of the check, which is stable.
    id: &'static str,
    state: FindingState,
    found: String,
}

impl Finding {
    fn new(id: &'static str, state: FindingState, found: impl Into<String>) -> Self {
        Self { id, state, found: found.into() }
    }
}

pub(crate) fn doctor(
    config: &Config,
    home: Option<&HomeDir>,
    args: &DoctorArgs,
) -> Result<u8, CommandError> {
    let report = examine(config, home);
    output::json_or_text(args.json, &report, || print::text(&report))?;
    Ok(if report.sound { 0 } else { 1 })
}

fn examine(config: &Config, home: Option<&HomeDir>) -> DoctorReport {
    let pens =
        [("cgroup", PenKind::Cgroup), ("subtree", PenKind::Subtree), ("pidns", PenKind::Pidns)]
            .map(|(name, kind)| Trial::run(name, kind, home.map(|home| &home.id)));
    let works = |wanted: &str| pens.iter().any(|trial| trial.kind == wanted && trial.works);
    // The choice of `--pen auto`: never a namespace, which changes what a program sees.
    let pen = ["cgroup", "subtree"].into_iter().find(|kind| works(kind));
    DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        sound: pen.is_some(),
        pen,
        findings: machine::findings(home)
            .into_iter()
            .chain(configuration(config))
            .chain(daemon::findings(home))
            .collect(),
        cannot_promise: advice::cannot(pen, works("pidns")),
        advice: advice::advice(&pens),
        pens: pens.into(),
    }
}

/// Checks the configuration, if there is one.
fn configuration(config: &Config) -> Option<Finding> {
    match config.settings(ProfileChoice::Selected(None)) {
        Ok(settings) => {
            let path = settings.location.filter(|_| settings.exists)?.path;
            Some(Finding::new("config", Good, path.display().to_string()))
        }
        Err(error) => Some(Finding::new("config", Bad, error.to_string())),
    }
}

const _: () = assert!(exit_code::USAGE > 200, "1 is the doctor's own code");
