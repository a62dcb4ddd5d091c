//! What must hold, whoever was killed whenever: judged by evidence alone.

use std::collections::{BTreeMap, BTreeSet};

use kennel_keeper::journal::LossReason;
use kennel_types::{Exit, Phase, Reason, SessionView};

use crate::job::{End, Job};
use crate::ledger::{Asked, Blows, Deeds};
use crate::output::Output;
use crate::wish::Worktree;
use crate::witness::{Noted, Witness};

#[cfg(test)]
mod tests;

/// The lowest of Kennel's own exit codes.
const OWN_CODES: i32 = 201;
/// What the shell before an agent may exit with: what its script says, and what a shell has for commands that
/// can't be run.
const SCRIPT_CODES: [i32; 4] = [2, 90, 126, 127];

/// All that is known at the end.
pub(crate) struct Evidence<'a> {
    pub(crate) deeds: &'a Deeds,
    /// Every launch on record.
    pub(crate) sessions: &'a [SessionView],
    /// What their agents noted, by name.
    pub(crate) witnesses: &'a BTreeMap<String, Witness>,
    /// What is in their journals, by launch.
    pub(crate) outputs: &'a BTreeMap<String, Output>,
}

/// Everything that is not as it must be, each in a sentence.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Vec<String> {
    let mut wrong = evidence.deeds.wrong.clone();
    let mut excuses = evidence.deeds.blows.keepers_of_nobody;
    for (name, asked) in &evidence.deeds.asked {
        Case::new(evidence, name, asked).judge(&mut excuses, &mut wrong);
    }
    for view in evidence.sessions {
        let known = view.name.as_ref().is_some_and(|name| evidence.deeds.asked.contains_key(name));
        if !known {
            wrong.push(format!("nobody asked for {} ({:?})", view.id, view.name));
        }
    }
    wrong
}

/// A session that was asked for, with all its launches.
struct Case<'a> {
    name: &'a str,
    asked: &'a Asked,
    blows: &'a Blows,
    launches: Vec<&'a SessionView>,
    witness: Witness,
    outputs: &'a BTreeMap<String, Output>,
}

impl<'a> Case<'a> {
    fn new(evidence: &Evidence<'a>, name: &'a str, asked: &'a Asked) -> Self {
        let of_it = |view: &&SessionView| view.name.as_deref() == Some(name);
        Self {
            name,
            asked,
            blows: &evidence.deeds.blows,
            launches: evidence.sessions.iter().filter(of_it).collect(),
            witness: evidence.witnesses.get(name).cloned().unwrap_or_default(),
            outputs: evidence.outputs,
        }
    }

    fn judge(&self, excuses: &mut u32, wrong: &mut Vec<String>) {
        let mut found = Vec::new();
        self.judge_records(&mut found);
        self.judge_counts(&mut found);
        self.judge_answers(&mut found);
        for view in &self.launches {
            let what = self.judge_launch(view, self.is_harmed(view));
            if !what.is_empty() && *excuses > 0 && self.judge_launch(view, true).is_empty() {
                // It may have been its keeper that was killed before anybody could tell whose it was.
                *excuses -= 1;
                continue;
            }
            found.extend(what.into_iter().map(|what| format!("{}: {what}\n  {view:?}", view.id)));
        }
        wrong.extend(
            found.into_iter().map(|what| format!("{}: {what}\n  {:?}", self.name, self.asked)),
        );
    }

    /// Whether somebody may have removed it.
    fn may_be_gone(&self) -> bool {
        self.asked.removal
    }

    /// What was answered, and what ran, is on record.
    fn judge_records(&self, found: &mut Vec<String>) {
        if self.may_be_gone() {
            return;
        }
        let ids: BTreeSet<&str> = self.launches.iter().map(|view| view.id.as_str()).collect();
        let answered = self.asked.answered.iter().chain(&self.asked.launches);
        for id in answered.filter(|id| !ids.contains(id.as_str())) {
            found.push(format!("{id} was answered, and is on no record"));
        }
        for launch in self.witness.launches.keys().filter(|id| !ids.contains(id.as_str())) {
            found.push(format!("{launch} ran, and is on no record"));
        }
    }

    /// Nothing twice.
    fn judge_counts(&self, found: &mut Vec<String>) {
        // Of one that was given up nobody knew whether it lived.
        if !self.asked.forgotten && !self.witness.collisions.is_empty() {
            found.push(format!("two at a time: {:?}", self.witness.collisions));
        }
        for (launch, noted) in &self.witness.launches {
            if noted.starts > 1 {
                found.push(format!("{launch} ran {} times", noted.starts));
            }
        }
        if self.may_be_gone() {
            return;
        }
        let sessions: BTreeSet<&str> =
            self.asked.answered.iter().map(|id| session_of(id)).collect();
        if sessions.len() > 1 {
            found.push(format!("one key, several sessions: {:?}", self.asked.answered));
        }
        let sessions: BTreeSet<&str> = self.launches.iter().map(|it| it.session.as_str()).collect();
        if sessions.len() > 1 {
            found.push(format!("asked for once, there several times: {sessions:?}"));
        }
        let most = (1 + self.asked.resumes) * (1 + self.asked.wish.restarts);
        if self.launches.len() > most as usize {
            found.push(format!(
                "{} launches, and {most} at most were asked for",
                self.launches.len()
            ));
        }
    }

    /// What clients were told is true.
    fn judge_answers(&self, found: &mut Vec<String>) {
        let once = !self.asked.wish.keyed && self.asked.resumes == 0 && !self.may_be_gone();
        if self.asked.denied && once && !self.witness.launches.is_empty() {
            found.push("it was said that nothing was started, and it ran".to_owned());
        }
        if self.may_be_gone() {
            return;
        }
        let over = |view: &&&SessionView| {
            matches!(view.phase, Phase::Reaped | Phase::Cleaned | Phase::Lost)
        };
        // A resume that was asked for before waits for the end, and launches it again.
        if self.asked.stopped
            && self.asked.resumes == 0
            && !self.launches.iter().all(|view| over(&view))
        {
            found.push("it was said to be stopped, and is not".to_owned());
        }
        if let [view] = self.launches[..]
            && over(&&view)
        {
            for (verb, code) in &self.asked.codes {
                if *code < OWN_CODES && Some(*code) != view.exit_code {
                    found.push(format!("{verb} said {code}, the record {:?}", view.exit_code));
                }
            }
        }
    }

    /// Whether its keeper was killed.
    fn is_harmed(&self, view: &SessionView) -> bool {
        self.blows.keepers.contains(&view.id) || self.asked.wish.job == Job::KillsParent
    }

    /// What is wrong with a launch, if its keeper was killed or not.
    fn judge_launch(&self, view: &SessionView, harmed: bool) -> Vec<String> {
        let found = &mut Vec::new();
        let noted = self.witness.launches.get(&view.id);
        if view.phase == Phase::Lost && !may_be_lost(view, self.blows, harmed) {
            found.push("lost, and somebody could see it".to_owned());
        }
        if matches!(view.phase, Phase::Reaped | Phase::Cleaned) {
            match &view.exit {
                Some(exit) => self.judge_exit(view, exit, harmed, found),
                None => found.push("over, and has no exit".to_owned()),
            }
        }
        if let Some(reason) = &view.reason {
            // A launch whose yard or daemon was killed before it had a keeper never gets one.
            let never_had_one =
                view.exit == Some(Exit::NeverRan) && self.blows.yard + self.blows.daemon > 0;
            self.judge_reason(reason, harmed || never_had_one, found);
        }
        if let Some(output) = self.outputs.get(&view.id) {
            self.judge_output(&Printed { view, output, noted, harmed }, found);
        }
        std::mem::take(found)
    }

    /// A status is the agent's own, or unknown for a reason.
    fn judge_exit(&self, view: &SessionView, exit: &Exit, harmed: bool, found: &mut Vec<String>) {
        let noted = self.witness.launches.get(&view.id);
        let forgotten = matches!(view.reason, Some(Reason::Forgotten { .. }));
        match exit {
            Exit::NeverRan if noted.is_some() => {
                found.push("it ran, and is said not to have".into())
            }
            Exit::NeverRan => {}
            Exit::Code { code } => {
                let end = noted.and_then(|noted| noted.end).map(i32::from);
                let by_script = noted.is_none() && self.has_script() && SCRIPT_CODES.contains(code);
                if end != Some(*code) && !by_script {
                    found.push(format!(
                        "it noted {noted:?}, and is said to have exited with {code}"
                    ));
                }
            }
            Exit::Signal { signal, .. } => {
                if !self.is_explained(view, *signal, harmed) {
                    found.push(format!("signal {signal} ended it, which nobody had sent"));
                }
            }
            Exit::Unknown { why } if !harmed && !forgotten => {
                found.push(format!("its status is unknown ({why}), and its keeper could tell"));
            }
            Exit::Unknown { .. } => {}
        }
    }

    fn has_script(&self) -> bool {
        self.asked.wish.reports || self.asked.wish.worktree == Worktree::Dirty
    }

    /// Whether this signal has a cause. A reason other than its own end is judged by itself.
    fn is_explained(&self, view: &SessionView, signal: i32, harmed: bool) -> bool {
        const HUP: i32 = 1;
        const KILL: i32 = 9;
        const PIPE: i32 = 13;
        const TERM: i32 = 15;
        let by_us = signal == TERM || signal == KILL;
        let told = !matches!(view.reason, None | Some(Reason::Exited));
        let asked = self.asked.stop || self.blows.shutdown;
        let orphaned = harmed && (by_us || signal == HUP || signal == PIPE);
        self.asked.wish.job.end() == End::Signal(signal)
            || self.asked.signals.contains(&signal)
            || (self.asked.agent_killed && signal == KILL)
            || (by_us && (told || asked))
            || orphaned
    }

    /// The reason is one that was given.
    fn judge_reason(&self, reason: &Reason, harmed: bool, found: &mut Vec<String>) {
        let wish = &self.asked.wish;
        let given = match reason {
            Reason::Exited => true,
            Reason::Stopped { .. } => self.asked.stop,
            Reason::ClientGone => wish.foreground,
            Reason::Shutdown => self.blows.shutdown,
            Reason::Failed { code, .. } => *code != 204 || wish.job == Job::Missing,
            Reason::LeaseOver => wish.lease_ms.is_some(),
            Reason::NotReady { .. } => wish.ready.is_some(),
            Reason::TimedOut { .. } => wish.timeout_ms.is_some(),
            Reason::Idle { .. } => wish.idle_ms.is_some(),
            Reason::Silent { .. } => wish.silence_ms.is_some(),
            Reason::KeeperDied => harmed,
            Reason::Forgotten { .. } => self.asked.forgotten,
            Reason::ParentEnded | Reason::Rebooted => false,
        };
        if !given {
            found.push(format!("it ended for a reason that nobody gave: {reason:?}"));
        }
    }

    /// Output is whole, but for what is marked.
    fn judge_output(&self, printed: &Printed<'_>, found: &mut Vec<String>) {
        let Printed { view, output, noted, harmed } = *printed;
        if let Some(why) = &output.unreadable {
            found.push(format!("its journal can't be read: {why}"));
        }
        for gap in &output.gaps {
            let caused = match gap {
                // In need of room the oldest output makes way for the newest.
                LossReason::Dropped => self.blows.disk,
                LossReason::DiskFull => self.blows.disk || self.blows.starved,
                LossReason::KeeperDied => harmed,
                LossReason::Damaged => false,
            };
            if !caused {
                found.push(format!("a gap in its output that nothing made: {gap:?}"));
            }
        }
        let Some(lines) = self.asked.wish.job.lines() else { return };
        if self.asked.wish.terminal && self.asked.typed {
            return; // it shows what is typed, wherever it stands
        }
        if self.asked.removal && output.numbers.is_empty() && output.gaps.is_empty() {
            return; // a removal takes the output first, and may have been cut off there
        }
        found.extend(output.disorder());
        let died = view.reason == Some(Reason::KeeperDied) && noted.is_some();
        if died && output.gaps.is_empty() && !self.blows.disk {
            found.push("its keeper died, and the gap is not marked".to_owned());
        }
        let ended = noted.and_then(|noted| noted.end).is_some() && view.phase == Phase::Cleaned;
        let whole = output.gaps.is_empty() && !harmed;
        // One that has lost a descendant, or its disk, gives up with a code of its own.
        let as_wished =
            |code: i32| u8::try_from(code).map(End::Code) == Ok(self.asked.wish.job.end());
        let by_itself = matches!(view.exit, Some(Exit::Code { code }) if as_wished(code));
        if ended && whole && by_itself && output.numbers.len() != lines as usize {
            found.push(format!("{} of {lines} lines are there", output.numbers.len()));
        }
    }
}

/// The session that a launch belongs to.
fn session_of(launch: &str) -> &str {
    launch.split_once('_').map_or(launch, |(session, _)| session)
}

/// What a launch printed, and what it depends on.
struct Printed<'a> {
    view: &'a SessionView,
    output: &'a Output,
    noted: Option<&'a Noted>,
    harmed: bool,
}

/// Whether a session may be lost: what was in a subtree pen can't be seen any more without yard and keeper.
pub(crate) fn may_be_lost(view: &SessionView, blows: &Blows, harmed: bool) -> bool {
    let in_cgroup = view.pen.as_ref().is_some_and(|pen| pen.starts_with('/'));
    !in_cgroup && blows.yard > 0 && harmed
}
