//! Launches from a caller with much memory: a fork copies its page tables, a clone that shares
//! memory does not.

use std::hint::black_box;

use anyhow::Result;

use crate::job::WorkerJob;
use crate::launch::{print_measured, time_of, title};
use crate::pen::PenBench;
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};

/// The resident memory of the caller.
const MEGABYTES: &str = "500";

const CONTENDERS: &[&str] = &["kennel-cgroup", "kennel-subtree", "posix-spawn", "std", "fork"];

/// The second half of section A.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    let turns = if run.quick { 50 } else { 200 };
    let rounds = Rounds { warm_up: 20, turns, batch: 10 };
    let contenders: Vec<Contender> = CONTENDERS
        .iter()
        .map(|&word| Contender::new(name(word), &["resident", MEGABYTES, "launch", word]))
        .collect();
    println!("A. the same from a caller with {MEGABYTES} MB resident");
    let measured = interleave(&run.home, &contenders, rounds)?;
    let of = |word| time_of(&measured, name(word));
    let spawn = of("posix-spawn")?;
    print_measured(&measured, &[("posix_spawn", spawn), ("std", of("std")?)]);
    for (word, pen) in [("kennel-cgroup", "cgroup"), ("kennel-subtree", "subtree")] {
        let what = format!("launch from {MEGABYTES} MB: {pen} pen / posix_spawn");
        let ratio = of(word)?.ratio_to(spawn);
        run.targets.push(Target::ratio(&what, ratio, 1.3));
    }
    Ok(())
}

fn name(word: &str) -> &str {
    match word {
        "fork" => "plain fork and exec (no pen)",
        word => title(word),
    }
}

/// Runs a launch job in a process with that much memory.
pub(crate) fn job(megabytes: usize, mut job: WorkerJob) -> Result<WorkerJob> {
    // Not zero, so that every page is written and private.
    let memory = vec![1_u8; megabytes << 20];
    Ok(Box::new(move || {
        black_box(&memory);
        job()
    }))
}
