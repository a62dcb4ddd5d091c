//! A trial of a pen: a real session whose agent leaves a daemon behind, held and ended.

use std::thread;
use std::time::{Duration, Instant};

use kennel_pen::holder::{Event, Held, HeldError, HeldKind, HolderProgram, Order};
use kennel_pen::{Command, HomeId, PenName, Status};
use kennel_sys::fork::{Forked, fork_alone};
use serde::Serialize;

/// The argument by which the agent of a trial is known.
const TRIAL: &str = "trial-agent-of-kennel-doctor";
/// How long each step may take.
const STEP: Duration = Duration::from_secs(10);
/// How long the daemon would live if nobody ended it.
const DAEMON: Duration = Duration::from_secs(60);

/// What came of the trial of one kind of pen.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Trial {
    /// `cgroup`, `subtree` or `pidns`.
    pub(crate) kind: &'static str,
    /// Whether the daemon was held, ended, and seen to be gone.
    pub(crate) works: bool,
    /// Why not, if not.
    pub(crate) why: Option<String>,
    /// How long it took to end, in milliseconds.
    pub(crate) ended_in_ms: Option<f64>,
}

impl Trial {
    /// Only the folder of a cgroup outlives everybody who was in the pen, and its owner: it bears the id of this
    /// home, if there is one, so that a daemon finds it. The others bear one that nobody has, and so are no strays of
    /// anybody while they are on trial.
    pub(crate) fn hold(kind: &'static str, held: HeldKind, home: Option<&HomeId>) -> Self {
        match try_pen(held, home.filter(|_| held == HeldKind::Cgroup)) {
            Ok(took) => {
                let milliseconds = (took.as_secs_f64() * 10_000.0).round() / 10.0;
                Self { kind, works: true, why: None, ended_in_ms: Some(milliseconds) }
            }
            Err(error) => {
                Self { kind, works: false, why: Some(format!("{error:#}")), ended_in_ms: None }
            }
        }
    }
}

fn try_pen(kind: HeldKind, home: Option<&HomeId>) -> anyhow::Result<Duration> {
    let soon = || Instant::now() + STEP;
    let mut command = Command::new("/proc/self/exe");
    command.arg(TRIAL).folder("/");
    let home = home.cloned().map_or_else(HomeId::random, Ok)?;
    let order = Order::new(PenName::random(home)?, command).kind(kind).linger(STEP);
    let mut held = HolderProgram::this_one().launch(order, soon())?.open(soon())?;
    match wait_exit(&mut held)? {
        Some(Status::Code(0)) => {}
        Some(status) => anyhow::bail!("the agent of the trial {status}"),
        None => anyhow::bail!("the agent of the trial did not exit"),
    }
    wait_for_the_daemon(&mut held)?;
    let start = Instant::now();
    held.kill()?;
    match held.wait_gone(soon())? {
        Some(_) => Ok(start.elapsed()),
        None => anyhow::bail!("the daemon of the trial could not be ended"),
    }
}

/// The one in the middle may take a moment longer than the agent; and a look that falls into the moment
/// in which the daemon gets its new parent does not see it.
fn wait_for_the_daemon(held: &mut Held) -> anyhow::Result<()> {
    let deadline = Instant::now() + STEP;
    loop {
        let left = held.members(deadline)?.into_iter().filter(|member| !member.dead).count();
        if left == 1 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            anyhow::bail!("the trial left one daemon, but the pen sees {left}");
        }
    }
}

fn wait_exit(held: &mut Held) -> Result<Option<Status>, HeldError> {
    let deadline = Instant::now() + STEP;
    loop {
        match held.next_event(deadline)? {
            Some(Event::Exited(status)) => return Ok(Some(status)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
}

/// Plays the agent of a trial and exits, if this process was started as one; else returns at once.
pub(crate) fn take_trial_role() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|arg| arg != TRIAL) || args.next().is_some() {
        return;
    }
    std::process::exit(match leave_a_daemon() {
        Ok(()) => 0,
        Err(_) => 1,
    });
}

/// The classic way to get away: fork, new session, fork again, and the one in the middle exits.
fn leave_a_daemon() -> std::io::Result<()> {
    if let Forked::Parent(_) = fork_alone()? {
        return Ok(());
    }
    rustix::process::setsid()?;
    if let Forked::Parent(_) = fork_alone()? {
        return Ok(());
    }
    let until = Instant::now() + DAEMON;
    while Instant::now() < until {
        thread::park_timeout(DAEMON);
    }
    Ok(())
}
