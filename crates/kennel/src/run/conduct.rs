//! Signals to us and news from the holder, until the session is over.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::holder::{Event, Held, HeldError};
use kennel_pen::{CallError, Member, Status, Survivor};
use kennel_sys::pidfd;
use kennel_sys::signals::{SignalFd, is_ignored, take_default};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::process::Signal;

use super::terminal::{OwnTerminal, Session};
use crate::failure::say;

/// How long the launch may take.
const LAUNCH: Duration = Duration::from_secs(60);
/// How long the holder may take to confirm a stop, or to notice the agent's end, before it is bypassed.
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
}

/// What the holder's last word was, or ours.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nobody is left.
    Gone(Status),
    /// These could not be ended so far; the holder goes on.
    StillAlive(Vec<Survivor>),
    /// A stop came before the gate was opened.
    Stopped { signal: i32 },
    /// The holder has died, or is silent.
    Lost { exited: Option<Status>, dead: bool },
}

/// How far the session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The gate is shut: a stop means that the program never runs.
    Shut,
    /// The gate was told to open.
    Opening,
    Running,
}

/// Sees one session through.
pub(crate) struct Conductor {
    held: Held,
    signals: Signals,
    phase: Phase,
    own: Option<OwnTerminal>,
    theirs: Option<OwnedFd>,
    session: Option<Session>,
    interrupted: bool,
    /// Until when the holder must have said what is due.
    answer_by: Option<Instant>,
    /// A stopped holder was told to go on.
    prodded: bool,
    exited: Option<Status>,
}

impl Conductor {
    pub(crate) fn new(
        held: Held,
        signals: Signals,
        own: Option<OwnTerminal>,
        theirs: Option<OwnedFd>,
    ) -> Self {
        Self {
            held,
            signals,
            phase: Phase::Shut,
            own,
            theirs,
            session: None,
            interrupted: false,
            answer_by: Some(Instant::now() + LAUNCH),
            prodded: false,
            exited: None,
        }
    }

    /// What is left when all is said: the holder's handle, and the terminal to put back.
    pub(crate) fn into_parts(self) -> (Held, Option<Session>) {
        (self.held, self.session)
    }

    pub(crate) fn conduct(&mut self) -> Result<Outcome, HeldError> {
        loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(outcome)) => return Ok(outcome),
                Err(error @ (HeldError::Died | HeldError::Silent)) => {
                    // A request may have failed before we read what was said last.
                    while let Ok(Some(event)) = self.held.next_event(Instant::now()) {
                        if let Ok(Some(outcome)) = self.happened(event) {
                            return Ok(outcome);
                        }
                    }
                    let dead = matches!(error, HeldError::Died);
                    return Ok(Outcome::Lost { exited: self.exited.take(), dead });
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn turn(&mut self) -> Result<Option<Outcome>, HeldError> {
        // Signals first: a stop that came before the process was born wins, and the gate stays shut.
        while let Some(signal) = self.signals.0.next().map_err(failed("read signalfd"))? {
            if let Some(outcome) = self.signalled(signal)? {
                return Ok(Some(outcome));
            }
        }
        while let Some(event) = self.held.next_event(Instant::now())? {
            if let Some(outcome) = self.happened(event)? {
                return Ok(Some(outcome));
            }
        }
        self.mind_the_holder()?;
        self.wait()
    }

    /// A holder that owes us a word and does not say it is told to go on, in case it is stopped; then it
    /// is given up.
    fn mind_the_holder(&mut self) -> Result<(), HeldError> {
        let now = Instant::now();
        if self.answer_by.is_none() && self.exited.is_none() && self.agent_has_ended()? {
            self.answer_by = Some(now + ANSWER);
        }
        if self.answer_by.is_none_or(|by| now < by) {
            return Ok(());
        }
        if self.prodded {
            return Err(HeldError::Silent);
        }
        self.prodded = true;
        self.answer_by = Some(now + ANSWER);
        if let Some(holder) = self.held.holder_pidfd() {
            let _sent_or_gone =
                pidfd::send(holder, Signal::CONT).map_err(failed("pidfd_send_signal"))?;
        }
        Ok(())
    }

    fn agent_has_ended(&self) -> Result<bool, HeldError> {
        let agent = self.held.agent_pidfd();
        Ok(agent.map_or(Ok(false), pidfd::has_ended).map_err(failed("poll"))?)
    }

    fn wait(&self) -> Result<Option<Outcome>, HeldError> {
        let mut fds = vec![
            PollFd::new(&self.signals.0, PollFlags::IN),
            PollFd::new(&self.held, PollFlags::IN),
        ];
        // Its end is news to us only as long as the holder owes us nothing.
        let quiet = self.answer_by.is_none() && self.exited.is_none();
        let agent = self.held.agent_pidfd().filter(|_| quiet);
        if let Some(agent) = &agent {
            fds.push(PollFd::new(agent, PollFlags::IN));
        }
        let timeout = self.answer_by.map(|by| {
            let left = by.saturating_duration_since(Instant::now());
            rustix::event::Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(failed("poll")(error.into()).into()),
        }
    }

    fn signalled(&mut self, signal: i32) -> Result<Option<Outcome>, HeldError> {
        match Signal::from_named_raw(signal) {
            Some(Signal::WINCH) => {
                if let Some(session) = &self.session {
                    session.resize();
                }
            }
            Some(Signal::TSTP) => self.suspend()?,
            _ if self.phase == Phase::Shut => return Ok(Some(Outcome::Stopped { signal })),
            Some(Signal::INT) if self.interrupted => {
                self.expect_an_answer();
                self.held.kill()?;
            }
            other => {
                self.interrupted |= other == Some(Signal::INT);
                self.expect_an_answer();
                self.held.stop(None)?;
            }
        }
        Ok(None)
    }

    fn expect_an_answer(&mut self) {
        let by = Instant::now() + ANSWER;
        self.answer_by = Some(self.answer_by.map_or(by, |sooner| sooner.min(by)));
    }

    /// The user's shell wants us to stand still. Without a terminal of its own the agent stands still
    /// too; with one it goes on, like a program in another window.
    fn suspend(&mut self) -> Result<(), HeldError> {
        let tstp = Signal::TSTP.as_raw();
        match &self.session {
            Some(session) => {
                session.step_back();
                take_default(tstp);
                session.step_forward();
                Ok(())
            }
            None if self.phase == Phase::Running => {
                self.held.signal(Signal::STOP)?;
                take_default(tstp);
                self.held.signal(Signal::CONT)
            }
            None => {
                take_default(tstp);
                Ok(())
            }
        }
    }

    fn happened(&mut self, event: Event) -> Result<Option<Outcome>, HeldError> {
        match event {
            Event::Born(_) => self.open()?,
            Event::Running => {
                self.phase = Phase::Running;
                self.answer_by = None;
                if let (Some(own), Some(theirs)) = (self.own.take(), self.theirs.take()) {
                    self.session = Some(own.connect(theirs).map_err(failed("terminal"))?);
                }
            }
            Event::Exited(status) => {
                self.exited = Some(status);
                self.answer_by = None;
            }
            Event::Ending => self.answer_by = None,
            Event::Gone(gone) => return Ok(Some(Outcome::Gone(gone.status))),
            Event::StillAlive(survivors) => return Ok(Some(Outcome::StillAlive(survivors))),
            Event::LeftBehind(members) => self.tell(&left_behind(&members)),
            Event::Trouble(text) => self.tell(&format!("the holder has trouble: {text}")),
        }
        Ok(None)
    }

    fn open(&mut self) -> Result<(), HeldError> {
        if let (Some(own), Some(theirs)) = (&self.own, &self.theirs) {
            own.prepare(theirs).map_err(failed("tcsetattr"))?;
        }
        self.phase = Phase::Opening;
        self.held.open()
    }

    /// A word beside the agent's own output.
    fn tell(&self, text: &str) {
        let raw = self.session.is_some() && rustix::termios::isatty(rustix::stdio::stderr());
        say(&format!("{text}{}", if raw { "\r" } else { "" }));
    }
}

fn failed(call: &'static str) -> impl FnOnce(io::Error) -> CallError {
    move |error| CallError::new(call, error)
}

fn left_behind(members: &[Member]) -> String {
    let list = members.iter().map(|m| format!("{} ({})", m.pid, m.name)).collect::<Vec<_>>();
    format!("ending what the agent left behind: {}", list.join(", "))
}
