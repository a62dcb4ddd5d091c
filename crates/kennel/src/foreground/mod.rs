//! A session in the foreground: our streams and our terminal on one side, its keeper and its journal on the
//! other.
//!
//! ```text
//! our stdin ──► Live ──► keeper ──► agent
//!                 ▲         │         │
//!      signals ───┘         └─ journal on disk ──► output thread ──► our stdout, stderr
//! ```
//! This thread waits for signals, keys and reports, and never for our own output, which may be stuck.

mod detach;
mod guard;
mod output;
mod poll;
mod repeated_interrupt;
mod signals;
mod terminal;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_keeper::attach::TypedInput;
pub(crate) use kennel_keeper::attach::{QueryFilter, ScreenTracker};
use kennel_keeper::protocol::{KeeperReport, KeeperRequest, Outcome, PeerRole, VERSION};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_pen::{PenProcess, Size, Survivor};
use kennel_sys::signals::take_default;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::termios::isatty;

use crate::command_error::{say, start_line};
use crate::quantity::span;
use crate::stopper::Stopper;
pub(crate) use detach::{DEFAULT as DEFAULT_DETACH_KEYS, DetachKeys};
use detach::{DetachKeyMatcher, DetachMatch};
pub(crate) use guard::serve as serve_as_guard;
pub(crate) use output::{OutputCopier, OutputEvent, OutputStart, missing};
pub(crate) use poll::poll;
use repeated_interrupt::RepeatedInterrupt;
pub(crate) use signals::{SignalEvent, Signals};
pub(crate) use terminal::{OwnTerminal, RawTerminal, like_ours, settings, size};

/// How long the daemon may take to pass a stop on, before the keeper is told directly.
const PASS_ON: Duration = Duration::from_millis(250);
/// How long the agent's terminal has another size, so that a program on it draws everything anew.
const JIGGLE: Duration = Duration::from_millis(80);

/// How long a stop may take before people are told that it is under way.
pub(crate) const NOTICE: Duration = Duration::from_secs(1);
/// How long a keeper may take to hear that we leave.
const LAST_WORD: Duration = Duration::from_secs(2);

const CONTROL_C: u8 = 3;

/// As what we are here.
pub(crate) enum ForegroundRole {
    /// The session is ours: who ends us ends it.
    Owner(Stopper),
    /// We look on, and maybe type.
    Viewer,
}

/// How it ended, for us.
#[derive(Debug)]
pub(crate) enum ForegroundEnd {
    /// Nobody is left.
    Gone(Box<Outcome>),
    /// These could not be ended so far; the keeper goes on.
    StillAlive(Vec<Survivor>),
    /// The keeper has gone without a word.
    KeeperLost,
    /// The keys were typed: the session goes on without us.
    Detached,
    /// A visitor was told to go, by this signal.
    Signalled(i32),
}

/// Everything that a session in the foreground has.
pub(crate) struct ForegroundSession<'a> {
    keeper: KeeperClient,
    signals: &'a Signals,
    part: ForegroundRole,
    output: OutputCopier,
    raw: Option<RawTerminal>,
    /// Whether the agent has a terminal, which is to have our size.
    sized: bool,
    /// Set if our standard input goes to the agent.
    input: Option<TypedInput>,
    /// What is typed is looked at for the keys, and goes nowhere.
    read_only: bool,
    watch: Option<DetachKeyMatcher>,
    impatience: RepeatedInterrupt,
    /// The session was told to end by us.
    stopping: bool,
    /// When to say that, and how to hurry it.
    notice_at: Option<Instant>,
    /// What the keeper could not take yet.
    outbox: VecDeque<KeeperRequest>,
    /// When to tell the keeper to stop, if the daemon has not.
    stop_at: Option<Instant>,
    /// When to give the agent's terminal its true size.
    size_at: Option<Instant>,
}

/// What our side offers.
pub(crate) struct ForegroundStreams {
    /// Our terminal, if it is raw.
    pub(crate) raw: Option<RawTerminal>,
    /// Whether the agent has a terminal, which is to have our size.
    pub(crate) sized: bool,
    /// Whether our standard input goes to the agent.
    pub(crate) stdin: bool,
    /// What is typed goes nowhere, and Control-C is one of the keys by which we leave.
    pub(crate) read_only: bool,
    /// The keys by which we leave.
    pub(crate) detach: Option<DetachKeys>,
}

/// Connects to the keeper of the session with this folder; none if there is no keeper any more.
pub(crate) fn reach(
    folder: &Path,
    role: PeerRole,
) -> Result<Option<KeeperClient>, KeeperClientError> {
    let keeper = match KeeperClient::connect(folder) {
        Ok(keeper) => keeper,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    for request in [KeeperRequest::Hello { version: VERSION, role }, KeeperRequest::Follow] {
        match keeper.send(&request) {
            Err(KeeperClientError::Closed) => return Ok(None),
            other => other?,
        }
    }
    Ok(Some(keeper))
}

impl<'a> ForegroundSession<'a> {
    pub(crate) fn new(
        keeper: KeeperClient,
        signals: &'a Signals,
        part: ForegroundRole,
        output: OutputCopier,
        ends: ForegroundStreams,
    ) -> Self {
        Self {
            keeper,
            signals,
            part,
            output,
            raw: ends.raw,
            sized: ends.sized,
            input: ends.stdin.then(TypedInput::default),
            read_only: ends.read_only,
            watch: ends.detach.as_ref().map(DetachKeyMatcher::for_keys),
            impatience: RepeatedInterrupt::default(),
            stopping: false,
            notice_at: None,
            outbox: VecDeque::new(),
            stop_at: None,
            size_at: None,
        }
    }

    /// Has a program on the agent's terminal draw everything anew, at our size.
    pub(crate) fn redraw(&mut self) {
        let Some(Size { rows, columns }) = size().filter(|_| self.sized) else { return };
        let other = if rows > 1 { rows - 1 } else { rows + 1 };
        self.send(KeeperRequest::Resize(Size { rows: other, columns }));
        self.size_at = Some(Instant::now() + JIGGLE);
    }

    /// Goes on until it ends, for us.
    pub(crate) fn conduct(&mut self) -> io::Result<ForegroundEnd> {
        loop {
            if let Some(end) = self.turn()? {
                return Ok(end);
            }
        }
    }

    /// What is left when all is said: the output to be finished, and the terminal to be put back.
    pub(crate) fn into_parts(self) -> (OutputCopier, Option<RawTerminal>) {
        (self.output, self.raw)
    }

    /// A word beside the agent's own output.
    pub(crate) fn tell(&self, text: &str) {
        tell(text, self.raw.is_some());
    }

    fn turn(&mut self) -> io::Result<Option<ForegroundEnd>> {
        while let Some(told) = self.signals.next()? {
            if let Some(end) = self.told(told)? {
                return Ok(Some(end));
            }
        }
        loop {
            match self.keeper.receive() {
                Ok(Some((report, _))) => {
                    if let Some(end) = self.heard(report) {
                        return Ok(Some(end));
                    }
                }
                Ok(None) => break,
                Err(KeeperClientError::Call(error)) => return Err(error),
                Err(_) => return Ok(Some(ForegroundEnd::KeeperLost)),
            }
        }
        while let Some(news) = self.output.next() {
            match news {
                OutputEvent::Closed(stream) => self.send(KeeperRequest::CloseOutput(stream)),
                OutputEvent::Trouble(text) => self.tell(&text),
                OutputEvent::Done => {}
            }
        }
        self.mind_the_time();
        self.flush();
        let typed = self.wait()?;
        if typed { self.read_keys() } else { Ok(None) }
    }

    /// Waits; says whether something was typed.
    fn wait(&self) -> io::Result<bool> {
        let stdin = rustix::stdio::stdin();
        let mut to_keeper = PollFlags::IN;
        if !self.outbox.is_empty() {
            to_keeper |= PollFlags::OUT;
        }
        let mut fds = vec![
            PollFd::new(self.signals, PollFlags::IN),
            PollFd::new(&self.keeper, to_keeper),
            PollFd::new(&self.output, PollFlags::IN),
        ];
        if self.input.as_ref().is_some_and(TypedInput::wants_more) {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        let moments = [self.stop_at, self.size_at, self.notice_at];
        poll(&mut fds, moments.into_iter().flatten().min())?;
        Ok(fds.get(3).is_some_and(|stdin| !stdin.revents().is_empty()))
    }

    fn mind_the_time(&mut self) {
        let now = Instant::now();
        if self.stop_at.is_some_and(|at| at <= now) {
            self.stop_at = None;
            self.send(KeeperRequest::Stop { grace: None });
        }
        if self.size_at.is_some_and(|at| at <= now) {
            self.size_at = None;
            self.give_size();
        }
        if self.notice_at.is_some_and(|at| at <= now) {
            self.notice_at = None;
            self.notice();
        }
    }

    fn give_size(&mut self) {
        if let Some(size) = size().filter(|_| self.sized) {
            self.send(KeeperRequest::Resize(size));
        }
    }

    // Signals.

    fn told(&mut self, told: SignalEvent) -> io::Result<Option<ForegroundEnd>> {
        match told {
            SignalEvent::Resized => self.give_size(),
            SignalEvent::Suspend => self.suspend()?,
            SignalEvent::End(signal) => match self.part {
                ForegroundRole::Viewer => return Ok(Some(ForegroundEnd::Signalled(signal))),
                ForegroundRole::Owner(_) => self.stop(signal),
            },
        }
        Ok(None)
    }

    /// The whole tree is to end; at once, if that is an interrupt and a stop is under way already.
    fn stop(&mut self, signal: i32) {
        let interrupt = signal == Signal::INT.as_raw();
        let now = interrupt && self.stopping;
        if let ForegroundRole::Owner(stopper) = &self.part {
            stopper.ask(now, signal);
        }
        if interrupt && !self.stopping && isatty(rustix::stdio::stderr()) {
            // Whoever pressed the key thrice wonders already; others do if it takes long.
            let patience = if self.raw.is_some() { Duration::ZERO } else { NOTICE };
            self.notice_at = Some(Instant::now() + patience);
        }
        self.stopping = true;
        if now {
            self.stop_at = None;
            self.notice_at = None;
            self.send(KeeperRequest::Kill);
        } else {
            // By the daemon, so that it is on record who wanted it. If there is none, without it.
            self.stop_at.get_or_insert_with(|| Instant::now() + PASS_ON);
        }
    }

    /// Says that a stop is under way, on a line of its own: the agent may have left the cursor anywhere.
    fn notice(&self) {
        let ForegroundRole::Owner(stopper) = &self.part else { return };
        let waited = if self.raw.is_some() { Duration::ZERO } else { NOTICE };
        let left = stopper.grace.saturating_sub(waited);
        if left.is_zero() {
            return;
        }
        start_line(self.raw.is_some());
        let left = span(left);
        self.tell(&format!("stopping (TERM, KILL in {left}); Control-C again kills now"));
    }

    /// The user's shell wants us to stand still. Without a terminal of its own an agent of ours stands still
    /// too; with one it goes on, like a program in another window.
    fn suspend(&mut self) -> io::Result<()> {
        let tstp = Signal::TSTP.as_raw();
        match (&self.raw, &self.part) {
            (Some(raw), _) => {
                raw.step_back();
                take_default(tstp);
                raw.step_forward()?;
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
                input.end(self.raw.is_none() && !self.read_only);
                return Ok(None);
            }
            Ok(length) => &buffer[..length],
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            // A terminal that is gone says EIO: the end, not a failure.
            Err(_) => {
                input.end(false);
                return Ok(None);
            }
        };
        let passed = match self.watch.as_mut().filter(|_| self.raw.is_some()) {
            None => DetachMatch::Pass(typed.to_vec()),
            Some(_) if self.read_only && typed.contains(&CONTROL_C) => {
                DetachMatch::Detach(Vec::new())
            }
            Some(watch) => watch.feed(typed),
        };
        if self.read_only {
            return Ok(matches!(passed, DetachMatch::Detach(_)).then_some(ForegroundEnd::Detached));
        }
        match passed {
            DetachMatch::Pass(bytes) => {
                input.add(&bytes);
                self.mind_impatience(typed);
                Ok(None)
            }
            DetachMatch::Detach(bytes) => {
                input.add(&bytes);
                self.flush();
                if let ForegroundRole::Owner(_) = self.part {
                    self.send(KeeperRequest::Untether);
                }
                // It would end with us if that word were left with us.
                let told = self.say_all(Instant::now() + LAST_WORD)?;
                Ok(told.then_some(ForegroundEnd::Detached))
            }
        }
    }

    /// Control-C is a key for the agent; one who presses it again and again wants out.
    fn mind_impatience(&mut self, typed: &[u8]) {
        let owner = matches!(self.part, ForegroundRole::Owner(_));
        if owner
            && self.raw.is_some()
            && self.impatience.wants_out(typed, Instant::now(), self.stopping)
        {
            self.stop(Signal::INT.as_raw());
        }
    }

    // The keeper.

    fn heard(&mut self, report: KeeperReport) -> Option<ForegroundEnd> {
        match report {
            KeeperReport::Grown(_) => self.output.more(),
            KeeperReport::Gone(outcome) => return Some(ForegroundEnd::Gone(Box::new(outcome))),
            KeeperReport::StillAlive(survivors) => match self.part {
                ForegroundRole::Owner(_) => return Some(ForegroundEnd::StillAlive(survivors)),
                ForegroundRole::Viewer => {
                    let list = survivors.iter().map(ToString::to_string).collect::<Vec<_>>();
                    self.tell(&format!("still alive, in spite of KILL: {}", list.join(", ")));
                }
            },
            KeeperReport::Ending => self.stop_at = None,
            KeeperReport::LeftBehind(members) => self.tell(&left_behind(&members)),
            KeeperReport::Trouble(text) => self.tell(&format!("the keeper has trouble: {text}")),
            KeeperReport::InputTaken(bytes) => {
                if let Some(input) = &mut self.input {
                    input.taken(bytes);
                }
            }
            KeeperReport::Refused(why) => {
                if let Some(input) = &mut self.input {
                    input.refused();
                }
                self.tell(&why);
            }
            _ => {}
        }
        None
    }

    /// To be sent after what waits already.
    fn send(&mut self, request: KeeperRequest) {
        self.outbox.push_back(request);
        self.flush();
    }

    /// Waits until the keeper has taken everything; whether it has.
    fn say_all(&mut self, deadline: Instant) -> io::Result<bool> {
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
                // That it is gone is heard, with its last words, where reports are.
                Ok(()) | Err(_) => drop(self.outbox.pop_front()),
            }
        }
        while let Some(input) = &mut self.input
            && let Some(request) = input.next()
        {
            match self.keeper.send(&request) {
                Err(KeeperClientError::Full) => {
                    // It waits in the outbox now, so that we wait for room.
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

/// A word beside the agent's own output.
pub(crate) fn tell(text: &str, raw: bool) {
    let raw = raw && isatty(rustix::stdio::stderr());
    // Line breaks in it, too, must bring a raw terminal back to the first column.
    if raw { say(&format!("{}\r", text.replace('\n', "\r\n"))) } else { say(text) }
}

fn left_behind(members: &[PenProcess]) -> String {
    let list = members.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect::<Vec<_>>();
    format!("ending what the agent left behind: {}", list.join(", "))
}
