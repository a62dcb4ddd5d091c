//! The test of a pen: a real command in a pen leaves a daemon behind, which the pen must contain
//! and end.

use std::thread;
use std::time::{Duration, Instant};

use kennel_pen::PenKind;
use kennel_pen::supervise::PenEvent;
use kennel_pen::supervisor::{
    PenLaunch, SupervisorError, SupervisorEvent, SupervisorHandle, SupervisorProgram,
};
use kennel_pen::{Command, HomeId, PenName, Status};
use kennel_sys::process::{Forked, fork_alone};
use serde::Serialize;

/// The argument that identifies the command of a test.
const TRIAL: &str = "trial-agent-of-kennel-doctor";
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the daemon lives if it is not ended.
const DAEMON_LIFETIME: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Trial {
    /// `cgroup`, `subtree` or `pidns`.
    pub(crate) kind: &'static str,
    /// Whether the daemon was contained, ended, and seen to be gone.
    pub(crate) works: bool,
    pub(crate) why: Option<String>,
    pub(crate) ended_in_ms: Option<f64>,
}

impl Trial {
    /// Tests one kind of pen.
    ///
    /// Only a cgroup's folder can outlive the test. It gets the id of this home, so that a daemon
    /// can remove it. The other pens get a random id, so that no home reports their processes as
    /// strays.
    pub(crate) fn run(kind: &'static str, held: PenKind, home: Option<&HomeId>) -> Self {
        match try_pen(held, home.filter(|_| held == PenKind::Cgroup)) {
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

fn try_pen(kind: PenKind, home: Option<&HomeId>) -> anyhow::Result<Duration> {
    let soon = || Instant::now() + STEP_TIMEOUT;
    let mut command = Command::new("/proc/self/exe");
    command.arg(TRIAL).folder("/");
    let home = home.cloned().map_or_else(HomeId::random, Ok)?;
    let mut launch = PenLaunch::new(PenName::random(home)?, command);
    (launch.kind, launch.linger) = (kind, STEP_TIMEOUT);
    let mut held = SupervisorProgram::this_one().launch(launch, soon())?.open(soon())?;
    match wait_exit(&mut held)? {
        Some(Status::Code(0)) => {}
        Some(status) => anyhow::bail!("the test command {status}"),
        None => anyhow::bail!("the test command did not exit"),
    }
    wait_for_daemon(&mut held)?;
    let start = Instant::now();
    held.kill()?;
    match held.wait_gone(soon())? {
        Some(_) => Ok(start.elapsed()),
        None => anyhow::bail!("the test's daemon could not be ended"),
    }
}

/// Waits until the pen sees exactly the daemon. The intermediate process may exit after the
/// command, and a process that is just being re-parented may be missing from a list.
fn wait_for_daemon(held: &mut SupervisorHandle) -> anyhow::Result<()> {
    let deadline = Instant::now() + STEP_TIMEOUT;
    loop {
        let left = held.processes(deadline)?.into_iter().filter(|member| !member.dead).count();
        if left == 1 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            anyhow::bail!("the test left one daemon, but the pen sees {left} processes");
        }
    }
}

fn wait_exit(held: &mut SupervisorHandle) -> Result<Option<Status>, SupervisorError> {
    let deadline = Instant::now() + STEP_TIMEOUT;
    loop {
        match held.next_event(deadline)? {
            Some(SupervisorEvent::Pen(PenEvent::Exited(status))) => return Ok(Some(status)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
}

/// Runs the command of a test and exits, if this process was started for it.
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

/// Creates a daemon the classic way: fork, new POSIX session, fork again.
fn leave_a_daemon() -> std::io::Result<()> {
    if let Forked::Parent(_) = fork_alone()? {
        return Ok(());
    }
    rustix::process::setsid()?;
    if let Forked::Parent(_) = fork_alone()? {
        return Ok(());
    }
    let until = Instant::now() + DAEMON_LIFETIME;
    while Instant::now() < until {
        thread::park_timeout(DAEMON_LIFETIME);
    }
    Ok(())
}
