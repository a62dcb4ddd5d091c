//! Launches `/bin/true`, reaps it, and removes its pen.
//!
//! All contenders pass on their standard streams and an empty environment.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kennel_pen::{
    Command, HomeId, HostSupport, Pen, PenKind, PenName, Status, StdStream, StdStreams,
};
use process_wrap::std::{CommandWrap, ProcessGroup};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use crate::job::{WorkerJob, timed};
use crate::pen::PenBench;
use crate::stats::{Row, Samples, nanoseconds, print_table};
use crate::target::Target;
use crate::worker::{Contender, Measured, Rounds, interleave};
use crate::{raw, sweep};

const TRUE: &str = "/bin/true";
/// A step that takes longer has failed.
const LONG: Duration = Duration::from_secs(10);

/// The jobs, with their names in the tables.
const CONTENDERS: &[(&str, &str)] = &[
    ("kennel-cgroup", "kennel, cgroup pen"),
    ("kennel-subtree", "kennel, subtree pen"),
    ("floor", "raw floor: vfork into a cgroup"),
    ("floor-plain", "raw floor: vfork, no cgroup"),
    ("posix-spawn", "posix_spawn (no pen)"),
    ("std", "std (no pen)"),
    ("tokio", "tokio (no pen)"),
    ("process-wrap", "process-wrap, process group"),
    ("processkit", "processkit, its default"),
];

/// Returns the name of a contender in the tables.
pub(crate) fn title(word: &str) -> &str {
    let known = CONTENDERS.iter().find(|(other, _)| *other == word);
    known.map_or(word, |(_, title)| title)
}

/// Section A.
pub(crate) fn section(run: &mut PenBench) -> Result<()> {
    let turns = if run.quick { 50 } else { 400 };
    let rounds = Rounds { warm_up: 100, turns, batch: 10 };
    let contenders: Vec<Contender> =
        CONTENDERS.iter().map(|(word, title)| Contender::new(*title, &["launch", word])).collect();
    let mechanism = processkit::host_containment().mechanism();
    println!("A. launch /bin/true, reap it, remove the pen (processkit uses {mechanism:?})");
    let measured = interleave(&run.home, &contenders, rounds)?;
    let of = |word| time_of(&measured, title(word));
    let (floor, std) = (of("floor")?, of("std")?);
    let references = [("floor", floor), ("std", std)];
    print_measured(&measured, &references);
    let kennel = of("kennel-cgroup")?;
    run.targets.push(Target::ratio("launch: cgroup pen / raw floor", kennel.ratio_to(floor), 1.10));
    run.targets.push(Target::ratio("launch: cgroup pen / std", kennel.ratio_to(std), 1.15));
    Ok(())
}

/// Returns the times of a contender.
pub(crate) fn time_of<'a>(measured: &'a [Measured], title: &str) -> Result<&'a Samples> {
    let found = measured.iter().find(|measured| measured.name == title);
    found.map(Measured::time).with_context(|| format!("{title} was not measured"))
}

/// Prints the times of all contenders.
pub(crate) fn print_measured(measured: &[Measured], references: &[(&str, &Samples)]) {
    let rows: Vec<Row<'_>> = measured
        .iter()
        .map(|measured| Row { name: &measured.name, samples: measured.time() })
        .collect();
    let references: Vec<Row<'_>> =
        references.iter().map(|&(name, samples)| Row { name, samples }).collect();
    print_table(&rows, &references);
    println!();
}

/// Returns the job of a contender.
pub(crate) fn job(home: &HomeId, contender: &str) -> Result<WorkerJob> {
    let home = home.clone();
    Ok(match contender {
        "kennel-cgroup" => kennel(home, PenKind::Cgroup),
        "kennel-subtree" => kennel(home, PenKind::Subtree),
        "floor" => floor()?,
        "floor-plain" => {
            let mut stack = raw::Stack::new();
            repeat(move || wait_for(&raw::vfork_true(None, &mut stack)?))
        }
        "posix-spawn" => repeat(|| wait_for_pid(raw::posix_spawn_true()?)),
        "fork" => repeat(|| wait_for_pid(raw::fork_true()?)),
        "std" => repeat(with_std),
        "process-wrap" => repeat(with_process_wrap),
        "tokio" => {
            let runtime = runtime()?;
            repeat(move || runtime.block_on(with_tokio()))
        }
        "processkit" => {
            let runtime = runtime()?;
            repeat(move || runtime.block_on(with_processkit()))
        }
        _ => bail!("unknown contender: {contender}"),
    })
}

/// Returns a job whose figure is the time that `work` takes.
fn repeat(mut work: impl FnMut() -> Result<()> + 'static) -> WorkerJob {
    Box::new(move || Ok(vec![nanoseconds(timed(&mut work)?.0)]))
}

fn kennel(home: HomeId, kind: PenKind) -> WorkerJob {
    let support = HostSupport::survey(&home);
    repeat(move || with_kennel(&support, &home, kind))
}

/// Creates a pen, launches, reaps, and removes the pen.
pub(crate) fn with_kennel(support: &HostSupport, home: &HomeId, kind: PenKind) -> Result<()> {
    let deadline = Instant::now() + LONG;
    let mut pen = Pen::create(support, PenName::random(home.clone())?, kind)?;
    let mut command = Command::new(TRUE);
    command.streams(StdStreams::Each {
        stdin: StdStream::Inherit,
        stdout: StdStream::Inherit,
        stderr: StdStream::Inherit,
    });
    pen.launch(command)?.open(deadline)?;
    let status = pen.wait_agent(deadline)?;
    ensure!(status == Some(Status::Code(0)), "true: {status:?}");
    pen.remove()?;
    Ok(())
}

/// The system calls that every cgroup pen needs.
fn floor() -> Result<WorkerJob> {
    let support = HostSupport::look();
    let base = match support.cgroup() {
        Ok(base) => open_folder(base.path())?,
        Err(why) => bail!("no cgroup: {why}"),
    };
    let name = format!("{}{}", sweep::FLOOR_PREFIX, std::process::id());
    let mut stack = raw::Stack::new();
    Ok(repeat(move || {
        rustix::fs::mkdirat(&base, name.as_str(), Mode::from(0o755))?;
        let started = floor_start(&base, &name, &mut stack);
        rustix::fs::unlinkat(&base, name.as_str(), AtFlags::REMOVEDIR)?;
        started
    }))
}

fn floor_start(base: &OwnedFd, name: &str, stack: &mut raw::Stack) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(base, name, flags, Mode::empty())?;
    wait_for(&raw::vfork_true(Some(folder.as_fd()), stack)?)
}

fn open_folder(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn wait_for(pidfd: &OwnedFd) -> Result<()> {
    let status = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED)?;
    let code = status.and_then(|status| status.exit_status());
    ensure!(code == Some(0), "true: {code:?}");
    Ok(())
}

fn wait_for_pid(pid: Pid) -> Result<()> {
    let status = waitpid(Some(pid), WaitOptions::empty())?;
    let code = status.and_then(|(_, status)| status.exit_status());
    ensure!(code == Some(0), "true: {code:?}");
    Ok(())
}

fn with_std() -> Result<()> {
    let status = std::process::Command::new(TRUE).env_clear().status()?;
    ensure!(status.success(), "true: {status}");
    Ok(())
}

fn with_process_wrap() -> Result<()> {
    let mut command = CommandWrap::with_new(TRUE, |command| {
        command.env_clear();
    });
    let mut child = command.wrap(ProcessGroup::leader()).spawn()?;
    let status = child.wait()?;
    ensure!(status.success(), "true: {status}");
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

async fn with_tokio() -> Result<()> {
    let status = tokio::process::Command::new(TRUE).env_clear().status().await?;
    ensure!(status.success(), "true: {status}");
    Ok(())
}

async fn with_processkit() -> Result<()> {
    let command = processkit::Command::new(TRUE)
        .env_clear()
        .inherit_stdin()
        .stdout(processkit::StdioMode::Inherit)
        .stderr(processkit::StdioMode::Inherit);
    let outcome = command.start().await?.wait().await?;
    ensure!(outcome.code() == Some(0), "true: {outcome:?}");
    Ok(())
}
