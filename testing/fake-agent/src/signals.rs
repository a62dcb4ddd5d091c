//! Behaviours that handle signals: survive them, stop, or end by one.

use std::convert::Infallible;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process,
    pidfd_open, pidfd_send_signal, set_dumpable_behavior, waitpid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU};
use signal_hook::low_level::{emulate_default_handler, raise};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, MAX_LIFETIME, Then};
use crate::spawn::{self, Session, Up, come_up};

/// The highest signal of Linux.
const LAST_SIGNAL: i32 = 64;

/// `ignore-term [CHILDREN]`: only KILL ends these.
pub(crate) fn ignore_term(mut args: Args) -> Outcome {
    let children = args.number_or("CHILDREN", 0)?;
    args.finish()?;
    survive_polite_signals(children, Then::Rest)
}

/// `ignore-term-exit`: the agent fails, and leaves processes behind that ignore TERM.
pub(crate) fn ignore_term_exit(args: Args) -> Outcome {
    args.finish()?;
    survive_polite_signals(1, Then::Exit(3))
}

/// Starts `children` in their own sessions. They and the agent survive TERM, INT and HUP.
fn survive_polite_signals(children: usize, then: Then) -> Outcome {
    ignore_polite_signals().or_fail(failure::SYSTEM, "handling signals")?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    for _ in 0..children {
        spawn::sleeper(&mut up, "leaf", Session::Own)?;
    }
    up.wait_for(children)?;
    then.go()
}

/// Handles TERM, INT and HUP by setting a flag that is never read.
///
/// For the sender that is the same as `SIG_IGN`, and a fork inherits it. There is no safe
/// call that ignores a signal.
pub(crate) fn ignore_polite_signals() -> io::Result<()> {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// `kill-parent`: an agent that kills its supervisor.
pub(crate) fn kill_parent(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    presence::ready();
    // Opens the handle first and checks the parent afterwards, in case the parent has just ended.
    if let Some(parent) = getppid() {
        let handle =
            pidfd_open(parent, PidfdFlags::empty()).or_fail(failure::SYSTEM, "pidfd_open")?;
        if getppid() == Some(parent) {
            pidfd_send_signal(&handle, Signal::KILL).or_fail(failure::SYSTEM, "killing it")?;
        }
    }
    presence::rest()
}

/// `stop-self`: TERM stays pending in a stopped process, so only KILL (or CONT as well) ends it.
pub(crate) fn stop_self(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    let leaf = spawn::fork(&mut up, |up| {
        Session::Own.enter()?;
        come_up(up, "leaf")?;
        stop()?;
        presence::rest()
    })?;
    let agent = getpid();
    spawn::fork(&mut up, |up| {
        Session::Own.enter()?;
        watch_over(up, [agent, leaf])
    })?;
    up.wait_for(2)?;
    wait_until_stopped(leaf)?;
    presence::ready();
    stop()?;
    presence::rest()
}

/// Stops this process until it receives CONT.
fn stop() -> Result<(), Failure> {
    kill_process(getpid(), Signal::STOP).or_fail(failure::SYSTEM, "stopping myself")
}

/// Waits until a child has stopped.
fn wait_until_stopped(child: Pid) -> Result<(), Failure> {
    let seen = waitpid(Some(child), WaitOptions::UNTRACED);
    seen.map(drop).or_fail(failure::SYSTEM, "waiting until my child has stopped")
}

/// Kills stopped processes when their time is over, because they can't end themselves. Returns when
/// they have ended.
fn watch_over(up: &mut Up, stopped: [Pid; 2]) -> Result<Infallible, Failure> {
    let [first, second] = stopped.map(|process| pidfd_open(process, PidfdFlags::empty()));
    let stopped = [first, second]
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .or_fail(failure::SYSTEM, "pidfd_open")?;
    come_up(up, "watchdog")?;
    let deadline = Instant::now() + MAX_LIFETIME;
    for process in &stopped {
        if !ends_before(process, deadline)? {
            // Failing means that it has just ended.
            pidfd_send_signal(process, Signal::KILL).ok();
        }
    }
    process::exit(0)
}

/// Waits for the end of a process, until `deadline` at the latest.
fn ends_before(process: &OwnedFd, deadline: Instant) -> Result<bool, Failure> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).expect("five minutes fit into a timespec");
        let mut waiting = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        match poll(&mut waiting, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(ended) => return Ok(ended > 0),
            Err(error) => return Err(Failure::new(failure::SYSTEM, "poll", error)),
        }
    }
}

/// `signal N`: ends by signal N, even if this program inherited another action for it.
pub(crate) fn end_by_signal(mut args: Args) -> Outcome {
    let signal: i32 = args.number("N")?;
    if !(1..=LAST_SIGNAL).contains(&signal) {
        return Err(args.wrong(format_args!("there is no signal {signal}")));
    }
    args.finish()?;
    // A core file is useless here and takes long to write.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).or_fail(failure::SYSTEM, "prctl")?;
    // Restores the default action first: std ignores PIPE and handles SEGV and BUS. This call ends
    // the process for the signals that it knows; for the others it would send STOP.
    if ![SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU].contains(&signal) {
        emulate_default_handler(signal).ok();
    }
    raise(signal).or_fail(failure::SYSTEM, format_args!("sending myself signal {signal}"))?;
    Err(Failure {
        code: failure::SYSTEM,
        message: format!("signal {signal} does not end a process"),
    })
}
