//! The agent's output, which is read at once and written to the journal.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use super::now_ms;
use crate::journal::{Appended, JournalWriter};

const CHUNK: usize = 64 * 1024;
/// The maximum number of reads of one stream in one turn.
const MAX_READS: u32 = 16;
/// If less than this time lies between two short reads …
const BUSY: Duration = Duration::from_millis(1);
/// … the next read waits this long: a program that prints line by line is then read in larger
/// pieces, and the delay is too short to notice.
const READ_PAUSE: Duration = Duration::from_micros(500);
/// How long reading the last output may take.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// A read of fewer bytes is short.
const SHORT: usize = 16 * 1024;
/// The size of a pipe that was full after a pause, so that the agent does not have to wait for the
/// next read. Other pipes stay small: the kernel limits the memory of all pipes of a user.
const LARGE_PIPE: usize = 256 * 1024;

#[derive(Debug)]
struct AgentStream {
    /// Its tag in the journal: 0 terminal, 1 stdout, 2 stderr.
    tag: u8,
    fd: OwnedFd,
    /// Whether its pipe was enlarged, or can't be.
    large: bool,
}

pub(super) struct AgentOutput {
    sources: Vec<AgentStream>,
    journal: JournalWriter,
    buffer: Vec<u8>,
    last_short: Option<Instant>,
    resume_at: Option<Instant>,
}

impl AgentOutput {
    pub(super) fn new(journal: JournalWriter) -> Self {
        Self { sources: Vec::new(), journal, buffer: Vec::new(), last_short: None, resume_at: None }
    }

    /// Adds a stream, which must not block.
    pub(super) fn add(&mut self, tag: u8, fd: OwnedFd) {
        self.sources.push(AgentStream { tag, fd, large: false });
    }

    /// Closes a stream. The agent's next write to it fails.
    pub(super) fn close(&mut self, tag: u8) {
        self.sources.retain(|source| source.tag != tag);
    }

    pub(super) fn end(&self) -> u64 {
        self.journal.end()
    }

    /// Adds the streams to wait for, or returns the end of the pause.
    pub(super) fn poll_fds<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) -> Option<Instant> {
        if let Some(until) = self.resume_at {
            return Some(until);
        }
        let sources = self.sources.iter();
        fds.extend(sources.map(|s| PollFd::from_borrowed_fd(s.fd.as_fd(), PollFlags::IN)));
        None
    }

    /// Reads what is available now. Returns whether there was anything.
    pub(super) fn pump(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        if self.resume_at.is_some_and(|until| now < until) {
            return Ok(false);
        }
        if self.resume_at.take().is_some() {
            self.enlarge_full_pipes();
        }
        let (any, short) = self.drain()?;
        if any && short {
            if self.last_short.is_some_and(|last| now.saturating_duration_since(last) < BUSY) {
                self.resume_at = Some(now + READ_PAUSE);
            }
            self.last_short = Some(now);
        }
        if !any {
            self.buffer = Vec::new(); // an idle keeper holds no memory
        }
        Ok(any)
    }

    fn enlarge_full_pipes(&mut self) {
        for source in self.sources.iter_mut().filter(|source| !source.large) {
            let waiting = rustix::io::ioctl_fionread(&source.fd).unwrap_or(0);
            if waiting >= (CHUNK - SHORT) as u64 {
                source.large = true;
                // This fails for a terminal, or if the user has too many large pipes.
                rustix::pipe::fcntl_setpipe_size(&source.fd, LARGE_PIPE).ok();
            }
        }
    }

    /// Reads everything that is left. The pen is empty, but a process outside may still write, so
    /// this has a deadline.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + LAST_OUTPUT_TIMEOUT;
        let drained = loop {
            match self.drain() {
                Ok((true, _)) if Instant::now() < deadline => {}
                drained => break drained.map(drop),
            }
        };
        self.sources.clear();
        match self.journal.settle(now_ms()) {
            Appended::Kept => drained,
            Appended::Lost { bytes, error } => {
                let text =
                    format!("{bytes} bytes are lost, and the journal can't record it: {error}");
                drained.and(Err(io::Error::new(error.kind(), text)))
            }
        }
    }

    /// Returns whether there was any output, and whether all reads were short.
    fn drain(&mut self) -> io::Result<(bool, bool)> {
        let (mut any, mut all_short) = (false, true);
        let mut index = 0;
        while index < self.sources.len() {
            let mut open = true;
            for _ in 0..MAX_READS {
                let read = self.read(index)?;
                open = read.is_some();
                let bytes = read.unwrap_or(0);
                any |= bytes > 0;
                all_short &= bytes < SHORT;
                if bytes < SHORT {
                    break;
                }
            }
            if open {
                index += 1;
            } else {
                self.sources.remove(index);
            }
        }
        Ok((any, all_short))
    }

    /// Returns the number of bytes read: 0 if there are none now, `None` at the end of stream.
    fn read(&mut self, index: usize) -> io::Result<Option<usize>> {
        self.buffer.clear();
        self.buffer.reserve(CHUNK);
        let source = &self.sources[index];
        match rustix::io::read(&source.fd, spare_capacity(&mut self.buffer)) {
            // A terminal whose other side is closed returns EIO.
            Ok(0) | Err(Errno::IO) => Ok(None),
            Ok(bytes) => {
                // The journal itself records what it loses.
                let _appended = self.journal.append(source.tag, now_ms(), &self.buffer);
                Ok(Some(bytes))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Some(0)),
            Err(error) => Err(error.into()),
        }
    }
}
