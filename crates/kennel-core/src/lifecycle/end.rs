//! The end: observed by the keeper, or enforced without it; then cleanup, record, release.

use kennel_types::{
    Exit, KeptItem, LaunchFailure, Owed, OwedKind, Phase, ReadyState, Reason, Survivor,
};

use crate::effect::Effect;
use crate::event::PenEnd;
use crate::session::{LostBecause, ProbeState, Session, Writing};

impl Session {
    pub(super) fn on_exited(&mut self, exit: &Exit) -> Vec<Effect> {
        if !self.is_live() || !self.note_exit(exit) {
            return Vec::new();
        }
        if !self.is_stop_wanted() {
            self.reason.get_or_insert(Reason::Exited);
        }
        self.noted()
    }

    /// Notes the exit status unless a status is known. Returns whether this changed anything.
    pub(super) fn note_exit(&mut self, exit: &Exit) -> bool {
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
        // The exit was reported before, but only the keeper knows that the agent did not exit by
        // itself.
        if let (Some(reason), Some(Reason::Exited)) = (reason, &self.reason)
            && !self.has_ended()
        {
            self.reason = Some(reason.clone());
        }
        self.reap(exit, reason.unwrap_or(&by_itself))
    }

    /// Notes that the pen was seen empty, and sets the reason unless the session already has one.
    pub(super) fn reap(&mut self, exit: &Exit, reason: &Reason) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.has_ended() {
            return effects;
        }
        self.note_exit(exit);
        self.reason.get_or_insert_with(|| reason.clone());
        self.survivors.clear();
        self.give_up_waiting();
        self.underway.probe = ProbeState::Unneeded;
        self.phase = Phase::Reaped;
        if !self.owed.is_empty() {
            // The outcome is written while the resources are removed.
            self.record_durably(&mut effects);
        }
        self.clean_up(&mut effects);
        effects
    }

    /// Returns the exit status of an agent whose end was not observed.
    pub(super) fn unknown_exit(&self, why: &str) -> Exit {
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
        match self.underway.probe {
            ProbeState::Unneeded => self.do_without_keeper(&mut effects),
            // The probe may have found it alive just before.
            ProbeState::Probing => self.underway.probe = ProbeState::ProbingStale,
            _ => {}
        }
        effects
    }

    /// Ends the pen without its keeper, even if nothing was granted: a process may wait behind the
    /// gate.
    pub(super) fn do_without_keeper(&mut self, effects: &mut Vec<Effect>) {
        self.want_stopped(self.spec.grace, &Reason::KeeperDied);
        self.phase = self.phase.max(Phase::Stopping);
        self.end_pen(effects);
        self.note(effects);
    }

    pub(super) fn end_pen(&mut self, effects: &mut Vec<Effect>) {
        self.underway.probe = ProbeState::EndingPen;
        effects.push(Effect::EndPen);
    }

    pub(super) fn on_pen_ended(&mut self, end: &PenEnd) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let PenEnd::Empty { exit } = end {
            // A process that dies behind its gate has a status too, but not that of the program.
            let known = exit.clone().filter(|_| self.launch.granted);
            let unknown =
                self.unknown_exit("its keeper died, and the kernel did not have the status");
            return self.reap(&known.unwrap_or(unknown), &Reason::KeeperDied);
        }
        if self.underway.probe != ProbeState::EndingPen {
            return effects;
        }
        self.underway.probe = ProbeState::EndPenDue;
        match end {
            PenEnd::StillAlive { survivors } => effects.extend(self.on_still_alive(survivors)),
            PenEnd::Unobservable { why } => {
                self.underway.probe = ProbeState::ProbeDue;
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

    /// Removes what is owed, or finishes if nothing is.
    pub(super) fn clean_up(&mut self, effects: &mut Vec<Effect>) {
        if self.owed.is_empty() {
            self.phase = Phase::Cleaned;
            match self.underway.writing {
                // A new daemon must not read that it is cleaned before its outcome is durable.
                Writing::UnderWay { .. } if self.is_outcome_recorded() => {}
                // If this record is lost, the cleanup is repeated.
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
            return self.settle_owed(what);
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
        self.settle_owed(what)
    }

    /// Notes that a resource is no longer owed.
    fn settle_owed(&mut self, what: &OwedKind) -> Vec<Effect> {
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
            // The keeper must not wait for a directory that can't be removed: once the outcome is
            // recorded, it may exit.
            self.record_durably(&mut effects);
        }
        if self.phase == Phase::Reaped {
            self.retry_later(&mut effects);
        }
        effects
    }

    /// Returns whether a durable record of the outcome exists or is being written.
    fn is_outcome_recorded(&self) -> bool {
        match self.underway.writing {
            Writing::UnderWay { phase, outdated } => {
                phase >= Phase::Reaped || (outdated && self.has_ended())
            }
            Writing::Settled | Writing::Failed => self.underway.released,
        }
    }

    /// Notes that a removal has ended. Returns whether it was in progress.
    fn settle_clean_up(&mut self, what: &OwedKind) -> bool {
        let before = self.underway.cleaning.len();
        self.underway.cleaning.retain(|other| other != what);
        self.underway.cleaning.len() != before
    }

    /// Gives up a lost session: it is not reaped, because its end was not seen.
    pub(super) fn on_forgotten(&mut self, by: &str) -> Vec<Effect> {
        if self.phase != Phase::Lost {
            return Vec::new();
        }
        let reason = Reason::Forgotten { by: by.to_owned() };
        self.give_up(reason, "it was forgotten; Kennel did not see it end")
    }

    /// Ends the ownership of a session that may still run.
    pub(super) fn give_up(&mut self, reason: Reason, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.reason = Some(reason);
        let exit = self.unknown_exit(why);
        self.note_exit(&exit);
        self.underway.probe = ProbeState::Unneeded;
        self.give_up_waiting();
        self.keep_worktrees();
        self.clean_up(&mut effects);
        if self.is_live() {
            self.phase = Phase::Cleaned;
            self.record_durably(&mut effects);
        }
        effects
    }

    /// Notes that the session can't become ready any more.
    fn give_up_waiting(&mut self) {
        if self.ready == ReadyState::Waiting {
            self.ready = ReadyState::Missed;
        }
    }

    /// Keeps all worktrees, because processes that are left may work in them.
    fn keep_worktrees(&mut self) {
        let is_worktree = |owed: &Owed| matches!(owed.what, OwedKind::Worktree { .. });
        let (worktrees, others) = self.owed.drain(..).partition(is_worktree);
        self.owed = others;
        let why = "the session was forgotten, and a process may still work in it";
        let kept = |owed: Owed| KeptItem { what: owed.what, why: why.to_owned() };
        self.kept.extend(Vec::into_iter(worktrees).map(kept));
    }
}
