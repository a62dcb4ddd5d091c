//! The agent's output: from its journal to our own streams, by a thread, since those may not take it now.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use kennel_keeper::attach::{ScreenTracker, screen_of};
use kennel_keeper::journal::{JournalItem, JournalReader, LossReason, STDERR};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::poll::poll;
use super::signals::Signals;

/// How long a terminal may take nothing at all before the rest of the output is given up.
const STUCK: Duration = Duration::from_secs(2);

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStart {
    /// With the first output.
    Start,
    /// With so many of the last lines.
    Tail(usize),
    /// With what makes our screen look like the agent's.
    Screen,
}

/// What the thread has to say.
#[derive(Debug)]
pub(crate) enum OutputEvent {
    /// Nobody reads this stream of ours any more.
    Closed(u8),
    /// Something that people should know.
    Trouble(String),
    /// All is written that was to be.
    Done,
}

#[derive(Debug)]
enum OutputCommand {
    /// There is more to read.
    More,
    /// There will be no more: read the rest and end.
    Finish,
    /// End now.
    Leave,
}

/// The thread, as others see it.
#[derive(Debug)]
pub(crate) struct OutputCopier {
    commands: Sender<OutputCommand>,
    news: Receiver<OutputEvent>,
    /// Readable if there are news.
    bell: Arc<OwnedFd>,
    /// How much was written.
    written: Arc<AtomicU64>,
    leaving: Arc<AtomicBool>,
    done: bool,
}

impl OutputCopier {
    /// Starts to copy the output of the session with this folder. `terminal` says that our standard output
    /// is one and shows the agent's.
    pub(crate) fn start(folder: &Path, begin: OutputStart, terminal: bool) -> io::Result<Self> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (commands, receiver) = mpsc::channel();
        let (tell, news) = mpsc::channel();
        let (written, leaving) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let copier = OutputThread {
            journal: folder.join("journal"),
            receiver,
            tell: OutputEventSender { news: tell, bell: bell.clone() },
            written: written.clone(),
            leaving: leaving.clone(),
            tracker: terminal.then(ScreenTracker::default),
            closed: [false; 3],
        };
        thread::Builder::new().name("output".into()).spawn(move || copier.run(begin))?;
        Ok(Self { commands, news, bell, written, leaving, done: false })
    }

    /// There is more to read.
    pub(crate) fn more(&self) {
        // One that has ended reads no more.
        self.commands.send(OutputCommand::More).ok();
    }

    /// The next news, if there are any.
    pub(crate) fn next(&mut self) -> Option<OutputEvent> {
        let mut count = [0; 8];
        // Read first: what comes after that rings again.
        rustix::io::read(&self.bell, &mut count).ok();
        let news = self.news.try_recv().ok();
        self.done |= matches!(news, Some(OutputEvent::Done));
        news
    }

    /// The session goes on, but we don't; puts a terminal to rest.
    pub(crate) fn leave(mut self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.commands.send(OutputCommand::Leave).ok();
        self.await_end(None, true, |_| ());
    }

    /// Writes the rest, unless somebody wants us to end or, with a terminal, it takes nothing any more.
    pub(crate) fn finish(
        mut self,
        signals: &Signals,
        terminal: bool,
        tell: impl FnMut(OutputEvent),
    ) {
        self.commands.send(OutputCommand::Finish).ok();
        self.await_end(Some(signals), terminal, tell);
    }

    fn await_end(
        &mut self,
        signals: Option<&Signals>,
        bounded: bool,
        mut tell: impl FnMut(OutputEvent),
    ) {
        let mut stuck_since = (self.written.load(Ordering::Relaxed), Instant::now());
        while !self.done {
            while let Some(news) = self.next() {
                tell(news);
            }
            let written = self.written.load(Ordering::Relaxed);
            if written != stuck_since.0 {
                stuck_since = (written, Instant::now());
            }
            let told = signals.is_some_and(|signals| !matches!(signals.next_end(), Ok(None)));
            if self.done || told || (bounded && stuck_since.1.elapsed() >= STUCK) {
                return;
            }
            let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN)];
            fds.extend(signals.iter().map(|signals| PollFd::new(*signals, PollFlags::IN)));
            if poll(&mut fds, bounded.then(|| stuck_since.1 + STUCK)).is_err() {
                return;
            }
        }
    }
}

impl AsFd for OutputCopier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

struct OutputEventSender {
    news: Sender<OutputEvent>,
    bell: Arc<OwnedFd>,
}

impl OutputEventSender {
    fn tell(&self, news: OutputEvent) {
        // Nobody listens any more when the program ends.
        self.news.send(news).ok();
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).ok();
    }
}

/// The thread itself.
struct OutputThread {
    journal: PathBuf,
    receiver: Receiver<OutputCommand>,
    tell: OutputEventSender,
    written: Arc<AtomicU64>,
    /// The rest is not wanted.
    leaving: Arc<AtomicBool>,
    /// Set if our standard output is a terminal that shows the agent's.
    tracker: Option<ScreenTracker>,
    /// Streams of ours that nobody reads.
    closed: [bool; 3],
}

impl OutputThread {
    fn run(mut self, begin: OutputStart) {
        if let Err(error) = self.copy(begin) {
            self.tell.tell(OutputEvent::Trouble(format!("the output can't be read: {error}")));
        }
        if let Some(tracker) = self.tracker.take() {
            self.write(1, tracker.modes.leave().as_bytes());
        }
        self.tell.tell(OutputEvent::Done);
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

    /// Several commands at once are as good as the last.
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
                    self.tell.tell(OutputEvent::Trouble(missing(lost, why)))
                }
                JournalItem::End => return Ok(()),
            }
            // Whoever wants to leave does not wait for the rest of a flood.
            if self.leaving.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Shows what is on the agent's screen.
    fn replay(&mut self, reader: &mut JournalReader) -> io::Result<()> {
        let (shown, tracker) = screen_of(reader)?;
        self.write(1, &shown);
        if let Some(ours) = &mut self.tracker {
            *ours = tracker;
        }
        Ok(())
    }

    /// A stream that takes no more is given up, and only that.
    fn write(&mut self, stream: u8, bytes: &[u8]) {
        let closed = &mut self.closed[usize::from(stream)];
        if *closed || bytes.is_empty() {
            return;
        }
        let to = if stream == 2 { rustix::stdio::stderr() } else { rustix::stdio::stdout() };
        if let Err(error) = write_all(to, bytes, &self.written) {
            *closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                let name = if stream == 2 { "standard error" } else { "standard output" };
                self.tell.tell(OutputEvent::Trouble(format!("can't write to {name}: {error}")));
            }
            self.tell.tell(OutputEvent::Closed(stream));
        }
    }
}

/// What is missing in the output, for people.
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
            // Somebody else who has this stream open made it non-blocking.
            Err(Errno::AGAIN) => poll(&mut [PollFd::from_borrowed_fd(to, PollFlags::OUT)], None)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
