//! Measures durable sessions of `/bin/true` from the request to `Cleaned`, one after another.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::home::{BenchHome, program, run_session};
use super::peers::Tmux;
use super::turns::{Contender, take_turns};
use super::{BenchRun, disk, flushes, request};
use crate::launch::print_measured;
use crate::stats::nanoseconds;
use crate::target::Target;
use crate::worker::{Measured, Rounds};
use kennel_testing::HttpClient;

pub(super) const TRUE: &str = "/bin/true";
const BARE: &str = "bare: std spawn and wait";
const KENNEL: &str = "kennel, this disk";
const JOURNALED: &str = "kennel, journaled ext4 (loop)";
const TMUX: &str = "tmux new-session -d (end not awaited)";
const CLI: &str = "kennel run -d (end not awaited)";

/// Section 1.
pub(super) fn section(run: &mut BenchRun) -> Result<()> {
    println!("1. a durable session of {TRUE}, from the request to Cleaned, one after another");
    let home = run.home("serial")?;
    let journaled = run.journaled_home("serial")?;
    let tmux = Tmux::start(&mut run.guard, &run.folder)?;
    match &journaled {
        Ok(home) => println!("  journaled: {}", disk::describe(&home.folder)?),
        Err(why) => println!("  journaled: skipped: {why}"),
    }
    let measured = measure(run.quick, &home, journaled.as_ref().ok(), tmux.as_ref().ok())?;
    let of =
        |name: &str| measured.iter().find(|measured| measured.name == name).map(Measured::time);
    let bare = of(BARE).context("bare was not measured")?;
    let mut references = vec![("bare", bare)];
    references.extend(of(TMUX).map(|tmux| ("tmux", tmux)));
    print_measured(&measured, &references);
    let kennel = of(KENNEL).context("kennel was not measured")?;
    run.targets.push(Target::ratio("serial: this disk / bare", kennel.ratio_to(bare), 3.5));
    if let Some(journaled) = of(JOURNALED) {
        let ratio = journaled.ratio_to(bare);
        run.targets.push(Target::ratio("serial: journaled ext4 / bare", ratio, 4.0));
    }
    match (of(TMUX), &tmux) {
        (Some(tmux), _) => {
            let ratio = kennel.ratio_to(tmux);
            run.targets.push(Target::ratio("serial: this disk / tmux new-session -d", ratio, 0.75));
        }
        (None, Err(why)) => println!("  tmux: skipped: {why}\n"),
        (None, Ok(_)) => {}
    }
    count_flushes(run, "this disk", &home)?;
    if let Ok(journaled) = &journaled {
        count_flushes(run, "journaled ext4", journaled)?;
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

fn measure(
    quick: bool,
    home: &BenchHome,
    journaled: Option<&BenchHome>,
    tmux: Option<&Tmux>,
) -> Result<Vec<Measured>> {
    let turns = if quick { 30 } else { 200 };
    let mut contenders: Vec<Box<dyn Contender + '_>> =
        vec![Box::new(SerialSessions::new(KENNEL, home)?)];
    if let Some(journaled) = journaled {
        contenders.push(Box::new(SerialSessions::new(JOURNALED, journaled)?));
    }
    contenders.push(Box::new(SerialSpawns));
    if let Some(tmux) = tmux {
        contenders.push(Box::new(NewSession(tmux)));
    }
    contenders.push(Box::new(CommandLine(home)));
    take_turns(&mut contenders, Rounds { warm_up: 20, turns, batch: 10 })
}

fn count_flushes(run: &mut BenchRun, place: &str, home: &BenchHome) -> Result<()> {
    let sessions = if run.quick { 100 } else { 500 };
    match flushes::count(home, sessions)? {
        Ok(counted) => {
            println!("  flushes a session, {place}: {counted}");
            let what = format!("serial: disk flushes a session, {place}");
            run.targets.push(Target::at_most(&what, counted.per_session(), 4.0, "flushes"));
        }
        Err(why) => println!("  flushes a session, {place}: not counted: {why}"),
    }
    Ok(())
}

/// Sessions over the daemon's socket.
struct SerialSessions<'a> {
    name: &'static str,
    home: &'a BenchHome,
    client: HttpClient,
    request: Vec<u8>,
}

impl<'a> SerialSessions<'a> {
    fn new(name: &'static str, home: &'a BenchHome) -> Result<Self> {
        Ok(Self { name, home, client: home.connect()?, request: request::session(&[TRUE])? })
    }
}

impl Contender for SerialSessions<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        run_session(&mut self.client, &self.request)?;
        Ok(nanoseconds(begun.elapsed()))
    }

    fn end(&mut self) -> Result<()> {
        self.home.until_idle()
    }
}

/// Without supervision.
struct SerialSpawns;

impl Contender for SerialSpawns {
    fn name(&self) -> String {
        BARE.to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        spawn_true()?;
        Ok(nanoseconds(begun.elapsed()))
    }
}

/// Spawns a program and waits for it.
pub(super) fn spawn_true() -> Result<()> {
    let status = Command::new(TRUE).env_clear().status()?;
    ensure!(status.success(), "true: {status}");
    Ok(())
}

/// tmux, as a script uses it. It returns when the session is created, not when it has ended.
struct NewSession<'a>(&'a Tmux);

impl Contender for NewSession<'_> {
    fn name(&self) -> String {
        TMUX.to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let begun = Instant::now();
        self.0.new_session()?;
        Ok(nanoseconds(begun.elapsed()))
    }

    fn end(&mut self) -> Result<()> {
        self.0.until_idle()
    }
}

/// Kennel's own command line, used the same way.
struct CommandLine<'a>(&'a BenchHome);

impl Contender for CommandLine<'_> {
    fn name(&self) -> String {
        CLI.to_owned()
    }

    fn round(&mut self) -> Result<u64> {
        let mut command = Command::new(program()?);
        command.arg("--home").arg(&self.0.folder).args(["run", "-d", "--", TRUE]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let begun = Instant::now();
        let status = command.status()?;
        let took = begun.elapsed();
        ensure!(status.success(), "kennel run -d: {status}");
        Ok(nanoseconds(took))
    }

    fn end(&mut self) -> Result<()> {
        self.0.until_idle()
    }
}
