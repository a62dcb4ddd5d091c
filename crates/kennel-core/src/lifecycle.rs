//! The life of one session: what an event makes of it, and what is to be done then.
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
//! While the durable row says `Queued` or `Making` no keeper was ever asked for: one is asked for when a row
//! `Reserved` is durable (or is being written, for the first launch of a session that begins there). So such a
//! session is ended without looking for anybody: as soon as the wish is on record, and nobody makes anything for
//! it.
//!
//! A session that a user started in their own terminal goes another way: see `adopted.rs`.
//!
//! A session that is launched again begins anew, as a further value with an id of its own; see
//! [`crate::World::relaunch`].
//!
//! What is *wanted* is apart from the phase and never goes back: a stop may come in any phase, any number of
//! times. Only an observation leads to `Reaped`: the keeper's word, an empty pen, or a machine that was
//! restarted. An error, a timeout or a failed effect never does; it leads to another try.
//!
//! Events may come twice, late or in another order. So nothing here counts on an order: what is under way is
//! written down in [`crate::Underway`], and an answer that nobody waits for changes nothing.

mod adopt;
mod adopted;
mod end;
mod launch;
#[cfg(test)]
mod laws;
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

impl Session {
    /// A session that was asked for, and is not on record yet. What is owed is what will be made for it; the
    /// worktree that it asks for is added to that.
    #[must_use]
    pub fn new(id: SessionId, spec: SessionSpec, token: LaunchToken, owed: Vec<Owed>) -> Self {
        let mut owed = owed;
        let worktree = worktree(&spec);
        owed.extend(worktree.into_iter().map(|what| Owed { what, failures: 0, why: None }));
        let phase = if spec.worktree.is_some() { Phase::Making } else { Phase::Reserved };
        // The id of a first launch is random: if its row is lost with the daemon, nobody gets it again. That of
        // a further one would be given away anew, and its keeper would be taken for the other's.
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
            // What `first_effects` asks for.
            underway: Underway {
                writing: Writing::UnderWay { phase, outdated: false },
                unlaunched,
                ..Underway::default()
            },
        }
    }

    /// The same, but it waits in line until its turn comes.
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

    /// What is to be done for a new session: its keeper is started while its row is written, if it is the first
    /// launch, and nothing must be waited for or made before.
    #[must_use]
    pub fn first_effects(&self) -> Vec<Effect> {
        let record = Effect::Record { durable: true };
        let needs_keeper = self.started_by == StartedBy::Kennel && !self.underway.unlaunched;
        if needs_keeper { vec![record, Effect::StartKeeper] } else { vec![record] }
    }

    /// Takes an event in, and says what is to be done. See the module's drawing.
    #[must_use]
    pub fn step(&mut self, event: &Event) -> Vec<Effect> {
        if self.started_by == StartedBy::User {
            return self.step_adopted(event);
        }
        if event.is_of_keeper() && self.underway.unlaunched {
            return Vec::new();
        }
        let mut effects = self.take_in(event);
        self.stop_awaiting(&mut effects);
        effects
    }

    fn take_in(&mut self, event: &Event) -> Vec<Effect> {
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
            Event::LaunchFailed { code, why } => self.on_launch_failed(*code, why),
            Event::BecameReady { .. } => self.on_became_ready(),
            Event::ReadyOverdue { saw } => self.on_ready_overdue(saw.as_ref()),
            Event::Reported(report) => self.on_reported(report),
            Event::Exited { exit } => self.on_exited(exit),
            Event::Gone { exit, reason } => self.on_gone(exit, reason.as_ref()),
            Event::StillAlive { survivors } => self.on_still_alive(survivors),
            Event::KeeperLost => self.on_keeper_lost(),
            Event::PenEnded(end) => self.on_pen_ended(end),
            Event::StopAsked(wish) => self.on_stop_asked(wish),
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

    /// Whether it is still owned: everything but [`Phase::Cleaned`].
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.phase != Phase::Cleaned
    }

    /// Whether it was seen to end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase >= Phase::Reaped
    }

    /// Whether its end is wanted.
    #[must_use]
    pub fn is_stop_wanted(&self) -> bool {
        matches!(self.wanted, DesiredState::Stopped { .. })
    }

    /// Whether the program may have run: then nothing repeats it unasked.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        self.launch.granted && self.exit != Some(Exit::NeverRan)
    }

    /// Whether its agent is heard: it was let run, and its end is neither wanted nor seen. What comes from a
    /// launch of which that is not so, is late.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.launch.granted && !self.is_stop_wanted() && !self.has_ended()
    }

    /// Whether its outcome could not be put on record so far.
    #[must_use]
    pub fn is_unrecorded(&self) -> bool {
        self.has_ended() && self.underway.writing == Writing::Failed
    }

    /// Whether its keeper can be told something: not while somebody still looks for it, or ends its pen.
    fn hears(&self) -> bool {
        self.underway.look == ProbeState::Unneeded
    }

    fn on_retry_due(&mut self) -> Vec<Effect> {
        self.underway.retry_armed = false;
        let mut effects = Vec::new();
        if self.underway.writing == Writing::Failed {
            self.record_durably(&mut effects);
        }
        match self.underway.look {
            ProbeState::ProbeDue => self.probe(&mut effects),
            ProbeState::EndPenDue => self.end_pen(&mut effects),
            ProbeState::Unneeded
            | ProbeState::Probing
            | ProbeState::ProbingStale
            | ProbeState::EndingPen => {}
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
