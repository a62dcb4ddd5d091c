//! A session in the foreground: connects our streams and our terminal with its keeper and its
//! journal.
//!
//! ```text
//! our stdin ──► ForegroundSession ──► keeper ──► agent
//!                 ▲                      │         │
//!      signals ───┘                      └─ journal on disk ──► output thread ──► our stdout, stderr
//! ```
//! This thread waits for signals, keys and reports. It never waits for our own output, which may
//! block.

mod detach;
mod guard;
mod output;
mod repeated_interrupt;
mod signals;
mod terminal;

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use kennel_keeper::attach::TypedInput;
pub(crate) use kennel_keeper::attach::{QueryFilter, ScreenTracker};
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, Outcome, PeerRole, VERSION};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_pen::{Size, Survivor};
use kennel_sys::signals::take_default;
use rustix::io::Errno;
use rustix::process::Signal;

use crate::command_prelude::*;
use crate::connect::nothing_listens;
use crate::poll::poll;
use crate::quantity::span;
use crate::stopper::Stopper;
pub(crate) use detach::{DEFAULT as DEFAULT_DETACH_KEYS, DetachKeys};
use detach::{DetachKeyMatcher, DetachMatch};
pub(crate) use guard::serve as serve_as_guard;
use output::OutputEvent;
pub(crate) use output::{OutputCopier, OutputStart, missing};
use repeated_interrupt::RepeatedInterrupt;
pub(crate) use signals::{SignalEvent, Signals};
pub(crate) use terminal::{RawTerminal, like_ours, own_terminal, settings, size};

/// How long the daemon may take to forward a stop before the keeper is asked directly.
const FORWARD_TIMEOUT: Duration = Duration::from_millis(250);
/// How long the agent's terminal has another size, which makes its program redraw the screen.
const REDRAW_DELAY: Duration = Duration::from_millis(80);

/// How long a stop may take before the user is informed.
pub(crate) const NOTICE: Duration = Duration::from_secs(1);
/// How long a keeper may take to read that we detach.
const DETACH_TIMEOUT: Duration = Duration::from_secs(2);

const CONTROL_C: u8 = 3;
const UNREACHABLE: &str = "can't reach the keeper";

pub(crate) enum ForegroundRole {
    /// The session is ours: a signal to us stops it.
    Owner(Stopper),
    /// We are attached to a session that keeps running without us.
    Viewer,
}

#[derive(Debug)]
pub(crate) enum ForegroundEnd {
    Gone(Box<Outcome>),
    /// These processes could not be ended; the keeper keeps trying.
    StillAlive(Vec<Survivor>),
    /// The keeper has disconnected without an outcome.
    KeeperLost,
    /// The detach keys were typed: the session keeps running.
    Detached,
    /// A viewer ends with this exit code: a signal arrived, or its output is closed.
    ViewerLeft(u8),
}

pub(crate) struct ForegroundSession<'a> {
    keeper: KeeperClient,
    signals: &'a Signals,
    role: ForegroundRole,
    output: OutputCopier,
    streams: ForegroundStreams,
    /// Set if our standard input goes to the agent.
    input: Option<TypedInput>,
    detach_keys: DetachKeyMatcher,
    interrupts: RepeatedInterrupt,
    stopping: bool,
    /// When to inform the user about the stop.
    notice_at: Option<Instant>,
    /// Requests that the keeper could not take yet.
    outbox: VecDeque<KeeperRequest>,
    /// When to stop the keeper directly, if the daemon has not.
    stop_at: Option<Instant>,
    /// When to restore the true size of the agent's terminal.
    size_at: Option<Instant>,
}

/// The streams of this process and how they are used.
pub(crate) struct ForegroundStreams {
    pub(crate) raw: Option<RawTerminal>,
    /// Whether the agent's terminal follows the size of ours.
    pub(crate) sized: bool,
    /// Whether our standard input goes to the agent.
    pub(crate) stdin: bool,
    /// Input goes nowhere, and Ctrl-C detaches, too.
    pub(crate) read_only: bool,
    pub(crate) detach: DetachKeys,
}

/// Connects to the keeper of the session with this folder; none if it has exited.
pub(crate) fn connect_keeper(
    folder: &Path,
    role: PeerRole,
) -> anyhow::Result<Option<KeeperClient>> {
    let keeper = match KeeperClient::connect(folder) {
        Err(error) if nothing_listens(&error) => return Ok(None),
        connected => connected.context(UNREACHABLE)?,
    };
    for request in [KeeperRequest::Hello { version: VERSION, role }, KeeperRequest::Follow] {
        match keeper.send(&request) {
            Err(KeeperClientError::Closed) => return Ok(None),
            sent => sent.context(UNREACHABLE)?,
        }
    }
    Ok(Some(keeper))
}

impl<'a> ForegroundSession<'a> {
    pub(crate) fn new(
        keeper: KeeperClient,
        signals: &'a Signals,
        role: ForegroundRole,
        output: OutputCopier,
        streams: ForegroundStreams,
    ) -> Self {
        Self {
            keeper,
            signals,
            role,
            output,
            input: streams.stdin.then(TypedInput::default),
            detach_keys: DetachKeyMatcher::for_keys(&streams.detach),
            streams,
            interrupts: RepeatedInterrupt::default(),
            stopping: false,
            notice_at: None,
            outbox: VecDeque::new(),
            stop_at: None,
            size_at: None,
        }
    }

    /// Makes the program on the agent's terminal redraw its screen at our size.
    pub(crate) fn redraw(&mut self) {
        let Some(Size { rows, columns }) = size().filter(|_| self.streams.sized) else { return };
        let other = if rows > 1 { rows - 1 } else { rows + 1 };
        self.send(KeeperRequest::Resize(Size { rows: other, columns }));
        self.size_at = Some(Instant::now() + REDRAW_DELAY);
    }

    /// Follows the session. The caller ends the output before it restores the terminal.
    pub(crate) fn run(
        mut self,
    ) -> anyhow::Result<(ForegroundEnd, OutputCopier, Option<RawTerminal>)> {
        loop {
            if let Some(end) = self.turn().context("can't follow the session")? {
                return Ok((end, self.output, self.streams.raw));
            }
        }
    }

    /// Prints a message next to the agent's output.
    pub(crate) fn print(&self, text: &str) {
        print_beside_output(text, self.streams.raw.is_some());
    }

    fn turn(&mut self) -> io::Result<Option<ForegroundEnd>> {
        while let Some(event) = self.signals.next()? {
            if let Some(end) = self.handle_signal(event)? {
                return Ok(Some(end));
            }
        }
        loop {
            match self.keeper.receive() {
                Ok(Some((report, _))) => {
                    if let Some(end) = self.handle_report(report) {
                        return Ok(Some(end));
                    }
                }
                Ok(None) => break,
                Err(KeeperClientError::Call(error)) => return Err(error),
                Err(_) => return Ok(Some(ForegroundEnd::KeeperLost)),
            }
        }
        while let Some(event) = self.output.next() {
            match event {
                OutputEvent::Closed(stream, failed) => match self.role {
                    ForegroundRole::Owner(_) => self.send(KeeperRequest::CloseOutput(stream)),
                    ForegroundRole::Viewer if stream == 2 => {}
                    ForegroundRole::Viewer => {
                        let code = if failed { exit_code::INTERNAL } else { 0 };
                        return Ok(Some(ForegroundEnd::ViewerLeft(code)));
                    }
                },
                OutputEvent::Trouble(text) => self.print(&text),
                OutputEvent::Done => {}
            }
        }
        self.check_timers();
        self.flush();
        match self.wait()? {
            (_, true) => Ok(Some(ForegroundEnd::ViewerLeft(0))),
            (true, false) => self.read_keys(),
            (false, false) => Ok(None),
        }
    }

    /// Waits for an event. Returns whether there is input, and whether the reader of a viewer's
    /// output is gone: a silent session would never let it notice.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let mut to_keeper = PollFlags::IN;
        if !self.outbox.is_empty() {
            to_keeper |= PollFlags::OUT;
        }
        let mut fds = vec![
            PollFd::new(self.signals, PollFlags::IN),
            PollFd::new(&self.keeper, to_keeper),
            PollFd::new(&self.output, PollFlags::IN),
        ];
        let reads = self.input.as_ref().is_some_and(TypedInput::wants_more);
        fds.extend(reads.then(|| PollFd::new(&stdin, PollFlags::IN)));
        let views = matches!(self.role, ForegroundRole::Viewer);
        fds.extend(views.then(|| PollFd::new(&stdout, PollFlags::empty())));
        let timers = [self.stop_at, self.size_at, self.notice_at];
        poll(&mut fds, timers.into_iter().flatten().min())?;
        let ready = |fd: Option<&PollFd<'_>>| fd.is_some_and(|fd| !fd.revents().is_empty());
        Ok((reads && ready(fds.get(3)), views && ready(fds.last())))
    }

    fn check_timers(&mut self) {
        let now = Instant::now();
        if self.stop_at.is_some_and(|at| at <= now) {
            self.stop_at = None;
            self.send(KeeperRequest::Stop { grace: None });
        }
        if self.size_at.is_some_and(|at| at <= now) {
            self.size_at = None;
            self.send_size();
        }
        if self.notice_at.is_some_and(|at| at <= now) {
            self.notice_at = None;
            self.notice();
        }
    }

    fn send_size(&mut self) {
        if let Some(size) = size().filter(|_| self.streams.sized) {
            self.send(KeeperRequest::Resize(size));
        }
    }

    // Signals.

    fn handle_signal(&mut self, event: SignalEvent) -> io::Result<Option<ForegroundEnd>> {
        match event {
            SignalEvent::Resized => self.send_size(),
            SignalEvent::Suspend => self.suspend()?,
            SignalEvent::End(signal) => match self.role {
                ForegroundRole::Viewer => {
                    return Ok(Some(ForegroundEnd::ViewerLeft(exit_code::of_signal(signal))));
                }
                ForegroundRole::Owner(_) => self.stop(signal),
            },
        }
        Ok(None)
    }

    /// Stops the whole tree; an interrupt during a stop kills it.
    fn stop(&mut self, signal: i32) {
        let interrupt = signal == Signal::INT.as_raw();
        let now = interrupt && self.stopping;
        if let ForegroundRole::Owner(stopper) = &self.role {
            stopper.ask(now, signal);
        }
        if interrupt && !self.stopping && isatty(rustix::stdio::stderr()) {
            // After three presses the user expects a reaction; otherwise only if it takes long.
            let delay = if self.streams.raw.is_some() { Duration::ZERO } else { NOTICE };
            self.notice_at = Some(Instant::now() + delay);
        }
        self.stopping = true;
        if now {
            self.stop_at = None;
            self.notice_at = None;
            self.send(KeeperRequest::Kill);
        } else {
            // The daemon forwards the stop and records its cause. Without a daemon, we send it.
            self.stop_at.get_or_insert_with(|| Instant::now() + FORWARD_TIMEOUT);
        }
    }

    /// Prints that a stop is in progress, on a new line: the cursor may be anywhere.
    fn notice(&self) {
        let ForegroundRole::Owner(stopper) = &self.role else { return };
        let waited = if self.streams.raw.is_some() { Duration::ZERO } else { NOTICE };
        let left = stopper.grace.saturating_sub(waited);
        if left.is_zero() {
            return;
        }
        start_line(self.streams.raw.is_some());
        let left = span(left);
        self.print(&format!(
            "stopping (TERM sent, KILL in {left}); press Ctrl-C again to kill now"
        ));
    }

    /// Suspends this process for the user's shell. Our agent is suspended with it, unless it has a
    /// terminal of its own: then it keeps running, like a program in another window.
    fn suspend(&mut self) -> io::Result<()> {
        let tstp = Signal::TSTP.as_raw();
        match (&self.streams.raw, &self.role) {
            (Some(raw), _) => {
                raw.restore();
                take_default(tstp);
                raw.enter_raw_mode()?;
                self.redraw();
            }
            (None, ForegroundRole::Owner(_)) => {
                self.send(KeeperRequest::Signal(Signal::STOP.as_raw()));
                take_default(tstp);
                self.send(KeeperRequest::Signal(Signal::CONT.as_raw()));
            }
            (None, ForegroundRole::Viewer) => take_default(tstp),
        }
        Ok(())
    }

    // Keys.

    fn read_keys(&mut self) -> io::Result<Option<ForegroundEnd>> {
        let mut buffer = [0; 16 * 1024];
        let Some(input) = &mut self.input else { return Ok(None) };
        let typed = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(0) => {
                input.end(self.streams.raw.is_none() && !self.streams.read_only);
                return Ok(None);
            }
            Ok(length) => &buffer[..length],
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            // A terminal that is gone returns EIO: the end of input, not a failure.
            Err(_) => {
                input.end(false);
                return Ok(None);
            }
        };
        let passed = if self.streams.raw.is_none() {
            DetachMatch::Pass(typed.to_vec())
        } else if self.streams.read_only && typed.contains(&CONTROL_C) {
            DetachMatch::Detach(Vec::new())
        } else {
            self.detach_keys.feed(typed)
        };
        if self.streams.read_only {
            return Ok(matches!(passed, DetachMatch::Detach(_)).then_some(ForegroundEnd::Detached));
        }
        match passed {
            DetachMatch::Pass(bytes) => {
                input.add(&bytes);
                self.check_interrupts(typed);
                Ok(None)
            }
            DetachMatch::Detach(bytes) => {
                input.add(&bytes);
                self.flush();
                if let ForegroundRole::Owner(_) = self.role {
                    self.send(KeeperRequest::Detach);
                }
                // Without this request the session would end with us.
                let sent = self.send_all(Instant::now() + DETACH_TIMEOUT)?;
                Ok(sent.then_some(ForegroundEnd::Detached))
            }
        }
    }

    /// Stops our session if the user presses Ctrl-C repeatedly.
    fn check_interrupts(&mut self, typed: &[u8]) {
        if matches!(self.role, ForegroundRole::Owner(_))
            && self.streams.raw.is_some()
            && self.interrupts.wants_stop(typed, Instant::now(), self.stopping)
        {
            self.stop(Signal::INT.as_raw());
        }
    }

    // The keeper.

    fn handle_report(&mut self, report: KeeperReport) -> Option<ForegroundEnd> {
        match report {
            KeeperReport::Grown(_) => self.output.more(),
            KeeperReport::Gone(outcome) => return Some(ForegroundEnd::Gone(Box::new(outcome))),
            KeeperReport::StillAlive(survivors) => match self.role {
                ForegroundRole::Owner(_) => return Some(ForegroundEnd::StillAlive(survivors)),
                ForegroundRole::Viewer => {
                    let list = survivors.iter().map(ToString::to_string).collect::<Vec<_>>();
                    self.print(&format!("still alive after KILL: {}", list.join(", ")));
                }
            },
            KeeperReport::Ending => self.stop_at = None,
            KeeperReport::LeftBehind(members) => {
                let list = members.iter().map(|m| format!("{} ({})", m.pid, m.name));
                let list = list.collect::<Vec<_>>().join(", ");
                self.print(&format!("ending processes that the command left behind: {list}"));
            }
            KeeperReport::Trouble(text) => self.print(&format!("problem in the keeper: {text}")),
            KeeperReport::InputTaken(bytes) => {
                if let Some(input) = &mut self.input {
                    input.taken(bytes);
                }
            }
            KeeperReport::Refused(why) => {
                if let Some(input) = &mut self.input {
                    input.refused();
                }
                self.print(&why);
            }
            _ => {}
        }
        None
    }

    /// Sends a request after those in the outbox.
    fn send(&mut self, request: KeeperRequest) {
        self.outbox.push_back(request);
        self.flush();
    }

    /// Waits until the keeper has taken all requests. Returns whether it has.
    fn send_all(&mut self, deadline: Instant) -> io::Result<bool> {
        while !self.outbox.is_empty() && Instant::now() < deadline {
            let mut fds = [PollFd::new(&self.keeper, PollFlags::OUT)];
            poll(&mut fds, Some(deadline))?;
            self.flush();
        }
        Ok(self.outbox.is_empty())
    }

    fn flush(&mut self) {
        while let Some(request) = self.outbox.front() {
            match self.keeper.send(request) {
                Err(KeeperClientError::Full) => return,
                // If the keeper is gone, the next read of its reports returns that.
                Ok(()) | Err(_) => drop(self.outbox.pop_front()),
            }
        }
        while let Some(input) = &mut self.input
            && let Some(request) = input.next()
        {
            match self.keeper.send(&request) {
                Err(KeeperClientError::Full) => {
                    // From the outbox, it is sent when the socket has room.
                    input.sent(&request);
                    self.outbox.push_back(request);
                    return;
                }
                Ok(()) => input.sent(&request),
                Err(_) => return,
            }
        }
    }
}

/// Prints a message next to the agent's output.
fn print_beside_output(text: &str, raw: bool) {
    let raw = raw && isatty(rustix::stdio::stderr());
    // In a raw terminal, each line break needs a carriage return.
    if raw {
        print_message(&format!("{}\r", text.replace('\n', "\r\n")))
    } else {
        print_message(text)
    }
}
