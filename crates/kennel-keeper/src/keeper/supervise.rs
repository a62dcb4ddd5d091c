//! From the open gate to the empty pen.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::end_policy::{EndPhase, EndPolicy, EndStep};
use kennel_pen::{ActivitySample, CallerEnds, EndOutcome, Pen, RemovalFailure, Status, Woken};
use kennel_sys::terminal;
use rustix::event::PollFd;
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;

use super::activity::TimeVerdict;
use super::connections::{Connections, LaunchControl};
use super::input::{AgentInput, InputOutcome, unblock};
use super::limit_clock::LimitClock;
use super::now_ms;
use super::output::AgentOutput;
use crate::fault;
use crate::journal::JournalWriter;
use crate::protocol::{Cause, KeeperReport, LaunchOrder, LaunchStage, Outcome};

/// The length of one bout of killing, between which requests are heard.
const BOUT: Duration = Duration::from_millis(250);
/// When those who can't be ended are told for the first time.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between bouts once patience is over: still probed, no longer hammered at.
const PROBE: Duration = Duration::from_secs(1);
/// When an agent that still runs is taken for one that runs for long.
const REST: Duration = Duration::from_secs(1);
/// How long the client of a tethered session may take to come.
const OWNER: Duration = Duration::from_secs(5);
/// So often what is still waiting to be heard is heard before a limit ends anything.
const LAST_CALLS: u32 = 64;
/// The most entries of a list in a report.
const LONGEST_LIST: usize = 2000;

/// Everything that a running launch has.
pub(super) struct LaunchSupervisor<'a> {
    desk: &'a mut Connections,
    pen: Pen,
    policy: EndPolicy,
    output: AgentOutput,
    input: AgentInput,
    terminal: Option<AgentTerminal>,
    lease: Option<Duration>,
    tether: Tether,
    watch: LimitClock,
    cause: Cause,
    told_exit: bool,
    killing_since: Option<Instant>,
    told_survivors: bool,
    asked: bool,
    /// And that before the agent had ended.
    asked_in_time: bool,
    /// What asks the agent to end, if not TERM: as long as it lives.
    stop_signal: Option<Signal>,
    /// When memory is given back; none if it was.
    rest_at: Option<Instant>,
}

/// The agent's terminal: our side, and a hold on its own, so that what it printed last stays to be read,
/// and a program that closes its terminal and opens it anew finds it.
struct AgentTerminal {
    master: OwnedFd,
    _slave: OwnedFd,
}

/// Whether the session is tied to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tether {
    None,
    /// The client must come by then.
    Expected(Instant),
    Tied,
}

impl<'a> LaunchSupervisor<'a> {
    pub(super) fn new(
        desk: &'a mut Connections,
        pen: Pen,
        order: &LaunchOrder,
        ends: CallerEnds,
        journal: JournalWriter,
    ) -> Self {
        let opened = desk.opened().unwrap_or_else(Instant::now);
        let watch = LimitClock::new(order, opened, || pen.pulse().ok());
        let mut held = Self {
            desk,
            pen,
            policy: EndPolicy::new(order.linger, order.grace),
            output: AgentOutput::new(journal),
            input: AgentInput::new(None, false),
            terminal: None,
            lease: order.lease,
            tether: if order.tethered {
                Tether::Expected(Instant::now() + OWNER)
            } else {
                Tether::None
            },
            watch,
            cause: Cause::Ended,
            told_exit: false,
            killing_since: None,
            told_survivors: false,
            asked: false,
            asked_in_time: false,
            stop_signal: order.stop_signal.and_then(Signal::from_named_raw),
            rest_at: Some(Instant::now() + REST),
        };
        if let Err(error) = held.connect(ends) {
            // Its output would be lost and its input never come: better no agent than a deaf one.
            held.desk.trouble(format!("its streams can't be served: {error}"));
            held.cause = Cause::Failed { code: 207, why: error.to_string() };
            held.policy.kill();
        }
        held
    }

    fn connect(&mut self, ends: CallerEnds) -> io::Result<()> {
        let CallerEnds { stdin, stdout, stderr, terminal } = ends;
        for (tag, fd) in [(1, stdout), (2, stderr)] {
            if let Some(fd) = fd {
                unblock(&fd)?;
                self.output.add(tag, fd);
            }
        }
        if let Some(stdin) = stdin {
            unblock(&stdin)?;
            self.input = AgentInput::new(Some(stdin), false);
        }
        if let Some(master) = terminal {
            unblock(&master)?;
            self.output.add(0, master.try_clone()?);
            self.input = AgentInput::new(Some(master.try_clone()?), true);
            let slave = terminal::slave_of(master.as_fd())?;
            self.terminal = Some(AgentTerminal { master, _slave: slave });
        }
        Ok(())
    }

    /// Turns until the pen is empty and removed.
    fn turns(&mut self) -> io::Result<Outcome> {
        loop {
            let empty = self.pen.is_empty()?;
            self.notice_exit();
            self.turn_to_the_rest()?;
            self.pump()?;
            let early = self.desk.said_early();
            for word in early.into_iter().chain(self.desk.serve()) {
                self.obey(word)?;
            }
            if empty {
                return self.finish();
            }
            self.mind_lease_and_tether();
            self.mind_time()?;
            match self.policy.due(Instant::now()) {
                EndStep::Wait(until) => self.wait(until)?,
                EndStep::Terminate => self.terminate()?,
                EndStep::Kill => self.kill()?,
            }
        }
    }

    fn pump(&mut self) -> io::Result<()> {
        let taken = self.input.pump();
        if taken > 0 {
            self.desk.input_taken(taken);
        }
        if self.output.pump()? {
            self.watch.output();
            self.desk.grown(self.output.end());
        }
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        let nap = self.output.poll_fds(&mut fds);
        fds.extend(self.input.poll_fd());
        let desk = fds.len();
        self.desk.poll_fds(&mut fds);
        let rest = self.rest_at;
        let others = [nap, self.lease_over(), self.owner_expected(), self.next_look(), rest];
        let until = others.into_iter().chain([until]).flatten().min();
        let woken = self.pen.wait_also_for(until, &mut fds)?;
        if Connections::is_knock(&fds[desk..]) {
            self.desk.knock();
        }
        if woken == Woken::Deadline && rest.is_some_and(|at| Instant::now() >= at) {
            // What the launch needed is needed no more, for as long as the agent runs.
            kennel_sys::memory::give_back();
            self.rest_at = None;
        }
        Ok(())
    }

    /// Whether somebody has said or printed something that nobody has heard yet.
    fn something_waits(&self) -> io::Result<bool> {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        let _nap = self.output.poll_fds(&mut fds);
        self.desk.poll_fds(&mut fds);
        Ok(self.pen.wait_also_for(Some(Instant::now()), &mut fds)? == Woken::Changed)
    }

    /// When to look at the time limits: as long as nobody wants it to end anyway.
    fn next_look(&self) -> Option<Instant> {
        match self.policy.phase() {
            EndPhase::Running | EndPhase::Lingering { .. } => self.watch.due(),
            EndPhase::Stopping { .. } | EndPhase::Killing => None,
        }
    }

    fn mind_time(&mut self) -> io::Result<()> {
        if self.next_look().is_none_or(|due| Instant::now() < due) {
            return Ok(());
        }
        if let TimeVerdict::LookAgain { .. } = self.look() {
            return Ok(());
        }
        let empty = self.last_call()?;
        let TimeVerdict::Over(limit) = self.look() else { return Ok(()) };
        if empty || self.next_look().is_none() {
            return Ok(()); // it ended by itself, or somebody else's wish came first
        }
        if self.cause == Cause::Ended && !self.told_exit {
            self.cause = limit.into();
        }
        self.ending();
        self.policy.stop(Instant::now(), None);
        Ok(())
    }

    /// A turn may begin at the very moment of a verdict: what waits to be heard is heard before it counts. Says
    /// whether the pen is empty.
    fn last_call(&mut self) -> io::Result<bool> {
        let mut empty = false;
        for _ in 0..LAST_CALLS {
            empty = self.pen.is_empty()?;
            self.notice_exit();
            self.pump()?;
            self.desk.knock();
            for word in self.desk.serve() {
                self.obey(word)?;
            }
            if !self.something_waits()? {
                break;
            }
        }
        Ok(empty)
    }

    fn look(&mut self) -> TimeVerdict {
        let (pen, desk) = (&self.pen, &mut *self.desk);
        self.watch.look(|| read_pulse(pen).map_err(|error| desk.trouble(error)).ok())
    }

    fn lease_over(&self) -> Option<Instant> {
        if self.cause != Cause::Ended {
            return None;
        }
        self.desk.daemon_gone_since()?.checked_add(self.lease?)
    }

    fn owner_expected(&self) -> Option<Instant> {
        match self.tether {
            Tether::Expected(by) => Some(by),
            Tether::None | Tether::Tied => None,
        }
    }

    fn mind_lease_and_tether(&mut self) {
        let now = Instant::now();
        if self.lease_over().is_some_and(|over| now >= over) {
            // It ends what the agent left behind in any case, after the linger.
            self.lease = None;
            if !self.told_exit {
                self.cause = Cause::LeaseOver;
            }
            self.ending();
            self.policy.stop(now, None);
        }
        if self.owner_expected().is_some_and(|by| now >= by) {
            self.owner_gone();
        }
    }

    fn owner_gone(&mut self) {
        if self.tether == Tether::None {
            return;
        }
        self.tether = Tether::None;
        if self.cause == Cause::Ended && !self.asked && !self.told_exit {
            self.cause = Cause::OwnerGone;
        }
        self.ending();
        self.policy.kill();
    }

    fn notice_exit(&mut self) {
        if let Some(status) = self.pen.status()
            && !self.told_exit
        {
            self.told_exit = true;
            let status = status.clone();
            fault::point("keeper.exited");
            self.policy.agent_exited(Instant::now());
            self.desk.exited(status);
        }
    }

    /// The agent has a signal of its own for its end; what it has left does not know of that.
    fn turn_to_the_rest(&mut self) -> io::Result<()> {
        if !self.told_exit || self.stop_signal.is_none() {
            return Ok(());
        }
        // Only then: if it fails, it is tried again with the next turn.
        if self.asked {
            self.pen.signal(Signal::TERM)?;
        }
        self.stop_signal = None;
        Ok(())
    }

    fn ending(&mut self) {
        fault::point("keeper.stopping");
        self.desk.stage(LaunchStage::Ending);
        self.desk.tell_all(&KeeperReport::Ending);
    }

    fn note_asked(&mut self) {
        self.asked = true;
        self.asked_in_time |= !self.told_exit;
    }

    fn obey(&mut self, word: LaunchControl) -> io::Result<()> {
        match word {
            LaunchControl::Stop(grace) => {
                self.note_asked();
                self.ending();
                self.policy.stop(Instant::now(), grace);
            }
            LaunchControl::Kill | LaunchControl::Dismiss => {
                self.note_asked();
                self.ending();
                self.policy.kill();
            }
            LaunchControl::Signal(number) => match Signal::from_named_raw(number) {
                Some(signal) => self.pen.signal(signal)?,
                None => self.desk.trouble(format!("there is no signal {number}")),
            },
            LaunchControl::Resize(size) => {
                if let Some(terminal) = &self.terminal {
                    terminal::resize(terminal.master.as_fd(), size)?;
                }
            }
            LaunchControl::Input(from, bytes) => self.take_input(from, &bytes),
            LaunchControl::Touch => self.watch.input(),
            LaunchControl::CloseInput => {
                self.watch.input();
                self.input.close();
                self.pump()?;
            }
            LaunchControl::CloseOutput(stream) => self.output.close(stream.max(1)),
            LaunchControl::Untether => self.tether = Tether::None,
            LaunchControl::OwnerCame => {
                if self.tether != Tether::None {
                    self.tether = Tether::Tied;
                }
            }
            LaunchControl::OwnerGone => self.owner_gone(),
            LaunchControl::Members(number) => {
                let mut members = self.pen.members()?;
                members.truncate(LONGEST_LIST);
                self.desk.tell(number, &KeeperReport::Members(members));
            }
            LaunchControl::Usage(number) => {
                let usage = self.pen.usage()?;
                self.desk.tell(number, &KeeperReport::Usage(usage));
            }
            // Said before, or too early.
            LaunchControl::Go | LaunchControl::Open | LaunchControl::Release => {}
        }
        Ok(())
    }

    /// Only who typed it hears that it is not taken: anybody else would take that for an answer of its own.
    fn take_input(&mut self, from: u64, bytes: &[u8]) {
        let why = match self.input.take(bytes) {
            InputOutcome::Yes => return self.watch.input(),
            InputOutcome::Full => "the agent does not read its input, and too much waits already",
            InputOutcome::Closed => "its standard input is closed",
        };
        self.desk.tell(from, &KeeperReport::Refused(why.into()));
    }

    fn terminate(&mut self) -> io::Result<()> {
        // A listing that fails costs the news, not the TERM.
        if !self.asked
            && self.cause == Cause::Ended
            && let Ok(mut members) = self.pen.members()
        {
            members.retain(|member| !member.dead);
            members.truncate(LONGEST_LIST);
            self.desk.tell_all(&KeeperReport::LeftBehind(members));
        }
        self.pen.signal(self.stop_signal.unwrap_or(Signal::TERM))?;
        if self.stop_signal.is_some() {
            self.pen.signal(Signal::CONT)?;
        }
        // An interactive shell ignores TERM; with its terminal it goes.
        if self.terminal.is_some() { self.pen.hang_up() } else { Ok(()) }
    }

    fn kill(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let since = *self.killing_since.get_or_insert(now);
        let impatient = now.saturating_duration_since(since) >= PATIENCE;
        match self.pen.end(now + BOUT)? {
            EndOutcome::Empty => Ok(()),
            EndOutcome::StillAlive(mut survivors) => {
                if impatient && !self.told_survivors {
                    self.told_survivors = true;
                    survivors.truncate(LONGEST_LIST);
                    self.desk.tell_all(&KeeperReport::StillAlive(survivors));
                }
                let pause = if impatient { Instant::now() + PROBE } else { Instant::now() };
                self.wait(Some(pause))
            }
        }
    }

    /// The agent's own end tells of itself; that of one of its tools would go unnoticed.
    fn tell_oom_kills(&mut self) {
        if let Ok(Some(kills @ 1..)) = self.pen.oom_kills() {
            let s = if kills == 1 { "" } else { "es" };
            self.desk.trouble(format!("out of memory: the kernel ended {kills} process{s} of it"));
        }
    }

    /// Whoever asked may have died before that was on record: then this is all that is known of it.
    fn why(&self) -> Cause {
        match &self.cause {
            Cause::Ended if self.asked_in_time => Cause::Stopped,
            cause => cause.clone(),
        }
    }

    fn finish(&mut self) -> io::Result<Outcome> {
        if let Err(error) = self.output.finish() {
            self.desk.trouble(format!("the last output could not be read: {error}"));
        }
        self.desk.grown(self.output.end());
        let cpu = self.pen.final_cpu().unwrap_or_default();
        self.tell_oom_kills();
        let folder_left = match self.pen.try_remove() {
            Ok(()) => false,
            Err(RemovalFailure::Occupied) => {
                return Err(io::Error::other(RemovalFailure::Occupied));
            }
            // Nobody is in it. The daemon sees to a folder that stays.
            Err(RemovalFailure::Call(error)) => {
                self.desk.trouble(error.to_string());
                true
            }
        };
        let unseen = || Status::Unknown("the keeper did not see it end".into());
        Ok(Outcome {
            status: Some(self.pen.status().cloned().unwrap_or_else(unseen)),
            cause: self.why(),
            ended_ms: now_ms(),
            cpu,
            folder_left,
        })
    }
}

fn read_pulse(pen: &Pen) -> Result<ActivitySample, String> {
    pen.pulse().map_err(|error| format!("whether anything goes on can't be seen: {error}"))
}

/// Holds it to the end.
pub(super) fn hold(mut held: LaunchSupervisor<'_>) -> Outcome {
    loop {
        match held.turns() {
            Ok(outcome) => return outcome,
            // What goes wrong in a turn (no descriptors, no memory) goes wrong for now: the tree is still
            // ours, so we say so and go on. Leaving would leave it alone.
            Err(error) => {
                held.desk.trouble(error.to_string());
                let _paused = held.pen.wait(Some(Instant::now() + PROBE), &[]);
            }
        }
    }
}
