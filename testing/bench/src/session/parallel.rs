//! Measures how many sessions of `/bin/true` run in a second, eight at once.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::home::{BenchHome, run_session};
use super::peers::{self, AT_ONCE, Peer, Tmux, at_once};
use super::turns::{Contender, take_turns};
use super::{BenchRun, request, serial};
use crate::stats::{Samples, nanoseconds};
use crate::worker::{Measured, Rounds};

/// Section 2.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    println!("2. {} of {AT_ONCE} at once, seen to end", serial::TRUE);
    let home = run.home("parallel")?;
    let journaled = run.journaled_home("parallel")?;
    let tmux = Tmux::start(&mut run.guard, &run.folder)?;
    let mut skipped = Vec::new();
    let mut peers: Vec<Box<dyn Peer + '_>> =
        vec![Box::new(ParallelSessions::new("this disk", &home)?)];
    match &journaled {
        Ok(home) => peers.push(Box::new(ParallelSessions::new("journaled ext4 (loop)", home)?)),
        Err(why) => skipped.push(format!("journaled ext4: {why}")),
    }
    peers.push(Box::new(ParallelSpawns));
    match &tmux {
        Ok(tmux) => peers.push(Box::new(tmux)),
        Err(why) => skipped.push(format!("tmux: {why}")),
    }
    if run.peers {
        let (others, missing) = peers::others(&mut run.guard, &run.folder);
        peers.extend(others.into_iter().map(|peer| peer as Box<dyn Peer + '_>));
        skipped.extend(missing);
    } else {
        skipped.push("supervisord, pm2, conmon: only with --peers".to_owned());
    }
    let turns = if run.quick { 5 } else { 15 };
    let rounds = Rounds { warm_up: 1, turns, batch: 1 };
    let mut contenders: Vec<Box<dyn Contender + '_>> = peers
        .into_iter()
        .map(|peer| Box::new(Throughput(peer)) as Box<dyn Contender + '_>)
        .collect();
    let measured = take_turns(&mut contenders, rounds)?;
    drop(contenders);
    print(&measured);
    for why in skipped {
        println!("  skipped: {why}");
    }
    println!();
    if let Ok(tmux) = tmux {
        tmux.stop()?;
    }
    for home in [Some(home), journaled.ok()].into_iter().flatten() {
        home.stop()?;
    }
    Ok(())
}

fn print(measured: &[Measured]) {
    println!("  {:<44}{:>12}{:>12}{:>12}{:>10}", "a second", "p25", "median", "p75", "x bare");
    let bare = measured.iter().find(|measured| measured.name == BARE).map(Measured::time);
    for Measured { name, figures } in measured {
        let time = &figures[0];
        // The slowest quarter of the times has the lowest rates.
        let rates = [75, 50, 25].map(|percent| per_second(time.percentile(percent)));
        let [low, middle, high] = rates.map(|rate| format!("{rate:>12.0}"));
        let ratio = bare.map_or(f64::NAN, |bare: &Samples| bare.ratio_to(time));
        println!("  {name:<44}{low}{middle}{high}{ratio:>10.3}");
    }
}

fn per_second(nanoseconds: u64) -> f64 {
    1.0 / Duration::from_nanos(nanoseconds.max(1)).as_secs_f64()
}

/// The time of one session when many run at once.
struct Throughput<'a>(Box<dyn Peer + 'a>);

impl Contender for Throughput<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn round(&mut self) -> Result<u64> {
        let count = self.0.batch();
        let took = self.0.run(count)?;
        Ok(nanoseconds(took) / count as u64)
    }
}

/// Sessions over the daemon's socket.
struct ParallelSessions<'a> {
    place: &'static str,
    home: &'a BenchHome,
    request: Vec<u8>,
}

impl<'a> ParallelSessions<'a> {
    fn new(place: &'static str, home: &'a BenchHome) -> Result<Self> {
        Ok(Self { place, home, request: request::session(&[serial::TRUE])? })
    }
}

impl Peer for ParallelSessions<'_> {
    fn name(&self) -> String {
        format!("kennel, {}", self.place)
    }

    fn batch(&self) -> usize {
        400
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let begun = Instant::now();
        let run = |client: &mut _, _| run_session(client, &self.request);
        at_once(count, || self.home.connect(), run)?;
        self.home.until_idle()?;
        Ok(begun.elapsed())
    }
}

const BARE: &str = "bare: std spawn and wait";

/// Without supervision.
struct ParallelSpawns;

impl Peer for ParallelSpawns {
    fn name(&self) -> String {
        BARE.to_owned()
    }

    fn batch(&self) -> usize {
        400
    }

    fn run(&mut self, count: usize) -> Result<Duration> {
        let begun = Instant::now();
        at_once(count, || Ok(()), |(), _| serial::spawn_true())?;
        Ok(begun.elapsed())
    }
}
