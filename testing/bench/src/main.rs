//! Benchmarks of Kennel: `kennel-bench pen [--quick] [SECTION...]`.
//!
//! Every figure is a median with its ratio to a peer or to a raw floor that was measured in the same
//! run. Each contender has a process of its own ([`worker`]), since a pen owns all children of the
//! process it is in; they take turns in an order that changes, so that noise hits all alike.
//!
//! A target that is not met is a finding and no failure: the exit code is 0 unless the benchmark
//! itself could not be done.

mod agent;
mod baseline;
mod big_caller;
mod bombs;
mod chain;
mod ending;
mod hop;
mod job;
mod launch;
mod machine;
mod pen;
mod raw;
mod stats;
mod sweep;
mod target;
mod worker;

use std::process::ExitCode;

const USAGE: &str = "usage: kennel-bench pen [--quick] [SECTION...]

sections (all of them unless some are named):
  launch    launch /bin/true, reap it, remove the pen; against peers and a raw floor
  big       the same from a caller with 500 MB resident
  end       end a tree of 1,000 setsid'd processes, wide and deep
  hop       end a process that keeps forking and exiting
  baseline  descriptors, memory, pens and children before and after many launches
  bombs     end fork bombs

The fake-agent must lie beside this program: cargo build --release -p fake-agent -p kennel-bench";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.split_first() {
        Some((first, rest)) if first == "pen" => match pen::Choice::parse(rest) {
            Some(choice) => pen::run(&choice),
            None => return usage(),
        },
        Some((first, rest)) if first == worker::ARGUMENT => worker::serve(rest),
        Some((first, rest)) if first == chain::ARGUMENT => return chain::link(rest),
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kennel-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
