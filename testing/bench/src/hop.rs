//! Ends a process that keeps forking and exiting: its pid is gone before a reader of the pid can
//! use it, and `cgroup.kill` has been observed to miss one.

use std::time::{Duration, Instant};

use anyhow::Result;
use kennel_pen::{EndOutcome, HomeId, HostSupport, Pen, PenKind, PenName};

use crate::agent;
use crate::job::{WorkerJob, timed};
use crate::pen::PenBench;
use crate::stats::{Row, nanoseconds, print_table};
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};

/// How long the end may take before it counts as failed.
const DEADLINE: Duration = Duration::from_secs(10);

/// Section C.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    agent::path()?;
    let turns = if run.quick { 5 } else { 100 };
    let rounds = Rounds { warm_up: 20, turns, batch: 100 };
    println!("C. end a process that keeps forking and exiting, in a cgroup pen");
    let measured = interleave(&run.home, &[Contender::new("hop", &["hop"])], rounds)?;
    let (time, empty) = (&measured[0].figures[0], &measured[0].figures[1]);
    print_table(
        &[
            Row { name: "Pen::end", samples: time },
            Row { name: "(pen, launch and ready)", samples: &measured[0].figures[2] },
        ],
        &[],
    );
    let (seen, all) = (empty.sum(), time.len());
    println!("  seen empty {seen} of {all} times\n");
    run.targets.push(Target::holds(
        "hop: seen empty every time",
        format!("{seen} of {all}"),
        seen == all as u64,
    ));
    Ok(())
}

/// Returns the job; its figures are the time, whether the pen was empty, and the time of the
/// launch.
pub(crate) fn job(home: &HomeId) -> Result<WorkerJob> {
    let (support, home) = (HostSupport::survey(home), home.clone());
    let mut round = 0;
    Ok(Box::new(move || {
        let (up, mut pen) = timed(|| {
            let name = PenName::random(home.clone())?;
            let mut pen = Pen::create(&support, name, PenKind::Cgroup)?;
            agent::launch(&mut pen, &["hop", "300"])?;
            Ok(pen)
        })?;
        // At a different point of its cycle each time.
        round = (round + 1) % 32;
        std::thread::sleep(Duration::from_micros(25) * round);
        let (time, end) = timed(|| Ok(pen.end(Instant::now() + DEADLINE)?))?;
        agent::clean_up(pen)?; // its cgroup can be removed only if it is empty
        let empty = u64::from(end == EndOutcome::Empty);
        Ok(vec![nanoseconds(time), empty, nanoseconds(up)])
    }))
}
