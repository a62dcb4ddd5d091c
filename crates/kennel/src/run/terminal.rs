//! Our terminal and the agent's: raw mode, copying, resizing, and putting everything back.

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use kennel_pen::{Size, Stream, Streams};
use kennel_sys::terminal;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use super::impatience::Impatience;

/// How long the last output may take to arrive once everybody has gone.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Our own terminal: standard input and output are both one.
pub(crate) struct OwnTerminal {
    settings: Termios,
    size: Size,
}

impl OwnTerminal {
    /// Our terminal, if we have one.
    pub(crate) fn find() -> Option<Self> {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        if !isatty(stdin) || !isatty(stdout) {
            return None;
        }
        let size = terminal::size(stdout).ok().flatten().unwrap_or_default();
        Some(Self { settings: tcgetattr(stdin).ok()?, size })
    }

    /// The agent's streams: a terminal of our size; standard error goes where ours goes, if that isn't
    /// the terminal.
    pub(crate) fn streams(&self) -> Streams {
        let elsewhere = !isatty(rustix::stdio::stderr());
        Streams::Terminal { size: self.size, stderr: elsewhere.then_some(Stream::Inherit) }
    }

    /// A second handle on it, for the holder to restore if we vanish.
    pub(crate) fn handle(&self) -> io::Result<OwnedFd> {
        rustix::stdio::stdin().try_clone_to_owned()
    }

    /// Gives the agent's terminal our settings (line editing, echo, special keys), before the agent runs:
    /// later it might have its own.
    pub(crate) fn prepare(&self, theirs: &OwnedFd) -> io::Result<()> {
        Ok(tcsetattr(theirs, OptionalActions::Now, &self.settings)?)
    }

    /// Connects it to the agent's, whose master this is.
    pub(crate) fn connect(self, theirs: OwnedFd) -> io::Result<Session> {
        let mut session =
            Session { settings: self.settings, theirs: theirs.try_clone()?, output: None };
        session.raw()?;
        let (to, mut from) = (File::from(theirs.try_clone()?), File::from(theirs));
        // Ends with this process: it waits for a key that may never be pressed.
        thread::Builder::new()
            .name("keys".into())
            .spawn(move || copy(&mut io::stdin(), &to, interrupt_if_impatient()))?;
        let (done, output) = mpsc::channel();
        thread::Builder::new().name("screen".into()).spawn(move || {
            copy(&mut from, &io::stdout(), |_| ());
            done.send(()).ok();
        })?;
        session.output = Some(output);
        Ok(session)
    }
}

/// Copies until either side ends. A terminal whose other side is gone says EIO: the end, not a failure.
fn copy(from: &mut (impl Read + AsFd), to: &impl AsFd, mut look: impl FnMut(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                look(&buffer[..length]);
                if write_all(to, &buffer[..length]).is_err() {
                    return;
                }
            }
            // Somebody else who has this terminal open made it non-blocking.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                await_ready(from, PollFlags::IN)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Sends this process an INT when the user wants out, and not only the agent's attention.
fn interrupt_if_impatient() -> impl FnMut(&[u8]) {
    let mut user = Impatience::default();
    move |typed| {
        if user.wants_out(typed, Instant::now()) {
            // Sending a signal to oneself can't fail.
            rustix::process::kill_process(rustix::process::getpid(), Signal::INT).ok();
        }
    }
}

fn write_all(to: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::AGAIN) => await_ready(to, PollFlags::OUT),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn await_ready(fd: &impl AsFd, what: PollFlags) {
    // Whatever it returns, the next read or write says what is the matter.
    rustix::event::poll(&mut [PollFd::new(fd, what)], None).ok();
}

/// Two connected terminals. Ours is raw until this is dropped.
pub(crate) struct Session {
    settings: Termios,
    theirs: OwnedFd,
    output: Option<mpsc::Receiver<()>>,
}

impl Session {
    fn raw(&self) -> io::Result<()> {
        let mut raw = self.settings.clone();
        raw.make_raw();
        Ok(tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &raw)?)
    }

    /// Gives the agent's terminal our present size.
    pub(crate) fn resize(&self) {
        if let Ok(Some(size)) = terminal::size(rustix::stdio::stdout()) {
            // Fails only if the terminal is gone, and then its size matters to nobody.
            terminal::resize(self.theirs.as_fd(), size).ok();
        }
    }

    /// Leaves the terminal to the user's shell.
    pub(crate) fn step_back(&self) {
        // If it can't be restored it is gone (hung up), and there is nobody to tell.
        tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &self.settings).ok();
    }

    /// Takes it again.
    pub(crate) fn step_forward(&self) {
        self.raw().ok();
        self.resize();
    }

    /// Waits for the last output, then puts the terminal back.
    pub(crate) fn finish(mut self) {
        if let Some(output) = self.output.take() {
            output.recv_timeout(LAST_OUTPUT).ok();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.step_back();
    }
}
