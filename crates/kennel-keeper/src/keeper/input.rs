//! What goes into the agent.

use std::collections::VecDeque;
use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

/// The most that waits for an agent that does not read.
const BOUND: usize = 64 * 1024;
/// Control-D: the end, on a terminal.
const END_OF_TRANSMISSION: u8 = 4;

/// Whether input was accepted.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum InputOutcome {
    Yes,
    /// The agent does not read, and too much waits already.
    Full,
    /// There is nothing to write to.
    Closed,
}

/// The agent's standard input, or its terminal.
#[derive(Debug)]
pub(super) struct AgentInput {
    target: Option<OwnedFd>,
    is_terminal: bool,
    waiting: VecDeque<u8>,
    closing: bool,
}

impl AgentInput {
    /// Into this descriptor, which must not block.
    pub(super) fn new(target: Option<OwnedFd>, is_terminal: bool) -> Self {
        Self { target, is_terminal, waiting: VecDeque::new(), closing: false }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> InputOutcome {
        if self.target.is_none() || self.closing {
            return InputOutcome::Closed;
        }
        if self.waiting.len() + bytes.len() > BOUND {
            return InputOutcome::Full;
        }
        self.waiting.extend(bytes);
        InputOutcome::Yes
    }

    pub(super) fn close(&mut self) {
        if self.is_terminal {
            if self.waiting.len() < BOUND {
                self.waiting.push_back(END_OF_TRANSMISSION);
            }
        } else {
            self.closing = true;
        }
    }

    pub(super) fn poll_fd(&self) -> Option<PollFd<'_>> {
        let target = self.target.as_ref().filter(|_| !self.waiting.is_empty())?;
        Some(PollFd::from_borrowed_fd(target.as_fd(), PollFlags::OUT))
    }

    /// Writes what can be written now; says how many bytes that were.
    pub(super) fn pump(&mut self) -> usize {
        let mut written = 0;
        while let Some(target) = self.target.as_ref().filter(|_| !self.waiting.is_empty()) {
            match rustix::io::write(target, self.waiting.as_slices().0) {
                Ok(bytes) => {
                    written += bytes;
                    self.waiting.drain(..bytes);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // Nobody reads it any more.
                Err(_) => {
                    written += self.waiting.len();
                    self.waiting.clear();
                    self.target = None;
                }
            }
        }
        if self.closing && self.waiting.is_empty() {
            self.target = None;
        }
        if self.waiting.is_empty() {
            self.waiting.shrink_to_fit();
        }
        written
    }
}

/// Makes a descriptor of ours one that does not block.
pub(super) fn unblock(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?)
}
