//! Copies the agent's output from its journal to our streams. A thread does it, since our streams
//! may block.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};
use std::{io, thread};

use kennel_keeper::attach::{ScreenTracker, screen_of};
use kennel_keeper::journal::{JournalItem, JournalReader, LossReason, STDERR};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::print_beside_output;
use super::signals::Signals;
use crate::poll::poll;

/// How long a terminal may accept nothing before the rest of the output is discarded.
const STUCK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStart {
    Start,
    Tail(usize),
    /// At the content that reproduces the agent's screen.
    Screen,
}

#[derive(Debug)]
pub(crate) enum OutputEvent {
    /// This stream of ours has no reader any more, or (`true`) a write to it has failed.
    Closed(u8, bool),
    Trouble(String),
    Done,
}

#[derive(Debug)]
enum OutputCommand {
    More,
    /// The journal is complete: copy the rest and end.
    Finish,
    Leave,
}

/// A handle of the thread.
#[derive(Debug)]
pub(crate) struct OutputCopier {
    commands: Sender<OutputCommand>,
    events: Receiver<OutputEvent>,
    shared: Arc<OutputShared>,
    done: bool,
}

#[derive(Debug)]
struct OutputShared {
    /// Readable if there are events.
    event_fd: OwnedFd,
    written: AtomicU64,
    /// The rest of the output is to be skipped.
    leaving: AtomicBool,
}

impl OutputCopier {
    /// Starts to copy the output of the session with this folder. `terminal` means that our
    /// standard output is a terminal and shows the agent's.
    pub(crate) fn start(folder: &Path, begin: OutputStart, terminal: bool) -> io::Result<Self> {
        let event_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (written, leaving) = (AtomicU64::new(0), AtomicBool::new(false));
        let shared = Arc::new(OutputShared { event_fd, written, leaving });
        let (commands, receiver) = mpsc::channel();
        let (sender, events) = mpsc::channel();
        let copier = OutputThread {
            journal: folder.join("journal"),
            receiver,
            events: sender,
            shared: shared.clone(),
            tracker: terminal.then(ScreenTracker::default),
            closed: [false; 3],
        };
        thread::Builder::new().name("output".into()).spawn(move || copier.run(begin))?;
        Ok(Self { commands, events, shared, done: false })
    }

    pub(crate) fn more(&self) {
        // A thread that has ended needs no command.
        self.commands.send(OutputCommand::More).ok();
    }

    pub(crate) fn next(&mut self) -> Option<OutputEvent> {
        let mut count = [0; 8];
        // Read first: a later event makes it readable again.
        rustix::io::read(&self.shared.event_fd, &mut count).ok();
        let event = self.events.try_recv().ok();
        self.done |= matches!(event, Some(OutputEvent::Done));
        event
    }

    /// Stops copying because we detach, and resets the modes of the terminal.
    pub(crate) fn leave(mut self) {
        self.shared.leaving.store(true, Ordering::Relaxed);
        self.commands.send(OutputCommand::Leave).ok();
        self.await_end(None, true);
    }

    /// Copies the rest, unless a signal arrives or the terminal accepts nothing any more.
    pub(crate) fn finish(mut self, signals: &Signals, terminal: bool) {
        self.commands.send(OutputCommand::Finish).ok();
        self.await_end(Some(signals), terminal);
    }

    fn await_end(&mut self, signals: Option<&Signals>, bounded: bool) {
        let mut stuck_since = (self.shared.written.load(Ordering::Relaxed), Instant::now());
        while !self.done {
            while let Some(event) = self.next() {
                if let (OutputEvent::Trouble(text), Some(_)) = (event, signals) {
                    print_beside_output(&text, bounded);
                }
            }
            let written = self.shared.written.load(Ordering::Relaxed);
            if written != stuck_since.0 {
                stuck_since = (written, Instant::now());
            }
            let interrupted =
                signals.is_some_and(|signals| !matches!(signals.next_end(), Ok(None)));
            if self.done || interrupted || (bounded && stuck_since.1.elapsed() >= STUCK_TIMEOUT) {
                return;
            }
            let mut fds = vec![PollFd::new(&self.shared.event_fd, PollFlags::IN)];
            fds.extend(signals.iter().map(|signals| PollFd::new(*signals, PollFlags::IN)));
            if poll(&mut fds, bounded.then(|| stuck_since.1 + STUCK_TIMEOUT)).is_err() {
                return;
            }
        }
    }
}

impl AsFd for OutputCopier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.event_fd.as_fd()
    }
}

struct OutputThread {
    journal: PathBuf,
    receiver: Receiver<OutputCommand>,
    events: Sender<OutputEvent>,
    shared: Arc<OutputShared>,
    /// Set if our standard output is a terminal that shows the agent's.
    tracker: Option<ScreenTracker>,
    closed: [bool; 3],
}

impl OutputThread {
    fn send(&self, event: OutputEvent) {
        // At the end of the program there is no receiver.
        self.events.send(event).ok();
        rustix::io::write(&self.shared.event_fd, &1_u64.to_ne_bytes()).ok();
    }

    fn run(mut self, begin: OutputStart) {
        if let Err(error) = self.copy(begin) {
            self.send(OutputEvent::Trouble(format!("can't read the output: {error}")));
        }
        if let Some(tracker) = self.tracker.take() {
            self.write(1, tracker.modes.leave().as_bytes());
        }
        self.send(OutputEvent::Done);
    }

    fn copy(&mut self, begin: OutputStart) -> io::Result<()> {
        let mut reader = JournalReader::open(&self.journal)?;
        match begin {
            OutputStart::Start => {}
            OutputStart::Tail(lines) => reader.seek_tail(lines)?,
            OutputStart::Screen => self.replay(&mut reader)?,
        }
        loop {
            self.drain(&mut reader)?;
            match self.next_command() {
                OutputCommand::More => {}
                OutputCommand::Finish => return self.drain(&mut reader),
                OutputCommand::Leave => return Ok(()),
            }
        }
    }

    /// Returns the next command; of several, only the last matters.
    fn next_command(&self) -> OutputCommand {
        let mut command = self.receiver.recv().unwrap_or(OutputCommand::Leave);
        while let OutputCommand::More = command {
            match self.receiver.try_recv() {
                Ok(next) => command = next,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        command
    }

    fn drain(&mut self, reader: &mut JournalReader) -> io::Result<()> {
        loop {
            match reader.next()? {
                JournalItem::Data { stream, data, .. } => {
                    let ours = if stream == STDERR { 2 } else { 1 };
                    if let Some(tracker) = self.tracker.as_mut().filter(|_| ours == 1) {
                        tracker.look(data);
                    }
                    self.write(ours, data);
                }
                JournalItem::Gap { lost, why, .. } => {
                    self.send(OutputEvent::Trouble(missing(lost, why)))
                }
                JournalItem::End => return Ok(()),
            }
            // A client that detaches does not wait for a flood of output.
            if self.shared.leaving.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    fn replay(&mut self, reader: &mut JournalReader) -> io::Result<()> {
        let (shown, tracker) = screen_of(reader)?;
        self.write(1, &shown);
        if let Some(ours) = &mut self.tracker {
            *ours = tracker;
        }
        Ok(())
    }

    /// Writes to a stream. A stream that fails is closed; the other one stays open.
    fn write(&mut self, stream: u8, bytes: &[u8]) {
        let closed = &mut self.closed[usize::from(stream)];
        if *closed || bytes.is_empty() {
            return;
        }
        let to = if stream == 2 { rustix::stdio::stderr() } else { rustix::stdio::stdout() };
        if let Err(error) = write_all(to, bytes, &self.shared.written) {
            *closed = true;
            let failed = error.kind() != io::ErrorKind::BrokenPipe;
            if failed {
                let name = if stream == 2 { "standard error" } else { "standard output" };
                self.send(OutputEvent::Trouble(format!("can't write to {name}: {error}")));
            }
            self.send(OutputEvent::Closed(stream, failed));
        }
    }
}

pub(crate) fn missing(lost: Option<u64>, why: LossReason) -> String {
    match lost {
        Some(1) => format!("1 byte of output is missing here: {why}"),
        Some(lost) => format!("{lost} bytes of output are missing here: {why}"),
        None => format!("some output may be missing here: {why}"),
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8], written: &AtomicU64) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(length) => {
                bytes = &bytes[length..];
                written.fetch_add(length as u64, Ordering::Relaxed);
            }
            // Another process that shares this stream made it non-blocking.
            Err(Errno::AGAIN) => poll(&mut [PollFd::from_borrowed_fd(to, PollFlags::OUT)], None)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
