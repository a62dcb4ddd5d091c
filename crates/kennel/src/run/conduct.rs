//! Signals to us and news from the holder, until the session is over.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::holder::{Event, Held, HeldError};
use kennel_pen::{Member, Status, Survivor};
use kennel_sys::signals::{SignalFd, is_ignored};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use super::takeover::take_over;
use super::terminal::Session;
use crate::failure::Failure;

/// How long the holder may take to confirm a stop, before it is bypassed.
const ANSWER: Duration = Duration::from_secs(5);

/// The signals that mean something to us, read one by one.
pub(crate) struct Signals(SignalFd);

const STOPS: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

impl Signals {
    /// Blocks them from now on. One that we were started to ignore (`nohup`) stays ignored.
    pub(crate) fn listen() -> io::Result<Self> {
        let heard = STOPS
            .into_iter()
            .map(Signal::as_raw)
            .filter(|signal| !is_ignored(*signal))
            .chain([Signal::WINCH.as_raw(), Signal::TSTP.as_raw()])
            .collect::<Vec<_>>();
        SignalFd::new(&heard).map(Self)
    }

    /// Whether a stop has been asked for already.
    pub(crate) fn stop_wanted(&self) -> io::Result<Option<i32>> {
        while let Some(signal) = self.0.next()? {
            if STOPS.iter().any(|stop| stop.as_raw() == signal) {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }
}

/// How the session ended for us.
pub(crate) enum Verdict {
    Ended(Status),
    StillAlive(Vec<Survivor>),
    HolderLost,
}

/// Sees one session through.
pub(crate) struct Conductor {
    held: Held,
    signals: Signals,
    session: Option<Session>,
    interrupted: bool,
    /// Until when the holder must have confirmed the stop.
    answer_by: Option<Instant>,
    exited: Option<Status>,
}

impl Conductor {
    pub(crate) fn new(held: Held, signals: Signals, session: Option<Session>) -> Self {
        Self { held, signals, session, interrupted: false, answer_by: None, exited: None }
    }

    pub(crate) fn conduct(mut self) -> Result<Verdict, Failure> {
        let verdict = loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(verdict)) => break verdict,
                Err(HeldError::Died | HeldError::Silent) => {
                    let exited = self.exited.take();
                    let ended = take_over(self.held, exited);
                    drop(self.session);
                    return ended;
                }
                Err(error) => return Err(error.into()),
            }
        };
        if let Some(session) = self.session.take() {
            session.finish();
        }
        Ok(verdict)
    }

    fn turn(&mut self) -> Result<Option<Verdict>, HeldError> {
        let call = |name| move |error: io::Error| kennel_pen::CallError::new(name, error);
        while let Some(signal) = self.signals.0.next().map_err(call("read signalfd"))? {
            self.signalled(signal)?;
        }
        while let Some(event) = self.held.next_event(Instant::now())? {
            if let Some(verdict) = self.happened(event) {
                return Ok(Some(verdict));
            }
        }
        if self.answer_by.is_some_and(|by| by <= Instant::now()) {
            return Err(HeldError::Silent);
        }
        let mut fds =
            [PollFd::new(&self.signals.0, PollFlags::IN), PollFd::new(&self.held, PollFlags::IN)];
        let timeout = self.answer_by.map(|by| {
            let left = by.saturating_duration_since(Instant::now());
            rustix::event::Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(call("poll")(error.into()).into()),
        }
    }

    fn signalled(&mut self, signal: i32) -> Result<(), HeldError> {
        match Signal::from_named_raw(signal) {
            Some(Signal::WINCH) => {
                if let Some(session) = &self.session {
                    session.resize();
                }
                Ok(())
            }
            Some(Signal::TSTP) => self.suspend(),
            Some(Signal::INT) if self.interrupted => {
                self.answer_by.get_or_insert(Instant::now() + ANSWER);
                self.held.kill()
            }
            other => {
                self.interrupted |= other == Some(Signal::INT);
                self.answer_by.get_or_insert(Instant::now() + ANSWER);
                self.held.stop(None)
            }
        }
    }

    /// The user's shell wants us to stand still. Without a terminal of its own the agent stands still
    /// too; with one it goes on, like a program in another window.
    fn suspend(&mut self) -> Result<(), HeldError> {
        match &mut self.session {
            Some(session) => {
                session.step_back();
                stand_still();
                session.step_forward();
                Ok(())
            }
            None => {
                self.held.signal(Signal::STOP)?;
                stand_still();
                self.held.signal(Signal::CONT)
            }
        }
    }

    fn happened(&mut self, event: Event) -> Option<Verdict> {
        match event {
            Event::Exited(status) => {
                self.exited = Some(status);
                None
            }
            Event::Gone(gone) => Some(Verdict::Ended(gone.status)),
            Event::StillAlive(survivors) => Some(Verdict::StillAlive(survivors)),
            Event::Ending => {
                self.answer_by = None;
                None
            }
            Event::LeftBehind(members) => {
                self.say(&left_behind(&members));
                None
            }
            Event::Trouble(text) => {
                self.say(&format!("the holder has trouble: {text}"));
                None
            }
        }
    }

    /// A word to a person: not into a stream that a program reads.
    fn say(&self, text: &str) {
        if rustix::termios::isatty(rustix::stdio::stderr()) {
            let end = if self.session.is_some() { "\r" } else { "" };
            eprintln!("kennel: {text}{end}");
        }
    }
}

fn left_behind(members: &[Member]) -> String {
    let list = members.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect::<Vec<_>>();
    format!("ending what the agent left behind: {}", list.join(", "))
}

/// Stops this process until the shell continues it.
fn stand_still() {
    // Sending a signal to oneself can't fail.
    rustix::process::kill_process(rustix::process::getpid(), Signal::STOP).ok();
}
