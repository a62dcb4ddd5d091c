//! Running a program with an end: a deadline, a bound on what it says, and nothing of it left behind.
//!
//! It has a process group of its own. At the deadline the group gets TERM (git then removes its lock files), a
//! little later KILL. When the program has ended by itself, what it left in its group is killed as well: a hook's
//! background process would otherwise be nobody's.

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

/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(3);
/// How long what was said last is waited for, when somebody outside the group still holds the pipe.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How often a cancel is looked for.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// What a program may use.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// How long.
    pub deadline: Instant,
    /// The most bytes kept of each stream. The rest is read and dropped, so that the program can end.
    pub most_output: usize,
    /// Set by whoever wants it to end before.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// What a program said until its end.
#[derive(Debug)]
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// On its standard output.
    pub out: Vec<u8>,
    /// On its standard error.
    pub err: Vec<u8>,
    /// Whether more came on its standard output than was kept.
    pub cut: bool,
}

/// Why a program was not run to its end. Nothing of it is left.
#[derive(Debug)]
pub enum RunError {
    /// It could not be started.
    Start(io::Error),
    /// It took longer than it may.
    Late,
    /// Somebody wanted its end.
    Cancelled,
    /// A call of the kernel's failed.
    Call(io::Error),
}

/// Runs a program to its end. Its standard output and error are ours.
///
/// # Errors
/// It could not be run to its end; see [`RunError`].
pub fn run(command: &mut Command, bounds: &Bounds) -> Result<Said, RunError> {
    let mut running = Running::start(command, bounds.most_output)?;
    match running.follow(bounds).map_err(RunError::Call)? {
        Followed::Ended => running.collect().map_err(RunError::Call),
        Followed::Late => running.end().map_err(RunError::Call).and(Err(RunError::Late)),
        Followed::Cancelled => running.end().map_err(RunError::Call).and(Err(RunError::Cancelled)),
    }
}

enum Followed {
    Ended,
    Late,
    Cancelled,
}

struct Stream {
    pipe: Option<OwnedFd>,
    text: Vec<u8>,
    most: usize,
    cut: bool,
}

impl Stream {
    fn new(pipe: Option<OwnedFd>, most: usize) -> Self {
        Self { pipe, text: Vec::new(), most, cut: false }
    }

    /// Reads once; to be called when there is something, or the end.
    fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let kept = count.min(self.most - self.text.len());
                self.text.extend_from_slice(&buffer[..kept]);
                self.cut |= kept < count;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// A program at work; dropping this kills it.
struct Running {
    child: Child,
    group: Pid,
    pidfd: OwnedFd,
    out: Stream,
    err: Stream,
    reaped: bool,
}

impl Running {
    fn start(command: &mut Command, most_output: usize) -> Result<Self, RunError> {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(RunError::Start)?;
        let group = Pid::from_child(&child);
        let pidfd = match rustix::process::pidfd_open(group, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                kill(group, Signal::KILL);
                let _status: io::Result<ExitStatus> = child.wait();
                return Err(RunError::Call(error.into()));
            }
        };
        let out = Stream::new(child.stdout.take().map(OwnedFd::from), most_output);
        let err = Stream::new(child.stderr.take().map(OwnedFd::from), most_output);
        Ok(Self { child, group, pidfd, out, err, reaped: false })
    }

    fn follow(&mut self, bounds: &Bounds) -> io::Result<Followed> {
        loop {
            if bounds.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Ok(Followed::Cancelled);
            }
            let mut until = bounds.deadline;
            if bounds.cancel.is_some() {
                until = until.min(Instant::now() + CANCEL_INTERVAL);
            }
            if self.wait_until(until)? {
                return Ok(Followed::Ended);
            }
            if Instant::now() >= bounds.deadline {
                return Ok(Followed::Late);
            }
        }
    }

    /// Waits for anything to happen, reads what there is; says whether the program has ended.
    fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        let mut look = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        let pipes = [&self.out.pipe, &self.err.pipe];
        look.extend(pipes.into_iter().flatten().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        poll(&mut look, until)?;
        let ready: Vec<bool> = look.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut pipes = ready[1..].iter();
        for stream in [&mut self.out, &mut self.err] {
            if stream.pipe.is_some() && pipes.next().is_some_and(|ready| *ready) {
                stream.read()?;
            }
        }
        Ok(ready[0])
    }

    /// Ends the group: TERM first, so that git puts away what it had begun.
    fn end(mut self) -> io::Result<()> {
        kill(self.group, Signal::TERM);
        // A group that somebody has stopped would never hear it.
        kill(self.group, Signal::CONT);
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.wait_until(until)? {}
        kill(self.group, Signal::KILL);
        self.reap()?;
        Ok(())
    }

    /// Takes what was said last, and the status of a program that has ended.
    fn collect(mut self) -> io::Result<Said> {
        kill(self.group, Signal::KILL);
        let until = Instant::now() + LAST_WORDS;
        while (self.out.pipe.is_some() || self.err.pipe.is_some()) && Instant::now() < until {
            self.listen(until)?;
        }
        let status = self.reap()?;
        let (out, err) = (std::mem::take(&mut self.out), std::mem::take(&mut self.err));
        Ok(Said { status, out: out.text, err: err.text, cut: out.cut })
    }

    fn listen(&mut self, until: Instant) -> io::Result<()> {
        for stream in [&mut self.out, &mut self.err] {
            let Some(pipe) = &stream.pipe else { continue };
            let mut look = [PollFd::new(pipe, PollFlags::IN)];
            poll(&mut look, until)?;
            let [look] = look;
            if !look.revents().is_empty() {
                stream.read()?;
            }
        }
        Ok(())
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        // Before this the group's number can't be another's: its leader is not reaped yet.
        let status = self.child.wait()?;
        self.reaped = true;
        Ok(status)
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new(None, 0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            kill(self.group, Signal::KILL);
            let _status: io::Result<ExitStatus> = self.child.wait();
        }
    }
}

/// Nobody in the group any more is as good as killed.
fn kill(group: Pid, signal: Signal) {
    let _gone: rustix::io::Result<()> = rustix::process::kill_process_group(group, signal);
}

fn poll(look: &mut [PollFd<'_>], until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    // A millisecond more, lest we wake just before and turn in circles.
    let left = Timespec::try_from(left + Duration::from_millis(1)).map_err(io::Error::other)?;
    match rustix::event::poll(look, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
