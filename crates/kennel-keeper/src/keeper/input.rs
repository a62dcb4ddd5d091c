//! The agent's input.

use std::collections::VecDeque;
use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

/// The maximum number of bytes that are pending for an agent that does not read.
const MAX_PENDING: usize = 64 * 1024;
/// Control-D: end of file on a terminal.
const END_OF_TRANSMISSION: u8 = 4;

/// The agent's standard input, or its terminal.
#[derive(Debug)]
pub(super) struct AgentInput {
    target: Option<OwnedFd>,
    is_terminal: bool,
    pending: VecDeque<u8>,
    closing: bool,
}

impl AgentInput {
    /// Writes to this descriptor, which must not block.
    pub(super) fn new(target: Option<OwnedFd>, is_terminal: bool) -> Self {
        Self { target, is_terminal, pending: VecDeque::new(), closing: false }
    }

    /// Accepts input for the agent, or returns why not.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        if self.target.is_none() || self.closing {
            return Err("the agent's standard input is closed");
        }
        if self.pending.len() + bytes.len() > MAX_PENDING {
            return Err("the agent does not read its input, and too much of it is pending");
        }
        self.pending.extend(bytes);
        Ok(())
    }

    pub(super) fn close(&mut self) {
        if self.is_terminal {
            if self.pending.len() < MAX_PENDING {
                self.pending.push_back(END_OF_TRANSMISSION);
            }
        } else {
            self.closing = true;
        }
    }

    pub(super) fn poll_fd(&self) -> Option<PollFd<'_>> {
        let target = self.target.as_ref().filter(|_| !self.pending.is_empty())?;
        Some(PollFd::from_borrowed_fd(target.as_fd(), PollFlags::OUT))
    }

    /// Writes what the agent can take now. Returns the number of bytes.
    pub(super) fn pump(&mut self) -> usize {
        let mut written = 0;
        while let Some(target) = self.target.as_ref().filter(|_| !self.pending.is_empty()) {
            match rustix::io::write(target, self.pending.as_slices().0) {
                Ok(bytes) => {
                    written += bytes;
                    self.pending.drain(..bytes);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // The agent has closed its end.
                Err(_) => {
                    written += self.pending.len();
                    self.pending.clear();
                    self.target = None;
                }
            }
        }
        if self.closing && self.pending.is_empty() {
            self.target = None;
        }
        if self.pending.is_empty() {
            self.pending.shrink_to_fit();
        }
        written
    }
}

pub(super) fn unblock(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?)
}
