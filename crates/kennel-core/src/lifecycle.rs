//! The life of one session: how events change it, and the effects that follow.
//!
//! ```text
//!  Queued ── its turn ──┐ (worktree wanted: Making)
//!  Making ── all made ──┤
//!                       ▼
//!            row durable      process born     program       a stop, or      pen seen      nothing
//!            + keeper there   + granted        runs          keeper lost     empty         owed
//!  Reserved ──────────────> Launching ──> Starting ──> Running ──> Stopping ──> Reaped ──> Cleaned
//!     │                         │            │            │          │  ▲         ▲           ▲
//!     │                         │            │            │          ▼  │         │           │
//!     │                         │            │            │          Lost ────────┤           │
//!     │                         │            │            │           └───────────│─ forgotten ┘
//!     └─────────────────────────┴────────────┴────────────┴───────────────────────┘
//!                          any observation that the pen is empty
//! ```
//!
//! While the phase in the durable row is `Queued` or `Making`, no keeper was ever requested: the
//! daemon requests one when a row `Reserved` is durable (or is being written, for the first launch
//! of a session that begins there). Such a session ends without a probe: as soon as the stop is on
//! record and nothing is being created for it.
//!
//! A session that a user started in their own terminal has another life cycle: see `adopted.rs`.
//!
//! A relaunch is a further value with an id of its own; see [`crate::World::relaunch`].
//!
//! The desired state is separate from the phase and never goes back: a stop may arrive in any
//! phase, any number of times. Only an observation leads to `Reaped`: the keeper's report, an empty
//! pen, or a restart of the machine. An error, a timeout or a failed effect never does; it leads to
//! a retry.
//!
//! Events may arrive twice, late or in another order, so nothing here relies on an order:
//! [`crate::Underway`] lists the operations in progress, and an answer to none of them changes
//! nothing.

mod adopt;
mod adopted;
mod end;
mod launch;
mod prepare;
mod ready;
mod record;
mod stop;
#[cfg(test)]
mod tests;

use kennel_types::{
    Exit, LaunchToken, Owed, OwedKind, Phase, RelaunchState, SessionId, SessionSpec, StartedBy,
};

use crate::effect::Effect;
use crate::event::Event;
use crate::report::Reported;
use crate::restart::Restarts;
use crate::session::{DesiredState, Launch, ProbeState, Session, Underway, Writing};

pub(crate) fn worktree(spec: &SessionSpec) -> Option<OwedKind> {
    let wanted = spec.worktree.as_ref()?;
    Some(OwedKind::Worktree {
        repo: wanted.repo.clone(),
        path: wanted.path.clone(),
        branch: wanted.branch.clone(),
        record: wanted.record.clone(),
    })
}

/// Returns the phase of a session that need not wait in the queue.
fn first_phase(spec: &SessionSpec) -> Phase {
    if spec.worktree.is_some() { Phase::Making } else { Phase::Reserved }
}

impl Session {
    /// Creates a requested session that is not on record yet. `owed` lists the resources that will
    /// be created for it; its worktree is added to them.
    #[must_use]
    pub fn new(id: SessionId, spec: SessionSpec, token: LaunchToken, mut owed: Vec<Owed>) -> Self {
        owed.extend(worktree(&spec).map(|what| Owed { what, failures: 0, why: None }));
        let phase = first_phase(&spec);
        // The id of a first launch is random and never reused, even if its row is lost with the
        // daemon. The id of a later launch would be reused, and its keeper would be mistaken for
        // that of the next launch.
        let unlaunched = phase < Phase::Reserved || id.attempt() > 1;
        Self {
            id,
            ready: spec.ready.initial_state(),
            spec,
            wanted: DesiredState::Running,
            phase,
            launch: Launch {
                token,
                recorded: false,
                keeper_ready: false,
                granted: false,
                identity: None,
                pid: None,
                pen: None,
            },
            reason: None,
            exit: None,
            owed,
            survivors: Vec::new(),
            lost: None,
            kept: Vec::new(),
            reported: Reported::default(),
            restarts: Restarts::default(),
            relaunch: RelaunchState::default(),
            ticket: 0,
            started_by: StartedBy::Kennel,
            judged: None,
            // As requested by `first_effects`.
            underway: Underway {
                writing: Writing::UnderWay { phase, outdated: false },
                unlaunched,
                ..Underway::default()
            },
        }
    }

    #[must_use]
    pub fn queued(mut self) -> Self {
        self.phase = Phase::Queued;
        self.underway = Underway {
            writing: Writing::UnderWay { phase: Phase::Queued, outdated: false },
            unlaunched: true,
            ..Underway::default()
        };
        self
    }

    /// Returns the effects for a new session. The keeper of a first launch starts while the row is
    /// written, unless the session is queued or needs a resource first.
    #[must_use]
    pub fn first_effects(&self) -> Vec<Effect> {
        let record = Effect::Record { durable: true };
        let needs_keeper = self.started_by == StartedBy::Kennel && !self.underway.unlaunched;
        if needs_keeper { vec![record, Effect::StartKeeper] } else { vec![record] }
    }

    /// Applies an event and returns the effects to carry out. See the module's state diagram.
    #[must_use]
    pub fn step(&mut self, event: &Event) -> Vec<Effect> {
        if self.started_by == StartedBy::User {
            return self.step_adopted(event);
        }
        if event.is_from_keeper() && self.underway.unlaunched {
            return Vec::new();
        }
        let mut effects = self.apply(event);
        self.stop_awaiting(&mut effects);
        effects
    }

    fn apply(&mut self, event: &Event) -> Vec<Effect> {
        match event {
            Event::Recorded => self.on_recorded(),
            Event::RecordFailed { why } => self.on_record_failed(why),
            Event::KeeperReady => self.on_keeper_ready(),
            Event::KeeperNotStarted { why } => self.on_keeper_not_started(why),
            Event::TurnCame => self.on_turn_came(),
            Event::Made { what } => self.on_made(what),
            Event::MakeFailed { what, why } => self.on_make_failed(what, why),
            Event::Born { identity, pid, pen } => self.on_born(identity, *pid, pen.as_deref()),
            Event::Opened => self.on_opened(),
            Event::LaunchFailed { code, why } => self.reap_unrun(*code, why),
            Event::BecameReady { .. } => self.on_became_ready(),
            Event::ReadyOverdue { saw } => self.on_ready_overdue(saw.as_ref()),
            Event::Reported(report) => self.on_reported(report),
            Event::Exited { exit } => self.on_exited(exit),
            Event::Gone { exit, reason } => self.on_gone(exit, reason.as_ref()),
            Event::StillAlive { survivors } => self.on_still_alive(survivors),
            Event::KeeperLost => self.on_keeper_lost(),
            Event::PenEnded(end) => self.on_pen_ended(end),
            Event::StopAsked(stop) => self.on_stop_asked(stop),
            Event::Probed(probe) => self.on_probed(probe),
            Event::Owes { what } => self.on_owes(what),
            Event::CleanedUp { what } => self.on_cleaned_up(what),
            Event::Kept { what, why } => self.on_kept(what, why),
            Event::CleanUpFailed { what, why } => self.on_clean_up_failed(what, why),
            Event::RetryDue => self.on_retry_due(),
            Event::Forgotten { by } => self.on_forgotten(by),
            Event::Restored => self.on_restored(),
        }
    }

    /// Returns whether Kennel still owns it: in every phase but [`Phase::Cleaned`].
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.phase != Phase::Cleaned
    }

    /// Returns whether it was seen to end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase >= Phase::Reaped
    }

    #[must_use]
    pub fn is_stop_wanted(&self) -> bool {
        matches!(self.wanted, DesiredState::Stopped { .. })
    }

    /// Returns whether the program may have run. Then it is repeated only on request.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        self.launch.granted && self.exit != Some(Exit::NeverRan)
    }

    /// Returns whether the agent's reports count: the launch was granted, and no stop is wanted and
    /// no end was seen. Otherwise they are late.
    #[must_use]
    pub fn accepts_reports(&self) -> bool {
        self.launch.granted && !self.is_stop_wanted() && !self.has_ended()
    }

    /// Returns whether its outcome could not be recorded so far.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.has_ended() && self.underway.writing == Writing::Failed
    }

    /// Returns whether the keeper can receive commands: no probe is needed, no pen is being ended.
    fn keeper_listens(&self) -> bool {
        self.underway.probe == ProbeState::Unneeded
    }

    fn on_retry_due(&mut self) -> Vec<Effect> {
        self.underway.retry_armed = false;
        let mut effects = Vec::new();
        if self.underway.writing == Writing::Failed {
            self.record_durably(&mut effects);
        }
        match self.underway.probe {
            ProbeState::ProbeDue => self.probe(&mut effects),
            ProbeState::EndPenDue => self.end_pen(&mut effects),
            _ => {}
        }
        if self.phase == Phase::Reaped {
            self.clean_up(&mut effects);
        }
        effects
    }

    fn retry_later(&mut self, effects: &mut Vec<Effect>) {
        if !self.underway.retry_armed {
            self.underway.retry_armed = true;
            effects.push(Effect::RetryLater);
        }
    }
}
