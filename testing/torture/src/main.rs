//! The torture test: several clients call random commands while processes are killed and paused,
//! disks are full and descriptors are missing. Then an audit checks everything from outside. `cargo
//! xtask torture --seconds N --seed S`.
//!
//! ```text
//! seed ─┬─ epoch 0 ─┬─ client 0 ── ClientCall, … ──► kennel, HTTP ┐
//!       │           ├─ client 1 ── …                              ├─► Ledger ─► judge ─► findings
//!       │           └─ injector ── InjectedFault, … ──► by pidfd ─┘               ▲
//!       └─ epoch 1 …                            agents ── their notes ────────────┘
//! ```
//! The seed decides which calls and faults are drawn, not their timing. To investigate a failure,
//! read the evidence, which is kept, and run the same plan again.

mod audit;
mod bystanders;
mod call;
mod client;
mod counts;
mod epoch;
mod fault;
mod injector;
mod job;
mod judge;
mod ledger;
mod namespace;
mod neighbour;
mod output;
mod processes;
mod random;
mod run_arguments;
mod witness;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use counts::Counts;
use epoch::EpochPlan;
use neighbour::Neighbour;
use random::{RandomStream, random_numbers};

const USAGE: &str = "usage: kennel-torture [--seconds N] [--seed S] [--epoch E]";

/// The command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TortureOptions {
    seconds: u64,
    seed: u64,
    /// Run only this epoch, repeatedly until the time is over.
    epoch: Option<u32>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == namespace::FIRST => namespace::be_first(rest),
        Some((first, rest)) if first == namespace::INSIDE => options(rest).and_then(torture),
        _ => begin(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("torture: {error:#}");
        ExitCode::FAILURE
    })
}

/// Runs outside of the namespace: chooses the seed and prints it before anything can fail.
fn begin(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    println!("torture: seed {} for {} s", options.seed, options.seconds);
    let mut settled = vec!["--seconds".to_owned(), options.seconds.to_string()];
    settled.extend(["--seed".to_owned(), options.seed.to_string()]);
    settled.extend(options.epoch.iter().flat_map(|it| ["--epoch".to_owned(), it.to_string()]));
    namespace::enter(&settled)
}

fn options(arguments: &[String]) -> anyhow::Result<TortureOptions> {
    let mut options =
        TortureOptions { seconds: 60, seed: fastrand::u64(..1_000_000_000), epoch: None };
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        let value = words.next().with_context(|| format!("{flag} needs a value; {USAGE}"))?;
        let number =
            value.parse().with_context(|| format!("{flag} takes a whole number, not {value:?}"))?;
        match flag.as_str() {
            "--seconds" => options.seconds = number,
            "--seed" => options.seed = number,
            "--epoch" => {
                options.epoch = Some(u32::try_from(number).context("--epoch is too large")?)
            }
            _ => bail!("unknown flag {flag:?}; {USAGE}"),
        }
    }
    Ok(options)
}

/// Runs inside of the namespace: one epoch after the other, up to the first one with a finding.
fn torture(options: TortureOptions) -> anyhow::Result<ExitCode> {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut all = Counts::default();
    let mut number = options.epoch.unwrap_or(0);
    let mut played = 0;
    while Instant::now() < end {
        let plan = EpochPlan::draw(&mut random_numbers(options.seed, number, RandomStream::Epoch));
        println!("epoch {number}: {plan:?}");
        let neighbour = Neighbour::new(plan.who, plan.pen);
        let mut outcome = epoch::run(options.seed, number, &plan)?;
        if let Some(neighbour) = neighbour {
            outcome.wrong.extend(neighbour.harmed().inspect(|what| println!("- {what}")));
            neighbour.stop();
        }
        for answer in &outcome.internal {
            println!("  answered with 207: {answer}");
        }
        all.join(&outcome.counts);
        if !outcome.wrong.is_empty() {
            print_failure(options, number, &outcome);
            return Ok(ExitCode::FAILURE);
        }
        played += 1;
        number += u32::from(options.epoch.is_none());
    }
    println!("torture: {played} epochs, no findings; seed {}\n  {all}", options.seed);
    Ok(ExitCode::SUCCESS)
}

fn print_failure(options: TortureOptions, number: u32, outcome: &epoch::EpochOutcome) {
    println!("torture: {} findings in epoch {number}, seed {}", outcome.wrong.len(), options.seed);
    println!("  {}", outcome.counts);
    println!("to repeat the plan: cargo xtask torture --seed {} --epoch {number}", options.seed);
}
