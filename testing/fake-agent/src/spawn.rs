//! Starts the processes of the behaviours.
//!
//! Plain forks where a copy is enough, because forks are fast and what hostile programs do; an exec
//! of this program where the environment has to be empty.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{self, Command, Stdio};

use kennel_sys::process::{Forked, fork_alone};
use rustix::process::{Pid, WaitOptions, setsid, waitpid};

use crate::args::Args;
use crate::cgroup;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence::{self, PIDS_VARIABLE};

/// The behaviour that a process with an empty environment execs.
pub(crate) const LINGER: &str = "__linger";

/// The byte by which a process reports that it is ready; any other byte is its error code.
const IS_UP: u8 = 0;

/// Whether a child leaves the session, and so the process group and the terminal, of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    Same,
    Own,
}

impl Session {
    /// Enters the session.
    pub(crate) fn enter(self) -> Result<(), Failure> {
        if self == Session::Own {
            setsid().or_fail(failure::SYSTEM, "setsid")?;
        }
        Ok(())
    }
}

/// The pipe by which processes report that they are ready: each writes one byte, then closes it.
///
/// At the end of file all of them are ready or dead, so the agent never hangs.
pub(crate) struct Up {
    reader: Option<PipeReader>,
    writer: Option<PipeWriter>,
}

impl Up {
    /// Must be created before the first fork; every process that is forked later has a copy.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (reader, writer) = io::pipe().or_fail(failure::SYSTEM, "making a pipe")?;
        Ok(Self { reader: Some(reader), writer: Some(writer) })
    }

    /// Called by a descendant that is ready. Closes its copy of the pipe.
    pub(crate) fn report_up(&mut self) -> Result<(), Failure> {
        self.report(IS_UP).or_fail(failure::SYSTEM, "reporting that I am up")
    }

    /// Called by a descendant: reports its status once, and closes the pipe.
    fn report(&mut self, status: u8) -> io::Result<()> {
        self.reader = None;
        match self.writer.take() {
            Some(mut writer) => writer.write_all(&[status]),
            None => Ok(()),
        }
    }

    /// Called by a descendant before an exec: returns the writing end, which the new program
    /// inherits.
    fn hand_on(&mut self) -> Result<PipeWriter, Failure> {
        self.reader = None;
        let writer = self.writer.take();
        writer.ok_or_else(|| Failure {
            code: failure::SYSTEM,
            message: "the pipe to the agent is closed already".into(),
        })
    }

    /// Called by the agent: waits until `count` descendants are ready. Fails with the first error.
    pub(crate) fn wait_for(mut self, count: usize) -> Result<(), Failure> {
        self.writer = None;
        let mut statuses = Vec::new();
        if let Some(reader) = &mut self.reader {
            let read = reader.read_to_end(&mut statuses);
            read.or_fail(failure::SYSTEM, "waiting for my descendants")?;
        }
        if let Some(&code) = statuses.iter().find(|&&code| code != IS_UP) {
            return Err(Failure { code, message: "a descendant failed, see above".into() });
        }
        if statuses.len() != count {
            return Err(Failure {
                code: failure::SYSTEM,
                message: format!("{} of {count} descendants came up", statuses.len()),
            });
        }
        Ok(())
    }
}

/// Forks; the child runs `body`.
pub(crate) fn fork(
    up: &mut Up,
    body: impl FnOnce(&mut Up) -> Result<Infallible, Failure>,
) -> Result<Pid, Failure> {
    match fork_alone().or_fail(failure::SYSTEM, "fork")? {
        Forked::Child => {
            let Err(failure) = body(up);
            let code = failure.report();
            up.report(code).ok();
            process::exit(i32::from(code))
        }
        Forked::Parent(pid) => Ok(Pid::from_raw(pid).expect("a child's pid is above zero")),
    }
}

/// Forks a child that sleeps until the time limit.
pub(crate) fn sleeper(up: &mut Up, role: &str, session: Session) -> Result<Pid, Failure> {
    fork(up, |up| {
        session.enter()?;
        come_up(up, role)?;
        presence::rest()
    })
}

/// Starts a classic daemon: the child creates a session and forks a grandchild, which is not a
/// session leader and loses its parent. Returns when the child has ended.
pub(crate) fn daemon(
    up: &mut Up,
    body: impl FnOnce(&mut Up) -> Result<Infallible, Failure>,
) -> Result<(), Failure> {
    let between = fork(up, |up| {
        Session::Own.enter()?;
        fork(up, body)?;
        process::exit(0)
    })?;
    wait_for_end(between)
}

/// Records the process, and reports to the agent that it is up.
pub(crate) fn come_up(up: &mut Up, role: &str) -> Result<(), Failure> {
    presence::record_pid(role)?;
    up.report_up()
}

/// Reaps a child.
fn wait_for_end(child: Pid) -> Result<(), Failure> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            other => {
                return other.map(drop).or_fail(failure::SYSTEM, "waiting for a child");
            }
        }
    }
}

/// Replaces this process by a sleeper without any environment, in `cgroup` if one is given.
///
/// Without an environment the program needs other ways to receive its settings: the file of pids by
/// an argument, the pipe by standard input.
pub(crate) fn linger_without_environment(
    up: &mut Up,
    role: &str,
    cgroup: Option<&Path>,
) -> Result<Infallible, Failure> {
    let program = std::env::current_exe().or_fail(failure::EXEC, "finding my own program")?;
    let pids = std::env::var_os(PIDS_VARIABLE).unwrap_or_default();
    let error = Command::new(program)
        .args([OsStr::new(LINGER), OsStr::new(role), &pids])
        .args(cgroup)
        .env_clear()
        .stdin(Stdio::from(up.hand_on()?))
        .exec();
    Err(Failure::new(failure::EXEC, "starting myself again", error))
}

/// `__linger ROLE PIDS [CGROUP]`: the other side of [`linger_without_environment`].
pub(crate) fn linger(mut args: Args) -> Outcome {
    let role = args.text("ROLE")?;
    let pids = args.text("PIDS")?;
    let cgroup = args.optional();
    args.finish()?;
    let result = settle(&role, &pids, cgroup);
    let status = result.as_ref().err().map_or(IS_UP, |failure| failure.code);
    let written = rustix::io::write(rustix::stdio::stdin(), &[status]);
    result?;
    written.or_fail(failure::SYSTEM, "reporting that I am up")?;
    // The pipe has to be closed: the agent waits for its end.
    let null = File::open("/dev/null").or_fail(failure::SYSTEM, "opening /dev/null")?;
    rustix::stdio::dup2_stdin(null).or_fail(failure::SYSTEM, "closing the pipe")?;
    presence::rest()
}

/// Moves a process with an empty environment into its cgroup, and records it.
fn settle(role: &OsStr, pids: &OsStr, cgroup: Option<OsString>) -> Result<(), Failure> {
    if let Some(cgroup) = cgroup {
        cgroup::enter(Path::new(&cgroup))?;
    }
    presence::record_pid_in(pids, &role.to_string_lossy())
}
