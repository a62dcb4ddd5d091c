//! Runs a program with a deadline and a limit of its output, and leaves no process behind.
//!
//! The program gets its own process group. At the deadline the group gets SIGTERM (git then removes
//! its lock files), and SIGKILL a little later. When the program ends by itself, the rest of its
//! group is killed too, such as the background process of a hook.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

/// How long a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// How long the end of the output is awaited when a process outside the group still holds the pipe.
const DRAIN_TIME: Duration = Duration::from_millis(300);
/// How often the cancel flag is checked.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// The limits of a program.
#[derive(Debug, Clone)]
pub struct ProcessLimits {
    /// When it has to end.
    pub deadline: Instant,
    /// How many bytes of each stream are kept. The rest is read and discarded, so that the program
    /// can end.
    pub max_output: usize,
    /// A flag that ends the program early.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// The output and the exit status of a program.
#[derive(Debug)]
pub struct ProcessOutput {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Whether a part of standard output was discarded.
    pub truncated: bool,
}

/// A program did not run to its end. None of its processes is left.
#[derive(Debug)]
pub enum RunProgramError {
    Start(io::Error),
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// A system call failed.
    System(io::Error),
}

/// Runs a program to its end, and captures its standard output and error.
///
/// # Errors
/// See [`RunProgramError`].
pub fn run(
    command: &mut Command,
    limits: &ProcessLimits,
) -> Result<ProcessOutput, RunProgramError> {
    let mut running = RunningProgram::start(command, limits.max_output)?;
    match running.wait(limits) {
        Ok(()) => Ok(running.collect()?),
        Err(error @ (RunProgramError::TimedOut | RunProgramError::Cancelled)) => {
            running.end()?;
            Err(error)
        }
        Err(error) => Err(error),
    }
}

impl From<io::Error> for RunProgramError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

#[derive(Default)]
struct CapturedStream {
    pipe: Option<OwnedFd>,
    text: Vec<u8>,
    max: usize,
    truncated: bool,
}

impl CapturedStream {
    fn new(pipe: Option<impl Into<OwnedFd>>, max: usize) -> Self {
        Self { pipe: pipe.map(Into::into), max, ..Self::default() }
    }

    /// Reads once. The caller has polled the pipe before.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let kept = count.min(self.max - self.text.len());
                self.text.extend_from_slice(&buffer[..kept]);
                self.truncated |= kept < count;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// A running program; dropping it kills the program.
struct RunningProgram {
    child: Child,
    group: Pid,
    /// `None` once the program has ended.
    pidfd: Option<OwnedFd>,
    out: CapturedStream,
    err: CapturedStream,
    reaped: bool,
}

impl RunningProgram {
    fn start(command: &mut Command, max_output: usize) -> Result<Self, RunProgramError> {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(RunProgramError::Start)?;
        let group = Pid::from_child(&child);
        let pidfd = match rustix::process::pidfd_open(group, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                kill(group, Signal::KILL);
                let _status: io::Result<ExitStatus> = child.wait();
                return Err(RunProgramError::System(error.into()));
            }
        };
        let out = CapturedStream::new(child.stdout.take(), max_output);
        let err = CapturedStream::new(child.stderr.take(), max_output);
        Ok(Self { child, group, pidfd: Some(pidfd), out, err, reaped: false })
    }

    /// Waits until the program ends by itself.
    fn wait(&mut self, limits: &ProcessLimits) -> Result<(), RunProgramError> {
        loop {
            if limits.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(RunProgramError::Cancelled);
            }
            let mut until = limits.deadline;
            if limits.cancel.is_some() {
                until = until.min(Instant::now() + CANCEL_INTERVAL);
            }
            if self.wait_until(until)? {
                return Ok(());
            }
            if Instant::now() >= limits.deadline {
                return Err(RunProgramError::TimedOut);
            }
        }
    }

    /// Waits for output or the end, and reads the output. Returns whether the program has ended.
    fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        let watched = [&self.pidfd, &self.out.pipe, &self.err.pipe].into_iter().flatten();
        let mut look: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        poll(&mut look, until)?;
        let ready: Vec<bool> = look.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        let ended = self.pidfd.is_some() && ready.next() == Some(true);
        for stream in [&mut self.out, &mut self.err] {
            if stream.pipe.is_some() && ready.next() == Some(true) {
                stream.read()?;
            }
        }
        Ok(ended)
    }

    /// Ends the group, with SIGTERM first, so that git cleans up.
    fn end(mut self) -> io::Result<()> {
        kill(self.group, Signal::TERM);
        // A stopped group doesn't handle SIGTERM until it continues.
        kill(self.group, Signal::CONT);
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.wait_until(until)? {}
        kill(self.group, Signal::KILL);
        self.reap()?;
        Ok(())
    }

    /// Reads the rest of the output and the exit status of a program that has ended.
    fn collect(mut self) -> io::Result<ProcessOutput> {
        kill(self.group, Signal::KILL);
        self.pidfd = None;
        let until = Instant::now() + DRAIN_TIME;
        while (self.out.pipe.is_some() || self.err.pipe.is_some()) && Instant::now() < until {
            self.wait_until(until)?;
        }
        let status = self.reap()?;
        let (out, err) = (std::mem::take(&mut self.out), std::mem::take(&mut self.err));
        let truncated = out.truncated;
        Ok(ProcessOutput { status, stdout: out.text, stderr: err.text, truncated })
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Until this call the process group id can't be reused, because its leader is not reaped.
        let status = self.child.wait()?;
        self.reaped = true;
        Ok(status)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if !self.reaped {
            kill(self.group, Signal::KILL);
            let _status: io::Result<ExitStatus> = self.child.wait();
        }
    }
}

/// Signals the group. An empty group is not an error.
fn kill(group: Pid, signal: Signal) {
    let _gone: rustix::io::Result<()> = rustix::process::kill_process_group(group, signal);
}

fn poll(look: &mut [PollFd<'_>], until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    // A millisecond more, so that the loop doesn't wake just before the deadline and spin.
    let left = Timespec::try_from(left + Duration::from_millis(1)).map_err(io::Error::other)?;
    match rustix::event::poll(look, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
