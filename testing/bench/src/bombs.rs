//! Ends fork bombs, in which every process replaces any that dies.

use std::time::{Duration, Instant};

use anyhow::Result;
use kennel_pen::{EndOutcome, HomeId, HostSupport, Pen, PenKind, PenName};

use crate::agent;
use crate::job::{WorkerJob, timed};
use crate::launch::print_measured;
use crate::pen::PenBench;
use crate::stats::nanoseconds;
use crate::target::Target;
use crate::worker::{Contender, Measured, Rounds, interleave};

/// How long the end may take before it counts as failed.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long a bomb runs at its full size.
const SETTLING: Duration = Duration::from_millis(20);

/// Section E.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    agent::path()?;
    let mut contenders = Vec::new();
    for processes in ["50", "200"] {
        for pen in ["cgroup", "subtree"] {
            let name = format!("bomb of {processes}, {pen} pen");
            contenders.push(Contender::new(name, &["bomb", processes, pen]));
        }
    }
    println!("E. end a fork bomb");
    let measured = interleave(&run.home, &contenders, Rounds { warm_up: 0, turns: 5, batch: 1 })?;
    print_measured(&measured, &[]);
    let of = |figures: fn(&Measured) -> u64| measured.iter().map(figures).sum::<u64>();
    let seen = of(|measured| measured.figures[1].sum());
    let all = of(|measured| measured.time().len() as u64);
    run.targets.push(Target::holds(
        "bombs: seen empty every time, within 60 s",
        format!("{seen} of {all}"),
        seen == all,
    ));
    Ok(())
}

/// Returns the job; its figures are the time, and whether the pen was empty.
pub(crate) fn job(home: &HomeId, processes: &str, kind: PenKind) -> Result<WorkerJob> {
    let (support, home, processes) =
        (HostSupport::survey(home), home.clone(), processes.to_owned());
    Ok(Box::new(move || {
        let mut pen = Pen::create(&support, PenName::random(home.clone())?, kind)?;
        agent::launch(&mut pen, &["bomb", &processes, "60"])?;
        std::thread::sleep(SETTLING);
        let (time, end) = timed(|| Ok(pen.end(Instant::now() + DEADLINE)?))?;
        agent::clean_up(pen)?;
        Ok(vec![nanoseconds(time), u64::from(end == EndOutcome::Empty)])
    }))
}
