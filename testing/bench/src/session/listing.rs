//! Measures the list of many sessions, against supervisord's list of as many programs.

use std::time::Instant;

use anyhow::{Result, ensure};

use super::home::start_many;
use super::peers::Supervisord;
use super::rest::IDLE;
use super::{BenchRun, request};
use crate::stats::{Samples, nanoseconds, time};
use crate::target::Target;

/// Section 3 of `api`.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a minute")]
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    let (sessions, rounds) = if run.quick { (100, 50) } else { (1000, 500) };
    println!("3. the list of {sessions} running sessions");
    let home = run.home("api-list")?;
    start_many(&home, &request::session(&IDLE)?, sessions)?;
    let mut client = home.connect()?;
    let mut list = || -> Result<usize> {
        let answer = client.request("GET", "/v1/sessions", b"")?;
        ensure!(answer.status == 200, "the list was refused: {}", answer.status);
        Ok(answer.body.len())
    };
    let size = list()?;
    let own = measure(rounds, || list().map(drop))?;
    print("kennel", &own);
    println!("  a list has {} kB", size / 1024);
    let what = format!("api: list of {sessions} sessions, p99");
    run.targets.push(Target::at_most(&what, own.percentile(99) as f64 / 1e6, 10.0, "ms"));
    home.stop()?;
    match Supervisord::start(&mut run.guard, &run.folder, sessions) {
        Err(why) => println!("  supervisord: skipped ({why})\n"),
        Ok(peer) => {
            let theirs = measure(rounds.div_ceil(20), || peer.list(sessions))?;
            print("supervisord (getAllProcessInfo)", &theirs);
            println!();
            let ratio = theirs.median() as f64 / own.median() as f64;
            let what = format!("api: lists of {sessions} a second, against supervisord");
            run.targets.push(Target::at_least(&what, ratio, 10.0));
        }
    }
    Ok(())
}

fn measure(rounds: usize, mut list: impl FnMut() -> Result<()>) -> Result<Samples> {
    let figures = (0..rounds).map(|_| {
        let begun = Instant::now();
        list()?;
        Ok(nanoseconds(begun.elapsed()))
    });
    Ok(Samples::new(figures.collect::<Result<_>>()?, 1))
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of a minute")]
fn print(name: &str, samples: &Samples) {
    println!(
        "  {name:<34} median {}, p99 {}, {:.0} a second",
        time(samples.median()),
        time(samples.percentile(99)),
        1e9 / samples.median() as f64
    );
}
