//! `kennel doctor`: what this machine offers, found out by trying.

mod finding;
mod machine;
mod print;
mod promise;
mod trial;

use std::io::Write;

use anyhow::Context;
use kennel_pen::holder::HeldKind;
use serde::Serialize;

use crate::cli::DoctorArgs;
use crate::exit_code;
use crate::failure::Failure;
use finding::Finding;
use trial::Trial;
pub(crate) use trial::take_trial_role;

/// Everything that the doctor found. The names of the fields are stable.
#[derive(Debug, Serialize)]
struct Diagnosis {
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
pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let diagnosis = examine();
    if args.json {
        let text = serde_json::to_string_pretty(&diagnosis).context("can't write JSON")?;
        print(&format!("{text}\n"))?;
    } else {
        print(&print::text(&diagnosis))?;
    }
    Ok(if diagnosis.sound { 0 } else { 1 })
}

/// To standard output, where a full disk is an error and no panic.
fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("can't print")
}

fn examine() -> Diagnosis {
    let pens = [
        ("cgroup", HeldKind::Cgroup),
        ("subtree", HeldKind::Subtree),
        ("pidns", HeldKind::Namespace),
    ]
    .map(|(name, kind)| Trial::hold(name, kind));
    let works = |wanted: &str| pens.iter().any(|trial| trial.kind == wanted && trial.works);
    // What `--pen auto` takes; a namespace changes what a program sees, so it must be asked for.
    let pen = ["cgroup", "subtree"].into_iter().find(|kind| works(kind));
    Diagnosis {
        version: env!("CARGO_PKG_VERSION"),
        sound: pen.is_some(),
        pen,
        findings: machine::findings(),
        cannot_promise: promise::cannot(pen, works("pidns")),
        advice: promise::advice(&pens),
        pens: pens.into(),
    }
}

const _: () = assert!(exit_code::USAGE > 200, "1 is the doctor's own word");
