//! From the open gate to the empty pen: what a keeper adds to the supervising loop of `kennel-pen`.

use std::io;
use std::time::{Duration, Instant};

use kennel_pen::supervise::{PenEvent, SupervisedPen, Supervisor};
use kennel_pen::{CallerEnds, Pen, Status, Woken};
use kennel_sys::terminal;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::Signal;

use super::connections::{Connections, PeerEvent};
use super::input::{AgentInput, unblock};
use super::limit_clock::LimitClock;
use super::now_ms;
use super::output::AgentOutput;
use crate::fault;
use crate::journal::JournalWriter;
use crate::protocol::{Cause, KeeperReport, KeeperRequest, LaunchOrder, LaunchStage, Outcome};

/// After this time an agent is expected to run for long.
const LONG_RUNNING: Duration = Duration::from_secs(1);
/// How long the owner of a tethered session may take to connect.
const OWNER_TIMEOUT: Duration = Duration::from_secs(5);
/// How often pending requests and output are served before a time limit ends anything.
const LAST_TURNS: u32 = 64;

pub(super) struct LaunchSupervisor<'a> {
    connections: &'a mut Connections,
    output: AgentOutput,
    input: AgentInput,
    terminal: Option<AgentTerminal>,
    lease: Option<Duration>,
    owner: OwnerState,
    clock: LimitClock,
    cause: Cause,
    /// When to give back memory that only the launch needed; `None` once that is done.
    give_back_at: Option<Instant>,
}

/// The agent's terminal. The keeper holds the agent's side open too, so that the last output stays
/// readable and a program that closes and reopens its terminal finds it.
struct AgentTerminal {
    master: OwnedFd,
    _slave: OwnedFd,
}

/// Whether the session ends when one client, its owner, disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerState {
    None,
    /// The client must connect by then.
    Expected(Instant),
    Connected,
}

/// Supervises a launch whose gate is open, until its pen is empty.
pub(super) fn supervise(
    connections: &mut Connections,
    pen: Pen,
    order: &LaunchOrder,
    ends: CallerEnds,
    journal: JournalWriter,
) -> Outcome {
    let opened = connections.opened.unwrap_or_else(Instant::now);
    let mut pen = SupervisedPen::new(pen, order.linger, order.grace);
    pen.stop_signal = order.stop_signal.and_then(Signal::from_named_raw);
    let mut supervisor = LaunchSupervisor {
        clock: LimitClock::new(order, opened, || pen.pen.activity().ok()),
        connections,
        output: AgentOutput::new(journal),
        input: AgentInput::new(None, false),
        terminal: None,
        lease: order.lease,
        owner: match order.tethered {
            true => OwnerState::Expected(Instant::now() + OWNER_TIMEOUT),
            false => OwnerState::None,
        },
        cause: Cause::Ended,
        give_back_at: Some(Instant::now() + LONG_RUNNING),
    };
    if let Err(error) = supervisor.connect_streams(&mut pen, ends) {
        // Output would be lost and input never arrive, so the agent must not run.
        supervisor.connections.trouble(format!("can't serve the agent's streams: {error}"));
        supervisor.cause = Cause::Failed { code: 207, why: error.to_string() };
        pen.kill();
    }
    let end = pen.run(&mut supervisor);
    let unseen = || Status::Unknown("the keeper did not see it end".into());
    // The client may have died before its request was recorded; then this is its only record.
    let cause = match supervisor.cause {
        Cause::Ended if pen.is_stopped_before_exit() => Cause::Stopped,
        cause => cause,
    };
    Outcome {
        status: Some(end.status.unwrap_or_else(unseen)),
        cause,
        ended_ms: now_ms(),
        cpu: end.cpu,
        folder_left: end.folder_left,
    }
}

impl Supervisor for LaunchSupervisor<'_> {
    fn serve(&mut self, pen: &mut SupervisedPen, empty: bool) -> io::Result<()> {
        self.pump()?;
        let early = self.connections.take_early();
        for event in early.into_iter().chain(self.connections.serve()) {
            self.handle(pen, event)?;
        }
        if empty {
            self.finish_output(pen);
            return Ok(());
        }
        self.check_lease_and_owner(pen);
        self.check_time_limits(pen)
    }

    fn poll_fds<'a>(&'a self, pen: &SupervisedPen, fds: &mut Vec<PollFd<'a>>) -> Option<Instant> {
        self.connections.poll_fds(fds); // first, so that `woken` finds the listener
        let due = self.output.poll_fds(fds);
        fds.extend(self.input.poll_fd());
        let others =
            [due, self.lease_end(), self.owner_deadline(), self.next_check(pen), self.give_back_at];
        others.into_iter().flatten().min()
    }

    fn woken(&mut self, ready: &[PollFlags], woken: Woken) {
        self.connections.note_listener(ready);
        if woken == Woken::Deadline && self.give_back_at.is_some_and(|at| Instant::now() >= at) {
            kennel_sys::process::give_back_memory();
            self.give_back_at = None;
        }
    }

    fn report(&mut self, event: PenEvent) {
        if let PenEvent::Exited(_) = event {
            fault::point("keeper.exited");
        }
        self.connections.report(event);
    }
}

impl LaunchSupervisor<'_> {
    fn connect_streams(&mut self, pen: &mut SupervisedPen, ends: CallerEnds) -> io::Result<()> {
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
            pen.has_terminal = true;
        }
        Ok(())
    }

    fn pump(&mut self) -> io::Result<()> {
        let taken = self.input.pump();
        if taken > 0 {
            self.connections.input_taken(taken);
        }
        if self.output.pump()? {
            self.clock.output();
            self.connections.grown(self.output.end());
        }
        Ok(())
    }

    /// The pen is empty: reads the last output, and reports OOM kills.
    fn finish_output(&mut self, pen: &SupervisedPen) {
        if let Err(error) = self.output.finish() {
            self.connections.trouble(format!("can't read the last output: {error}"));
        }
        self.connections.grown(self.output.end());
        // The agent's status shows an OOM kill of the agent, but not of one of its tools.
        if let Ok(Some(kills @ 1..)) = pen.pen.oom_kills() {
            let s = if kills == 1 { "" } else { "es" };
            let text =
                format!("out of memory: the kernel killed {kills} process{s} of the session");
            self.connections.trouble(text);
        }
    }

    fn is_something_pending(&self, pen: &SupervisedPen) -> io::Result<bool> {
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        let _pause = self.output.poll_fds(&mut fds);
        self.connections.poll_fds(&mut fds);
        Ok(pen.pen.wait_also_for(Some(Instant::now()), &mut fds)? == Woken::Changed)
    }

    /// Returns when to check the time limits. They don't matter once the end is under way.
    fn next_check(&self, pen: &SupervisedPen) -> Option<Instant> {
        if pen.is_ending() { None } else { self.clock.due() }
    }

    fn check_time_limits(&mut self, pen: &mut SupervisedPen) -> io::Result<()> {
        if self.next_check(pen).is_none_or(|due| Instant::now() < due) {
            return Ok(());
        }
        if self.check_clock(&pen.pen).is_none() {
            return Ok(());
        }
        let empty = self.serve_pending(pen)?;
        let Some(limit) = self.check_clock(&pen.pen) else { return Ok(()) };
        if empty || self.next_check(pen).is_none() {
            return Ok(()); // it ended by itself, or a request came first
        }
        if self.cause == Cause::Ended && !pen.has_exited() {
            self.cause = limit;
        }
        self.report_ending();
        pen.stop();
        Ok(())
    }

    /// Serves everything that is pending at the moment of a verdict, since it counts as activity.
    /// Returns whether the pen is empty.
    fn serve_pending(&mut self, pen: &mut SupervisedPen) -> io::Result<bool> {
        let mut empty = false;
        for _ in 0..LAST_TURNS {
            empty = pen.pen.is_empty()?;
            pen.check_exit(self);
            self.pump()?;
            self.connections.check_listener();
            for event in self.connections.serve() {
                self.handle(pen, event)?;
            }
            if !self.is_something_pending(pen)? {
                break;
            }
        }
        Ok(empty)
    }

    fn check_clock(&mut self, pen: &Pen) -> Option<Cause> {
        self.clock.check(|| {
            let report = |error| {
                let text = format!("can't sample the activity of the session: {error}");
                self.connections.trouble(text);
            };
            pen.activity().map_err(report).ok()
        })
    }

    fn lease_end(&self) -> Option<Instant> {
        if self.cause != Cause::Ended {
            return None;
        }
        self.connections.daemon_gone_since?.checked_add(self.lease?)
    }

    fn owner_deadline(&self) -> Option<Instant> {
        match self.owner {
            OwnerState::Expected(by) => Some(by),
            OwnerState::None | OwnerState::Connected => None,
        }
    }

    fn check_lease_and_owner(&mut self, pen: &mut SupervisedPen) {
        let now = Instant::now();
        if self.lease_end().is_some_and(|end| now >= end) {
            // After the agent's exit this only ends the linger.
            self.lease = None;
            if !pen.has_exited() {
                self.cause = Cause::LeaseOver;
            }
            self.report_ending();
            pen.stop();
        }
        if self.owner_deadline().is_some_and(|by| now >= by) {
            self.owner_gone(pen);
        }
    }

    fn owner_gone(&mut self, pen: &mut SupervisedPen) {
        if self.owner == OwnerState::None {
            return;
        }
        self.owner = OwnerState::None;
        if self.cause == Cause::Ended && !pen.is_stop_requested() && !pen.has_exited() {
            self.cause = Cause::OwnerGone;
        }
        self.report_ending();
        pen.kill();
    }

    fn report_ending(&mut self) {
        fault::point("keeper.stopping");
        self.connections.set_stage(LaunchStage::Ending);
        self.connections.send_to_all(&KeeperReport::Ending);
    }

    fn handle(&mut self, pen: &mut SupervisedPen, event: PeerEvent) -> io::Result<()> {
        match event {
            PeerEvent::OwnerConnected if self.owner != OwnerState::None => {
                self.owner = OwnerState::Connected;
            }
            PeerEvent::OwnerConnected => {}
            PeerEvent::OwnerGone => self.owner_gone(pen),
            PeerEvent::Request(from, request) => self.handle_request(pen, from, request)?,
        }
        Ok(())
    }

    fn handle_request(
        &mut self,
        pen: &mut SupervisedPen,
        from: u64,
        request: KeeperRequest,
    ) -> io::Result<()> {
        match request {
            KeeperRequest::Stop { grace } => {
                self.report_ending();
                pen.request_stop(grace);
            }
            KeeperRequest::Kill | KeeperRequest::Dismiss => {
                self.report_ending();
                pen.request_kill();
            }
            KeeperRequest::Signal(number) => match Signal::from_named_raw(number) {
                Some(signal) => pen.pen.signal(signal)?,
                None => self.connections.trouble(format!("invalid signal {number}")),
            },
            KeeperRequest::Resize(size) => {
                if let Some(terminal) = &self.terminal {
                    terminal::resize(terminal.master.as_fd(), size)?;
                }
            }
            KeeperRequest::Input(bytes) => self.take_input(from, &bytes),
            KeeperRequest::Touch => self.clock.input(),
            KeeperRequest::CloseInput => {
                self.clock.input();
                self.input.close();
                self.pump()?;
            }
            KeeperRequest::CloseOutput(stream) => self.output.close(stream.max(1)),
            KeeperRequest::Detach => self.owner = OwnerState::None,
            KeeperRequest::Members => {
                self.connections.send_to(from, &KeeperReport::Members(pen.processes()?));
            }
            KeeperRequest::Usage => {
                self.connections.send_to(from, &KeeperReport::Usage(pen.pen.usage()?));
            }
            // Repeated, too early, or already answered by the connections.
            KeeperRequest::Go
            | KeeperRequest::Open
            | KeeperRequest::Release
            | KeeperRequest::Hello { .. }
            | KeeperRequest::Status
            | KeeperRequest::Follow
            | KeeperRequest::Keep => {}
        }
        Ok(())
    }

    /// A refusal goes only to the sender of the input: others would take it for their own.
    fn take_input(&mut self, from: u64, bytes: &[u8]) {
        match self.input.take(bytes) {
            Ok(()) => self.clock.input(),
            Err(why) => self.connections.send_to(from, &KeeperReport::Refused(why.into())),
        }
    }
}
