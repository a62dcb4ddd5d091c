//! Ending a process that keeps forking and exiting, many times: its pid is gone before anybody who
//! has read it can act on it, and `cgroup.kill` has been seen to miss one.

use std::time::{Duration, Instant};

use anyhow::Result;
use kennel_pen::{EndOutcome, HomeId, HostSupport, Pen, PenKind, PenName};

use crate::agent;
use crate::job::{Job, timed};
use crate::pen::Run;
use crate::stats::{Row, nanoseconds, print_table};
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};

/// How long an ending may take before it counts as failed.
const DEADLINE: Duration = Duration::from_secs(10);

/// Section C.
pub(crate) fn section(run: &mut Run) -> Result<()> {
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

/// Three figures: the time, whether it was seen empty, and how long it took to have it there.
pub(crate) fn job(home: &HomeId) -> Result<Job> {
    let (ground, home) = (HostSupport::survey(home), home.clone());
    let mut round = 0;
    Ok(Box::new(move || {
        let (up, mut pen) = timed(|| {
            let name = PenName::random(home.clone())?;
            let mut pen = Pen::create(&ground, name, PenKind::Cgroup)?;
            agent::launch(&mut pen, &["hop", "300"])?;
            Ok(pen)
        })?;
        // At another point of its life each time.
        round = (round + 1) % 32;
        std::thread::sleep(Duration::from_micros(25) * round);
        let (time, end) = timed(|| Ok(pen.end(Instant::now() + DEADLINE)?))?;
        agent::clean_up(pen)?; // its folder can be removed only if nobody is in it
        let empty = u64::from(end == EndOutcome::Empty);
        Ok(vec![nanoseconds(time), empty, nanoseconds(up)])
    }))
}
