//! The end: seen by the keeper, or brought about without it; then clean-up, record, release.

use kennel_types::LaunchFailure;
use kennel_types::{Exit, KeptItem, Owed, OwedKind, Phase, ReadyState, Reason, Survivor};

use crate::effect::Effect;
use crate::event::PenEnd;
use crate::session::{LostBecause, ProbeState, Session, Writing};

impl Session {
    pub(super) fn on_exited(&mut self, exit: &Exit) -> Vec<Effect> {
        if !self.is_live() || !self.learn(exit) {
            return Vec::new();
        }
        if !self.is_stop_wanted() {
            self.reason.get_or_insert(Reason::Exited);
        }
        self.noted()
    }

    /// Takes in how the agent ended. What is known is never replaced.
    pub(super) fn learn(&mut self, exit: &Exit) -> bool {
        let better = match &self.exit {
            None => true,
            Some(Exit::Unknown { .. }) => !matches!(exit, Exit::Unknown { .. }),
            Some(_) => false,
        };
        if better {
            self.exit = Some(exit.clone());
        }
        better
    }

    pub(super) fn on_gone(&mut self, exit: &Exit, reason: Option<&Reason>) -> Vec<Effect> {
        let by_itself = match exit {
            Exit::NeverRan => Reason::Failed {
                code: LaunchFailure::Internal,
                why: "it was called off before it ran".to_owned(),
            },
            _ => Reason::Exited,
        };
        // That the agent ended was heard before; only its keeper knows that it did not end by itself.
        if let (Some(reason), Some(Reason::Exited)) = (reason, &self.reason)
            && !self.has_ended()
        {
            self.reason = Some(reason.clone());
        }
        self.reap(exit, reason.unwrap_or(&by_itself))
    }

    /// The pen was seen empty. The reason counts if there is none yet.
    pub(super) fn reap(&mut self, exit: &Exit, reason: &Reason) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.has_ended() {
            return effects;
        }
        self.learn(exit);
        self.reason.get_or_insert_with(|| reason.clone());
        self.survivors.clear();
        self.give_up_waiting();
        self.underway.look = ProbeState::Unneeded;
        self.phase = Phase::Reaped;
        if !self.owed.is_empty() {
            // The outcome goes to the disk while the rest is removed.
            self.record_durably(&mut effects);
        }
        self.clean_up(&mut effects);
        effects
    }

    /// How the agent ended, if nobody can tell.
    pub(super) fn exit_untold(&self, why: &str) -> Exit {
        if self.launch.granted { Exit::Unknown { why: why.to_owned() } } else { Exit::NeverRan }
    }

    pub(super) fn on_still_alive(&mut self, survivors: &[Survivor]) -> Vec<Effect> {
        if self.has_ended() || self.survivors == survivors {
            return Vec::new();
        }
        self.survivors = survivors.to_vec();
        self.noted()
    }

    pub(super) fn on_keeper_lost(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.has_ended() {
            return effects;
        }
        match self.underway.look {
            ProbeState::Unneeded => self.do_without_keeper(&mut effects),
            // It may have been found alive just before.
            ProbeState::Probing => self.underway.look = ProbeState::ProbingStale,
            ProbeState::ProbingStale
            | ProbeState::ProbeDue
            | ProbeState::EndingPen
            | ProbeState::EndPenDue => {}
        }
        effects
    }

    /// Even if nothing was granted: a process may wait behind its gate.
    pub(super) fn do_without_keeper(&mut self, effects: &mut Vec<Effect>) {
        self.want_stopped(self.spec.grace, &Reason::KeeperDied);
        self.phase = self.phase.max(Phase::Stopping);
        self.end_pen(effects);
        self.note(effects);
    }

    pub(super) fn end_pen(&mut self, effects: &mut Vec<Effect>) {
        self.underway.look = ProbeState::EndingPen;
        effects.push(Effect::EndPen);
    }

    pub(super) fn on_pen_ended(&mut self, end: &PenEnd) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let PenEnd::Empty { exit } = end {
            // What dies behind its gate has a status too, but that is not a program's.
            let told = exit.clone().filter(|_| self.launch.granted);
            let untold = self.exit_untold("its keeper died, and the kernel could not tell");
            return self.reap(&told.unwrap_or(untold), &Reason::KeeperDied);
        }
        if self.underway.look != ProbeState::EndingPen {
            return effects;
        }
        self.underway.look = ProbeState::EndPenDue;
        match end {
            PenEnd::StillAlive { survivors } => effects.extend(self.on_still_alive(survivors)),
            PenEnd::Unobservable { why } => {
                self.underway.look = ProbeState::ProbeDue;
                self.lost = Some(LostBecause(why.clone()));
                if self.phase != Phase::Lost {
                    self.phase = Phase::Lost;
                    self.record_durably(&mut effects);
                }
            }
            PenEnd::Empty { .. } | PenEnd::Failed { .. } => {}
        }
        self.retry_later(&mut effects);
        effects
    }

    /// Has what is owed removed, or is done if nothing is.
    pub(super) fn clean_up(&mut self, effects: &mut Vec<Effect>) {
        if self.owed.is_empty() {
            self.phase = Phase::Cleaned;
            match self.underway.writing {
                // That it is cleaned must not be read by a new daemon before its outcome is durable.
                Writing::UnderWay { .. } if self.is_outcome_recorded() => {}
                // If it is never written that this is done, it is done once more.
                Writing::Settled if self.is_outcome_recorded() => self.note(effects),
                _ => self.record_durably(effects),
            }
            return;
        }
        for Owed { what, .. } in &self.owed {
            if !self.underway.cleaning.contains(what) {
                self.underway.cleaning.push(what.clone());
                effects.push(Effect::CleanUp { what: what.clone() });
            }
        }
    }

    pub(super) fn on_owes(&mut self, what: &OwedKind) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.is_live() || self.owed.iter().any(|owed| owed.what == *what) {
            return effects;
        }
        self.owed.push(Owed { what: what.clone(), failures: 0, why: None });
        if self.phase == Phase::Reaped {
            self.clean_up(&mut effects);
        }
        effects
    }

    pub(super) fn on_cleaned_up(&mut self, what: &OwedKind) -> Vec<Effect> {
        if self.settle_clean_up(what) {
            return self.paid(what);
        }
        let before = self.kept.len();
        self.kept.retain(|kept| kept.what != *what);
        if self.kept.len() == before { Vec::new() } else { self.noted() }
    }

    pub(super) fn on_kept(&mut self, what: &OwedKind, why: &str) -> Vec<Effect> {
        if !self.settle_clean_up(what) {
            return Vec::new();
        }
        self.kept.push(KeptItem { what: what.clone(), why: why.to_owned() });
        self.paid(what)
    }

    /// This is no longer owed.
    fn paid(&mut self, what: &OwedKind) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.owed.retain(|owed| owed.what != *what);
        if self.phase == Phase::Reaped && self.owed.is_empty() {
            self.clean_up(&mut effects);
        } else {
            self.note(&mut effects);
        }
        effects
    }

    pub(super) fn on_clean_up_failed(&mut self, what: &OwedKind, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !self.settle_clean_up(what) {
            return effects;
        }
        for owed in self.owed.iter_mut().filter(|owed| owed.what == *what) {
            owed.failures = owed.failures.saturating_add(1);
            owed.why = Some(why.to_owned());
        }
        if self.is_outcome_recorded() || self.phase != Phase::Reaped {
            self.note(&mut effects);
        } else {
            // The keeper must not wait for a stubborn folder: with the outcome on record it may go.
            self.record_durably(&mut effects);
        }
        if self.phase == Phase::Reaped {
            self.retry_later(&mut effects);
        }
        effects
    }

    /// Whether the outcome is on its way into a durable record, or in one.
    fn is_outcome_recorded(&self) -> bool {
        match self.underway.writing {
            Writing::UnderWay { phase, outdated } => {
                phase >= Phase::Reaped || (outdated && self.has_ended())
            }
            Writing::Settled | Writing::Failed => self.underway.released,
        }
    }

    /// Whether this removal was under way; it is not any more.
    fn settle_clean_up(&mut self, what: &OwedKind) -> bool {
        let before = self.underway.cleaning.len();
        self.underway.cleaning.retain(|other| other != what);
        self.underway.cleaning.len() != before
    }

    /// Given up, not reaped: nobody saw it end.
    pub(super) fn on_forgotten(&mut self, by: &str) -> Vec<Effect> {
        if self.phase != Phase::Lost {
            return Vec::new();
        }
        let reason = Reason::Forgotten { by: by.to_owned() };
        self.give_up(reason, "it was given up, and nobody saw it end")
    }

    /// It is not owned any more, whatever becomes of it.
    pub(super) fn give_up(&mut self, reason: Reason, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.reason = Some(reason);
        let untold = self.exit_untold(why);
        self.learn(&untold);
        self.underway.look = ProbeState::Unneeded;
        self.give_up_waiting();
        self.keep_worktrees();
        self.clean_up(&mut effects);
        if self.is_live() {
            self.phase = Phase::Cleaned;
            self.record_durably(&mut effects);
        }
        effects
    }

    /// It can't become ready any more.
    fn give_up_waiting(&mut self) {
        if self.ready == ReadyState::Waiting {
            self.ready = ReadyState::Missed;
        }
    }

    /// Whoever may still be there may work in them.
    fn keep_worktrees(&mut self) {
        let is_worktree = |owed: &Owed| matches!(owed.what, OwedKind::Worktree { .. });
        let (worktrees, others) = self.owed.drain(..).partition(is_worktree);
        self.owed = others;
        let why = "it was given up, and somebody may still work in it";
        let kept = |owed: Owed| KeptItem { what: owed.what, why: why.to_owned() };
        self.kept.extend(Vec::into_iter(worktrees).map(kept));
    }
}
