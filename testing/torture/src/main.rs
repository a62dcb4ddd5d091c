//! The torture run: random verbs from several clients; random kills, pauses, full disks and missing descriptors; then
//! an audit from outside. `cargo xtask torture --seconds N --seed S`.
//!
//! ```text
//! seed ─┬─ epoch 0 ─┬─ client 0 ── Act, Act, …  ──► kennel, HTTP ──┐
//!       │           ├─ client 1 ── …                               ├──► Ledger ──► judge ──► what is wrong
//!       │           └─ tormentor ─ Blow, Blow, … ──► by handles ───┘      ▲
//!       └─ epoch 1 …                     agents ── what they note ────────┘
//! ```
//! The seed decides what is drawn, not when it happens: a failure is looked into by its evidence, which is kept, and by
//! running the same plan again.

mod act;
mod audit;
mod bystanders;
mod client;
mod draw;
mod epoch;
mod http;
mod job;
mod judge;
mod ledger;
mod namespace;
mod neighbour;
mod output;
mod processes;
mod tally;
mod torment;
mod tormentor;
mod wish;
mod witness;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use draw::{Drawer, dice};
use epoch::Plan;
use neighbour::Neighbour;
use tally::Tally;

const USAGE: &str = "usage: kennel-torture [--seconds N] [--seed S] [--epoch E]";

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Options {
    seconds: u64,
    seed: u64,
    /// Only this one, and as often as there is time for.
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

/// Outside: the seed is settled and told before anything can go wrong.
fn begin(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    println!("torture: seed {} for {} s", options.seed, options.seconds);
    let mut settled = vec!["--seconds".to_owned(), options.seconds.to_string()];
    settled.extend(["--seed".to_owned(), options.seed.to_string()]);
    settled.extend(options.epoch.iter().flat_map(|it| ["--epoch".to_owned(), it.to_string()]));
    namespace::enter(&settled)
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options { seconds: 60, seed: fastrand::u64(..1_000_000_000), epoch: None };
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
            _ => bail!("{flag:?} is no flag; {USAGE}"),
        }
    }
    Ok(options)
}

/// Inside: one epoch after the other, up to the first in which something is wrong.
fn torture(options: Options) -> anyhow::Result<ExitCode> {
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut all = Tally::default();
    let mut number = options.epoch.unwrap_or(0);
    let mut played = 0;
    while Instant::now() < end {
        let plan = Plan::draw(&mut dice(options.seed, number, Drawer::Epoch));
        println!("epoch {number}: {plan:?}");
        let neighbour = Neighbour::new(plan.who, plan.pen);
        let mut outcome = epoch::play(options.seed, number, &plan)?;
        if let Some(neighbour) = neighbour {
            outcome.wrong.extend(neighbour.hit().inspect(|what| println!("- {what}")));
            neighbour.leave();
        }
        for told in &outcome.internal {
            println!("  answered with 207: {told}");
        }
        all.join(&outcome.tally);
        if !outcome.wrong.is_empty() {
            print_failure(options, number, &outcome);
            return Ok(ExitCode::FAILURE);
        }
        played += 1;
        number += u32::from(options.epoch.is_none());
    }
    println!("torture: {played} epochs, nothing wrong; seed {}\n  {all}", options.seed);
    Ok(ExitCode::SUCCESS)
}

fn print_failure(options: Options, number: u32, outcome: &epoch::Outcome) {
    println!(
        "torture: {} things are wrong in epoch {number}, seed {}",
        outcome.wrong.len(),
        options.seed
    );
    println!("  {}", outcome.tally);
    println!("to draw it again: cargo xtask torture --seed {} --epoch {number}", options.seed);
}
