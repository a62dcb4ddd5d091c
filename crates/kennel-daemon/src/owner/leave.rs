//! Leaving: bounded, awaited, reported.
//!
//! ```text
//! stop:    nothing new ── end all, at once ── a line for each as it settles ── gone, and the yard too
//! keep:    nothing new ── launches under way settle ── gone; keepers go on
//! replace: as keep, and the yard starts the next
//! ```

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kennel_core::{Event, Session, StopWish, Wanted};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::YardRequest;
use kennel_types::api::{ShutdownLine, StopResult};
use kennel_types::{Phase, Reason, SessionId, StartedBy};

use super::Owner;
use super::runtime::Before;
use crate::config::ExitReason;
use crate::message::{Leave, Message};
use crate::waiters::{ShutdownLines, Standing, stop_answer};

/// How long a stop may take beyond the longest grace.
const BEYOND_GRACE: Duration = Duration::from_secs(15);
/// How long launches under way may take to settle.
const SETTLING: Duration = Duration::from_secs(5);

/// A leave that is under way.
#[derive(Debug)]
pub(super) enum Leaving {
    /// Everything is being ended; these have not settled.
    Stopping { since: Instant, pending: HashSet<SessionId>, lines: Vec<ShutdownLines> },
    /// Launches are settling.
    Draining { reason: ExitReason, program: Option<String>, lines: Vec<ShutdownLines> },
}

impl Owner {
    pub(super) fn leave(&mut self, leave: Leave) {
        match leave {
            Leave::Stop { grace, lines } => self.begin_stop(grace, lines),
            Leave::Keep { lines } => self.begin_drain(ExitReason::Kept, None, Some(lines)),
            Leave::Replace { program, answer } => {
                answer.send(Ok(())).ok();
                self.begin_drain(ExitReason::Replaced, Some(program), None);
            }
        }
    }

    /// Ends everything. May be said again: with less grace, or by somebody else who wants to know.
    fn begin_stop(&mut self, grace: Option<Duration>, line: Option<ShutdownLines>) {
        point("daemon.leave.stop");
        self.note(None, "daemon_stopping", "everything is to end".to_owned());
        // What a user started goes on.
        let ends =
            |session: &&Session| session.is_live() && session.started_by == StartedBy::Kennel;
        let live: HashSet<SessionId> =
            self.world.sessions().filter(ends).map(|s| s.id.clone()).collect();
        let mut lines = match self.leaving.take() {
            Some(Leaving::Stopping { lines, .. } | Leaving::Draining { lines, .. }) => lines,
            None => Vec::new(),
        };
        lines.extend(line);
        let pending = live.clone();
        self.leaving = Some(Leaving::Stopping { since: Instant::now(), pending, lines });
        let watched =
            self.world.sessions().map(|s| (s.id.clone(), Before::from(s))).collect::<Vec<_>>();
        let effects = self.world.drain(grace);
        let event = Event::StopAsked(StopWish { grace, reason: Reason::Shutdown });
        self.follow(&event, watched, effects);
        for id in live {
            self.retry_now(&id);
        }
        let longest = self.world.sessions().filter(ends).map(|s| match s.wanted {
            Wanted::Stopped { grace } => grace,
            Wanted::Running => s.spec.grace,
        });
        let bound = longest.max().unwrap_or_default().saturating_add(BEYOND_GRACE);
        self.arm_leave(bound);
    }

    fn begin_drain(
        &mut self,
        reason: ExitReason,
        program: Option<String>,
        line: Option<ShutdownLines>,
    ) {
        if let Some(Leaving::Stopping { lines, .. }) = &mut self.leaving {
            // Too late to keep anything.
            lines.extend(line);
            return;
        }
        point("daemon.leave.drain");
        self.note(None, "daemon_leaving", "sessions go on".to_owned());
        let lines = line.into_iter().collect();
        self.leaving = Some(Leaving::Draining { reason, program, lines });
        self.arm_leave(SETTLING);
        self.leave_if_done();
    }

    /// Sets the bound; an earlier one counts no more.
    fn arm_leave(&mut self, patience: Duration) {
        let number = self.number();
        self.leave_bound = number;
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            bus.send(Message::LeaveOverdue { number }).ok();
        });
    }

    /// A session's standing has changed while we leave.
    pub(super) fn told_while_leaving(&mut self, id: &SessionId, standing: Standing) {
        let result = match standing {
            Standing::Over | Standing::Resting => StopResult::Stopped,
            Standing::Stuck => StopResult::StillAlive,
            Standing::Open | Standing::InLine | Standing::Running | Standing::Ready => return,
        };
        if !matches!(self.leaving, Some(Leaving::Stopping { .. })) {
            return;
        }
        let Some(view) = self.view(id) else { return };
        let Some(Leaving::Stopping { since, pending, lines }) = &mut self.leaving else { return };
        if pending.remove(id) {
            let answer = Box::new(stop_answer(result, view, *since));
            for line in lines {
                line.send(ShutdownLine::Session(answer.clone())).ok();
            }
        }
    }

    /// Leaves, if nothing is left to wait for.
    pub(super) fn leave_if_done(&mut self) {
        // In line one can wait for the next daemon too.
        let under_way = |phase| phase != Phase::Queued && phase < Phase::Running;
        let done = match &self.leaving {
            None => false,
            Some(Leaving::Stopping { pending, .. }) => pending.is_empty(),
            Some(Leaving::Draining { .. }) => {
                !self.world.sessions().any(|session| under_way(session.phase))
            }
        };
        if done {
            self.leave_now();
        }
    }

    pub(super) fn leave_overdue(&mut self, number: u64) {
        if self.leave_bound != number {
            return;
        }
        let late = match &self.leaving {
            Some(Leaving::Stopping { pending, .. }) => pending.iter().cloned().collect(),
            _ => Vec::new(),
        };
        for id in late {
            tracing::warn!(session = %id, "still alive, and left as it is");
            self.told_while_leaving(&id, Standing::Stuck);
        }
        self.leave_now();
    }

    fn leave_now(&mut self) {
        if self.exit.is_some() {
            return;
        }
        let (reason, request, lines) = match self.leaving.take() {
            Some(Leaving::Stopping { lines, .. }) => {
                (ExitReason::Stopped, Some(YardRequest::Leave), lines)
            }
            Some(Leaving::Draining { reason, program, lines }) => {
                let request = program.map(|program| YardRequest::Replace { program });
                (reason, request, lines)
            }
            None => return,
        };
        point("daemon.leave.now");
        if let (Some(yard), Some(request)) = (&self.yard_sender, request) {
            // A yard that is gone needs no word.
            yard.send(request.into()).ok();
        }
        self.note(None, "daemon_stopped", format!("{reason:?}").to_lowercase());
        for line in lines {
            line.send(ShutdownLine::Done { done: true }).ok();
        }
        self.exit = Some(reason);
    }
}
