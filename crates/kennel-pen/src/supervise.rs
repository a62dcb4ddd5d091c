//! The supervising loop: everything between the open gate and the empty pen.
//!
//! The loop reaps children, applies the end policy, sends signals, and removes the empty pen. It
//! never gives up: it reports an error and continues, since the processes are still its children. A
//! [`Supervisor`] defines what else the process does between two turns:
//!
//! | supervisor | serves |
//! |---|---|
//! | the helper process of [`crate::supervisor`] | the one program that started it |
//! | a keeper (crate `kennel-keeper`) | the daemon and clients, streams, journal, lease, time limits |

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use kennel_sys::namespace::NamespaceInit;
use kennel_types::{PenKind, Survivor};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::end::EndOutcome;
use crate::end_policy::{EndPhase, EndPolicy, EndStep};
use crate::host_support::HostSupport;
use crate::limits::{PenLimitError, PenLimits};
use crate::name::PenName;
use crate::pen::{CreateError, Pen, RemovalFailure, Woken};
use crate::process::PenProcess;
use crate::status::Status;

/// The length of one round of killing. Requests are served between two rounds.
const KILL_ROUND: Duration = Duration::from_millis(250);
/// How long until processes that can't be killed are reported and rounds become less frequent.
const REPORT_AFTER: Duration = Duration::from_secs(5);
/// The pause between two rounds after that, and after an error.
const LATER_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of entries of a list in a report.
const MAX_LISTED: usize = 2000;

/// Something that the supervising loop reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PenEvent {
    /// The agent has exited. Processes that it started may still run.
    Exited(Status),
    /// The agent left these processes behind. Their linger is over, and they are being terminated.
    LeftBehind(Vec<PenProcess>),
    /// These processes could not be killed so far. The loop keeps trying.
    StillAlive(Vec<Survivor>),
    /// Something failed, and the loop continues.
    Trouble(String),
}

/// What a process does besides supervising its pen.
pub trait Supervisor {
    /// Serves everything but the pen, without waiting. Called once in each turn; in the last one
    /// the pen is `empty`. An error is reported, and the loop continues.
    fn serve(&mut self, pen: &mut SupervisedPen, empty: bool) -> io::Result<()>;

    /// Adds the descriptors to wait for. Returns when the loop must wake up at the latest.
    fn poll_fds<'a>(&'a self, pen: &SupervisedPen, fds: &mut Vec<PollFd<'a>>) -> Option<Instant>;

    /// Called after the wait. `ready` has the results for the descriptors of [`Self::poll_fds`].
    fn woken(&mut self, ready: &[PollFlags], woken: Woken) {
        let _unused = (ready, woken);
    }

    /// Reports an event.
    fn report(&mut self, event: PenEvent);
}

/// The end of a supervised pen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisedEnd {
    /// The agent's exit status, if this process saw it.
    pub status: Option<Status>,
    /// The CPU time of all processes of the pen.
    pub cpu: Duration,
    /// Whether the folder of the pen's cgroup could not be removed.
    pub folder_left: bool,
}

/// A pen with an agent, and the decisions on how to end it.
#[derive(Debug)]
pub struct SupervisedPen {
    /// The pen itself.
    pub pen: Pen,
    policy: EndPolicy,
    /// The signal that asks the agent to end, if it is not TERM. Used only while the agent lives.
    pub stop_signal: Option<Signal>,
    /// Whether the agent has a terminal. Then a stop also hangs up, since shells ignore TERM.
    pub has_terminal: bool,
    exit_reported: bool,
    stop_requested: bool,
    stopped_before_exit: bool,
    killing_since: Option<Instant>,
    survivors_reported: bool,
}

impl SupervisedPen {
    /// Supervises a pen whose gate is open. `linger` is how long processes may keep running after
    /// the agent's exit, `grace` how long a stop waits between TERM and KILL.
    pub fn new(pen: Pen, linger: Duration, grace: Duration) -> Self {
        Self {
            pen,
            policy: EndPolicy::new(linger, grace),
            stop_signal: None,
            has_terminal: false,
            exit_reported: false,
            stop_requested: false,
            stopped_before_exit: false,
            killing_since: None,
            survivors_reported: false,
        }
    }

    /// Returns whether the end is under way: TERM or KILL was sent, or is about to be.
    pub fn is_ending(&self) -> bool {
        matches!(self.policy.phase(), EndPhase::Stopping { .. } | EndPhase::Killing)
    }

    /// Returns whether the agent's exit was reported.
    pub fn has_exited(&self) -> bool {
        self.exit_reported
    }

    /// Returns whether a client requested the end.
    pub fn is_stop_requested(&self) -> bool {
        self.stop_requested
    }

    /// Returns whether a client requested the end before the agent exited.
    pub fn is_stopped_before_exit(&self) -> bool {
        self.stopped_before_exit
    }

    fn note_request(&mut self) {
        self.stop_requested = true;
        self.stopped_before_exit |= !self.exit_reported;
    }

    /// A client requests the end: TERM, then KILL after `grace`, or after the pen's own grace.
    pub fn request_stop(&mut self, grace: Option<Duration>) {
        self.note_request();
        self.policy.stop(Instant::now(), grace);
    }

    /// A client requests the end at once.
    pub fn request_kill(&mut self) {
        self.note_request();
        self.policy.kill();
    }

    /// The supervisor itself decides on the end.
    pub fn stop(&mut self) {
        self.policy.stop(Instant::now(), None);
    }

    /// The supervisor itself decides on the end at once.
    pub fn kill(&mut self) {
        self.policy.kill();
    }

    /// Lists the processes in the pen, some thousands at most.
    pub fn processes(&self) -> io::Result<Vec<PenProcess>> {
        let mut processes = self.pen.processes()?;
        processes.truncate(MAX_LISTED);
        Ok(processes)
    }

    /// Runs the loop until the pen is empty and removed.
    pub fn run(&mut self, supervisor: &mut impl Supervisor) -> SupervisedEnd {
        loop {
            match self.turns(supervisor) {
                Ok(end) => return end,
                // What fails in a turn (no descriptors, no memory) may work later. Giving up would
                // abandon the processes.
                Err(error) => {
                    supervisor.report(PenEvent::Trouble(error.to_string()));
                    let _paused = self.pen.wait(Some(Instant::now() + LATER_PAUSE), &[]);
                }
            }
        }
    }

    fn turns(&mut self, supervisor: &mut impl Supervisor) -> io::Result<SupervisedEnd> {
        loop {
            let empty = self.pen.is_empty()?;
            self.check_exit(supervisor);
            self.terminate_the_rest()?;
            supervisor.serve(self, empty)?;
            if empty {
                return self.finish(supervisor);
            }
            match self.policy.due(Instant::now()) {
                EndStep::Wait(until) => self.wait(supervisor, until)?,
                EndStep::Terminate => self.terminate(supervisor)?,
                EndStep::Kill => self.kill_for_a_while(supervisor)?,
            }
        }
    }

    /// Reports the agent's exit, once.
    pub fn check_exit(&mut self, supervisor: &mut impl Supervisor) {
        if let Some(status) = self.pen.status()
            && !self.exit_reported
        {
            self.exit_reported = true;
            supervisor.report(PenEvent::Exited(status.clone()));
            self.policy.agent_exited(Instant::now());
        }
    }

    /// Sends TERM to processes that the agent left: a custom stop signal was only for the agent.
    fn terminate_the_rest(&mut self) -> io::Result<()> {
        if !self.exit_reported || self.stop_signal.is_none() {
            return Ok(());
        }
        if self.stop_requested {
            self.pen.signal(Signal::TERM)?;
        }
        // Set only now: a signal that failed is sent again in the next turn.
        self.stop_signal = None;
        Ok(())
    }

    fn wait(&mut self, supervisor: &mut impl Supervisor, until: Option<Instant>) -> io::Result<()> {
        let mut fds = Vec::new();
        let own = supervisor.poll_fds(self, &mut fds);
        let until = [until, own].into_iter().flatten().min();
        let woken = self.pen.wait_also_for(until, &mut fds)?;
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        supervisor.woken(&ready, woken);
        Ok(())
    }

    fn terminate(&mut self, supervisor: &mut impl Supervisor) -> io::Result<()> {
        // If the list can't be read, only the report is skipped, not the TERM.
        if self.exit_reported
            && !self.stop_requested
            && let Ok(mut processes) = self.pen.processes()
        {
            processes.retain(|process| !process.dead);
            processes.truncate(MAX_LISTED);
            supervisor.report(PenEvent::LeftBehind(processes));
        }
        self.pen.signal(self.stop_signal.unwrap_or(Signal::TERM))?;
        if self.stop_signal.is_some() {
            self.pen.signal(Signal::CONT)?;
        }
        if self.has_terminal { self.pen.hang_up() } else { Ok(()) }
    }

    fn kill_for_a_while(&mut self, supervisor: &mut impl Supervisor) -> io::Result<()> {
        let now = Instant::now();
        let since = *self.killing_since.get_or_insert(now);
        let recent = now.saturating_duration_since(since) < REPORT_AFTER;
        match self.pen.end(now + KILL_ROUND)? {
            EndOutcome::Empty => Ok(()),
            EndOutcome::StillAlive(mut survivors) => {
                if !recent && !self.survivors_reported {
                    self.survivors_reported = true;
                    survivors.truncate(MAX_LISTED);
                    supervisor.report(PenEvent::StillAlive(survivors));
                }
                let pause = if recent { Duration::ZERO } else { LATER_PAUSE };
                self.wait(supervisor, Some(Instant::now() + pause))
            }
        }
    }

    fn finish(&mut self, supervisor: &mut impl Supervisor) -> io::Result<SupervisedEnd> {
        let cpu = self.pen.final_cpu().unwrap_or_default();
        let folder_left = match self.pen.try_remove() {
            Ok(()) => false,
            Err(RemovalFailure::Occupied) => {
                return Err(io::Error::other(RemovalFailure::Occupied));
            }
            // The pen is empty. A folder that stays is removed by the daemon, or by the next run.
            Err(RemovalFailure::Call(error)) => {
                supervisor.report(PenEvent::Trouble(error.to_string()));
                true
            }
        };
        Ok(SupervisedEnd { status: self.pen.status().cloned(), cpu, folder_left })
    }
}

/// Creates a pen that is ready for a launch. Also returns the limits that it could not be given.
pub fn create_pen(
    support: &HostSupport,
    name: &PenName,
    kind: PenKind,
    limits: &PenLimits,
    namespace: Option<NamespaceInit>,
) -> Result<(Pen, Vec<PenLimitError>), CreateError> {
    let (mut pen, unmet) = Pen::create_limited(support, name.clone(), kind, limits)?;
    pen.arm()?;
    if let Some(init) = namespace {
        pen.in_namespace(init);
    }
    Ok((pen, unmet))
}

/// Ends everything that a failed launch has started. Returns whether the pen's folder stays.
pub fn end_failed_launch(mut pen: Pen, mut report: impl FnMut(PenEvent)) -> bool {
    loop {
        match pen.end(Instant::now() + REPORT_AFTER) {
            Ok(EndOutcome::Empty) => return pen.try_remove().is_err(),
            Ok(EndOutcome::StillAlive(survivors)) => report(PenEvent::StillAlive(survivors)),
            Err(error) => {
                report(PenEvent::Trouble(format!("can't end a failed launch: {error}")));
            }
        }
    }
}

/// An error and its causes in one line, to be sent to another process.
pub fn with_causes(error: &dyn Error) -> String {
    let errors = std::iter::successors(Some(error), |error| (**error).source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
