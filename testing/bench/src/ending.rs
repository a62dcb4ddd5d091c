//! Ends a tree of a thousand processes, each in its own session, and waits until the pen is empty.
//!
//! The floor uses a pen too, so that everything but the end is the same, and ends it by
//! hand: one write to `cgroup.kill`, then it waits for `populated 0`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kennel_pen::{EndOutcome, HomeId, HostSupport, Pen, PenName};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::job::{WorkerJob, kind, timed};
use crate::pen::PenBench;
use crate::stats::{Row, nanoseconds, print_table};
use crate::target::Target;
use crate::worker::{Contender, Rounds, interleave};
use crate::{agent, chain};

/// The number of processes besides the agent.
const PROCESSES: &str = "1000";
/// How long the end may take before it counts as failed.
const LONG: Duration = Duration::from_secs(60);
/// How long to wait once a tree is complete, so that all of its processes sleep.
const SETTLING: Duration = Duration::from_millis(20);

/// Section B.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    agent::path()?;
    let turns = if run.quick { 9 } else { 41 };
    for (shape, subtree_limit) in [("wide", 1.5), ("deep", 2.0)] {
        println!("B. end a {shape} tree of {PROCESSES} setsid'd processes, and see it empty");
        shape_section(run, shape, subtree_limit, turns)?;
    }
    Ok(())
}

fn shape_section(run: &mut PenBench, shape: &str, subtree_limit: f64, turns: usize) -> Result<()> {
    let contender = |way: &'static str| Contender::new(way, &["end", shape, way]);
    let contenders = ["cgroup", "subtree", "floor"].map(contender);
    let measured = interleave(&run.home, &contenders, Rounds { warm_up: 1, turns, batch: 1 })?;
    let [cgroup, subtree, floor] = &measured[..] else {
        bail!("three were asked for");
    };
    let (floor, reaped) = (&floor.figures[0], &floor.figures[1]);
    let row = |name, samples| Row { name, samples };
    let rows = [
        row("kennel, cgroup pen", cgroup.time()),
        row("kennel, subtree pen", subtree.time()),
        row("floor: cgroup.kill, populated 0", floor),
        row("floor, then all reaped", reaped),
    ];
    print_table(&rows, &[row("floor", floor), row("reaped", reaped)]);
    println!();
    let mut aim = |pen, ratio, limit| {
        let what = format!("end, {shape}: {pen}");
        run.targets.push(Target::ratio(&what, ratio, limit));
    };
    aim("cgroup pen / floor", cgroup.time().ratio_to(floor), 1.2);
    let subtree = subtree.time().ratio_to(floor);
    aim("subtree pen / floor", subtree, subtree_limit);
    Ok(())
}

/// Returns the job that ends one shape of tree in one way.
pub(crate) fn job(home: &HomeId, shape: &str, way: &str) -> Result<WorkerJob> {
    let shape = TreeShape::parse(shape)?;
    let by_hand = way == "floor";
    let kind = kind(if by_hand { "cgroup" } else { way })?;
    let (support, home) = (HostSupport::survey(home), home.clone());
    Ok(Box::new(move || {
        let mut pen = Pen::create(&support, PenName::random(home.clone())?, kind)?;
        shape.start(&mut pen)?;
        std::thread::sleep(SETTLING);
        let figures = if by_hand { end_by_hand(&pen)? } else { end(&mut pen)? };
        agent::clean_up(pen)?;
        Ok(figures)
    }))
}

/// The shape of a tree.
#[derive(Clone, Copy)]
enum TreeShape {
    /// All are children of the agent.
    Wide,
    /// Each is the child of the previous one.
    Deep,
}

impl TreeShape {
    fn parse(word: &str) -> Result<Self> {
        Ok(match word {
            "wide" => Self::Wide,
            "deep" => Self::Deep,
            _ => bail!("no such shape: {word}"),
        })
    }

    /// Starts the whole tree in the pen.
    fn start(self, pen: &mut Pen) -> Result<()> {
        match self {
            Self::Wide => agent::launch(pen, &["setsid", PROCESSES]),
            Self::Deep => {
                let me = std::env::current_exe()?;
                agent::launch_other(pen, me, &[chain::ARGUMENT, PROCESSES])
            }
        }
    }
}

fn end(pen: &mut Pen) -> Result<Vec<u64>> {
    let (time, end) = timed(|| Ok(pen.end(Instant::now() + LONG)?))?;
    ensure!(end == EndOutcome::Empty, "still alive: {end:?}");
    Ok(vec![nanoseconds(time)])
}

/// Returns two times: until `populated 0`, and until all are reaped too.
fn end_by_hand(pen: &Pen) -> Result<Vec<u64>> {
    let folder = pen.cgroup_path().context("it is a cgroup pen")?;
    let mut kill = OpenOptions::new().write(true).open(folder.join("cgroup.kill"))?;
    let events = File::open(folder.join("cgroup.events"))?;
    let start = Instant::now();
    kill.write_all(b"1")?;
    wait_unpopulated(&events)?;
    let empty = start.elapsed();
    reap_all()?;
    Ok(vec![nanoseconds(empty), nanoseconds(start.elapsed())])
}

fn wait_unpopulated(events: &File) -> Result<()> {
    let mut text = [0; 64];
    loop {
        let length = events.read_at(&mut text, 0)?;
        if text[..length].starts_with(b"populated 0") {
            return Ok(());
        }
        rustix::event::poll(&mut [PollFd::new(events, PollFlags::PRI)], None)?;
    }
}

fn reap_all() -> Result<()> {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
