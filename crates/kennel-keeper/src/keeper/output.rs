//! What comes out of the agent: into the journal, as fast as it comes, whoever reads it.

use std::io;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use super::now_ms;
use crate::journal::{Appended, JournalWriter};

/// The most that is read at once.
const CHUNK: usize = 64 * 1024;
/// So many reads of each stream in one go, before others get their turn.
const TURNS: u32 = 16;
/// After a short read that follows another one sooner than this …
const BUSY: Duration = Duration::from_millis(1);
/// … the stream gets this long to gather more: a program that prints line by line is drained in pieces
/// worth the trouble, and a person who types notices nothing.
const NAP: Duration = Duration::from_micros(500);
/// How long the last output may take.
const LAST_OUTPUT: Duration = Duration::from_secs(5);
/// What counts as short.
const SHORT: usize = 16 * 1024;
/// The size of a pipe that was full after a nap: a program that prints so much must not wait for us to wake. Only
/// then: the memory of all pipes of a user is bounded.
const LARGE_PIPE: usize = 256 * 1024;

/// One stream that the agent writes to.
#[derive(Debug)]
struct AgentStream {
    /// Its tag in the journal: 0 terminal, 1 stdout, 2 stderr.
    tag: u8,
    fd: OwnedFd,
    /// Whether its pipe was enlarged, or can't be.
    large: bool,
}

/// All streams of the agent, and the journal.
pub(super) struct AgentOutput {
    sources: Vec<AgentStream>,
    journal: JournalWriter,
    buffer: Vec<u8>,
    last_short: Option<Instant>,
    nap_until: Option<Instant>,
}

impl AgentOutput {
    pub(super) fn new(journal: JournalWriter) -> Self {
        Self { sources: Vec::new(), journal, buffer: Vec::new(), last_short: None, nap_until: None }
    }

    /// Drains this stream, which must not block, from now on.
    pub(super) fn add(&mut self, tag: u8, fd: OwnedFd) {
        self.sources.push(AgentStream { tag, fd, large: false });
    }

    /// Nobody wants it any more: the agent notices at its next write.
    pub(super) fn close(&mut self, tag: u8) {
        self.sources.retain(|source| source.tag != tag);
    }

    pub(super) fn end(&self) -> u64 {
        self.journal.end()
    }

    /// What to wait for, or until when if that is a nap.
    pub(super) fn poll_fds<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) -> Option<Instant> {
        if let Some(until) = self.nap_until {
            return Some(until);
        }
        let sources = self.sources.iter();
        fds.extend(sources.map(|s| PollFd::from_borrowed_fd(s.fd.as_fd(), PollFlags::IN)));
        None
    }

    /// Takes what is there now; says whether that was anything.
    pub(super) fn pump(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        if self.nap_until.is_some_and(|until| now < until) {
            return Ok(false);
        }
        let napped = self.nap_until.take().is_some();
        if napped {
            self.enlarge_full_pipes();
        }
        let (any, short) = self.drain(TURNS)?;
        if any && short {
            if self.last_short.is_some_and(|last| now.saturating_duration_since(last) < BUSY) {
                self.nap_until = Some(now + NAP);
            }
            self.last_short = Some(now);
        }
        if !any {
            self.buffer = Vec::new(); // at rest we hold nothing
        }
        Ok(any)
    }

    /// A pipe that was full before we woke gets larger, once.
    fn enlarge_full_pipes(&mut self) {
        for source in self.sources.iter_mut().filter(|source| !source.large) {
            let waiting = rustix::io::ioctl_fionread(&source.fd).unwrap_or(0);
            if waiting >= (CHUNK - SHORT) as u64 {
                source.large = true;
                // A terminal has no such thing, and a user may have too many.
                rustix::pipe::fcntl_setpipe_size(&source.fd, LARGE_PIPE).ok();
            }
        }
    }

    /// Takes all that is left: nobody of the session can write any more. Somebody else might, for ever.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + LAST_OUTPUT;
        let drained = loop {
            match self.drain(TURNS) {
                Ok((true, _)) if Instant::now() < deadline => {}
                Ok((true, _)) => break Ok(()),
                Ok((false, _)) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.sources.clear();
        match self.journal.settle(now_ms()) {
            Appended::Kept => drained,
            Appended::Lost { bytes, error } => {
                let text = format!("{bytes} bytes of it are lost, which nothing tells: {error}");
                drained.and(Err(io::Error::new(error.kind(), text)))
            }
        }
    }

    /// Whether anything came, and whether it was all short.
    fn drain(&mut self, turns: u32) -> io::Result<(bool, bool)> {
        let (mut any, mut all_short) = (false, true);
        let mut place = 0;
        while place < self.sources.len() {
            let mut open = true;
            for _ in 0..turns {
                match self.read(place)? {
                    ReadOutcome::Some(bytes) => {
                        any = true;
                        all_short &= bytes < SHORT;
                        if bytes < SHORT {
                            break;
                        }
                    }
                    ReadOutcome::Nothing => break,
                    ReadOutcome::End => {
                        open = false;
                        break;
                    }
                }
            }
            if open {
                place += 1;
            } else {
                self.sources.remove(place);
            }
        }
        Ok((any, all_short))
    }

    fn read(&mut self, place: usize) -> io::Result<ReadOutcome> {
        self.buffer.clear();
        self.buffer.reserve(CHUNK);
        let source = &self.sources[place];
        match rustix::io::read(&source.fd, spare_capacity(&mut self.buffer)) {
            // A terminal whose other side is closed says EIO.
            Ok(0) | Err(Errno::IO) => Ok(ReadOutcome::End),
            Ok(bytes) => {
                // What can't be kept is marked as lost in the journal itself.
                let _appended = self.journal.append(source.tag, now_ms(), &self.buffer);
                Ok(ReadOutcome::Some(bytes))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(ReadOutcome::Nothing),
            Err(error) => Err(error.into()),
        }
    }
}

enum ReadOutcome {
    Some(usize),
    Nothing,
    End,
}
