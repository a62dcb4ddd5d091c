//! Behaviours that concern the tree of processes, and escaping from it.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{self, Command};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, Then};
use crate::spawn::{self, Session, Up, come_up};

/// `double-fork`, `double-fork-exit`: what every daemon does, so its parent is no longer the agent.
pub(crate) fn double_fork(args: Args, then: Then) -> Outcome {
    args.finish()?;
    daemons(1, then)
}

/// `daemonize-storm N`: starts daemons faster than a supervisor can follow.
pub(crate) fn storm(mut args: Args) -> Outcome {
    let count = args.number("N")?;
    args.finish()?;
    daemons(count, Then::Exit(0))
}

/// The agent and `count` double-forked daemons.
fn daemons(count: usize, then: Then) -> Outcome {
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    for _ in 0..count {
        spawn::daemon(&mut up, |up| {
            come_up(up, "daemon")?;
            presence::rest()
        })?;
    }
    up.wait_for(count)?;
    then.go()
}

/// `setsid [N]`, `setsid-exit [N]`: children that no signal to the agent's group reaches.
pub(crate) fn setsid(mut args: Args, then: Then) -> Outcome {
    let count = args.number_or("N", 1)?;
    args.finish()?;
    sleepers(count, Session::Own, then)
}

/// `children N`
pub(crate) fn children(mut args: Args) -> Outcome {
    let count = args.number("N")?;
    args.finish()?;
    sleepers(count, Session::Same, Then::Rest)
}

/// `hold-stdout`: the agent has ended, but its output has no end of file.
pub(crate) fn hold_stdout(args: Args) -> Outcome {
    args.finish()?;
    sleepers(1, Session::Own, Then::Exit(0))
}

/// The agent and `count` children that sleep.
fn sleepers(count: usize, session: Session, then: Then) -> Outcome {
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    for _ in 0..count {
        spawn::sleeper(&mut up, "leaf", session)?;
    }
    up.wait_for(count)?;
    then.go()
}

/// `env-i`, `env-i-exit`: a daemon that can't be found by its environment.
pub(crate) fn empty_environment(args: Args, then: Then) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    spawn::daemon(&mut up, |up| spawn::linger_without_environment(up, "daemon", None))?;
    up.wait_for(1)?;
    then.go()
}

/// `with-daemon BEHAVIOUR [ARGS..]`: any behaviour, with a descendant that nothing links to it.
pub(crate) fn with_daemon(mut args: Args) -> Outcome {
    let behaviour = args.remaining();
    args.finish()?;
    let mut up = Up::new()?;
    spawn::daemon(&mut up, |up| spawn::linger_without_environment(up, "daemon", None))?;
    up.wait_for(1)?;
    crate::run(behaviour)
}

/// `chain N`, `chain-setsid N`: the last process is N steps below the agent.
pub(crate) fn chain(mut args: Args, session: Session) -> Outcome {
    let count = args.number("N")?;
    args.finish()?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    add_links(&mut up, count, session)?;
    up.wait_for(count)?;
    Then::Rest.go()
}

/// Forks a child that forks a child and so on, `count` in all.
fn add_links(up: &mut Up, count: usize, session: Session) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    spawn::fork(up, |up| {
        session.enter()?;
        add_links(up, count - 1, session)?;
        come_up(up, "link")?;
        presence::rest()
    })?;
    Ok(())
}

/// `zombie`: a pid that exists but can't be ended.
pub(crate) fn zombie(args: Args) -> Outcome {
    args.finish()?;
    presence::record_pid("agent")?;
    let mut up = Up::new()?;
    let child = spawn::fork(&mut up, |up| {
        come_up(up, "zombie")?;
        process::exit(0)
    })?;
    up.wait_for(1)?;
    wait_until_zombie(child)?;
    Then::Rest.go()
}

/// Waits until a child has ended, and leaves it unreaped.
fn wait_until_zombie(child: Pid) -> Result<(), Failure> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let seen = waitid(WaitId::Pid(child), options);
    seen.map(drop).or_fail(failure::SYSTEM, "waiting until my child has ended")
}

/// `fork-exec-other PATH [ARGS..]`, `fork-exec-other-exit ...`: a child that is another program,
/// such as one with the set-uid bit.
pub(crate) fn run_other(mut args: Args, then: Then) -> Outcome {
    let program = args.path("PATH")?;
    let arguments = args.remaining();
    args.finish()?;
    presence::record_pid("agent")?;
    start_other(&program, &arguments)?;
    then.go()
}

/// Starts `program` in a session of its own and waits until it runs.
///
/// The exec closes the child's end of the pipe; only a child that could not exec writes to it.
fn start_other(program: &Path, arguments: &[OsString]) -> Result<(), Failure> {
    let (mut from_child, mut to_agent) = io::pipe().or_fail(failure::SYSTEM, "making a pipe")?;
    let mut up = Up::new()?;
    spawn::fork(&mut up, |_| {
        let failure = become_other(program, arguments);
        to_agent.write_all(&[failure.code]).ok();
        Err(failure)
    })?;
    drop(to_agent);
    let mut failed = Vec::new();
    let read = from_child.read_to_end(&mut failed);
    read.or_fail(failure::SYSTEM, "waiting for the exec")?;
    match failed.first() {
        None => Ok(()),
        Some(&code) => Err(Failure { code, message: format!("{program:?} does not run") }),
    }
}

/// In the child: execs, or reports why not.
fn become_other(program: &Path, arguments: &[OsString]) -> Failure {
    let prepared = Session::Own.enter().and_then(|()| presence::record_pid("other"));
    if let Err(failure) = prepared {
        return failure;
    }
    let error = Command::new(program).args(arguments).exec();
    Failure::new(failure::EXEC, format_args!("starting {program:?}"), error)
}
