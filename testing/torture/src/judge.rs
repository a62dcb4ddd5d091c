//! The rules that must hold whichever process was killed at any time, checked against the evidence.

use std::collections::{BTreeMap, BTreeSet};

use kennel_keeper::journal::LossReason;
use kennel_types::{Exit, Phase, Reason, SessionView};

use crate::job::{AgentJob, ExpectedEnd};
use crate::ledger::{HomeFaults, LedgerRecord, RequestedSession};
use crate::output::JournalOutput;
use crate::run_arguments::WorktreeFlag;
use crate::witness::{LaunchNotes, Witness};

#[cfg(test)]
mod tests;

/// The lowest exit code of Kennel itself.
const OWN_CODES: i32 = 201;
/// The exit codes of the shell that starts an agent: those of its script, and the shell's own for
/// commands that it can't run.
const SCRIPT_CODES: [i32; 4] = [2, 90, 126, 127];

/// Everything that is known at the end.
pub(crate) struct TortureEvidence<'a> {
    pub(crate) record: &'a LedgerRecord,
    /// The launches on record.
    pub(crate) sessions: &'a [SessionView],
    /// The notes of the agents, by session name.
    pub(crate) witnesses: &'a BTreeMap<String, Witness>,
    /// The content of the journals, by launch.
    pub(crate) outputs: &'a BTreeMap<String, JournalOutput>,
}

/// Returns the findings, each as a sentence.
pub(crate) fn judge(evidence: &TortureEvidence<'_>) -> Vec<String> {
    let mut wrong = evidence.record.wrong.clone();
    let mut excuses = evidence.record.faults.unknown_keepers;
    for (name, requested) in &evidence.record.requested {
        SessionCase::new(evidence, name, requested).judge(&mut excuses, &mut wrong);
    }
    for view in evidence.sessions {
        let known =
            view.name.as_ref().is_some_and(|name| evidence.record.requested.contains_key(name));
        if !known {
            wrong.push(format!("{} was never requested ({:?})", view.id, view.name));
        }
    }
    wrong
}

/// A requested session with all its launches.
struct SessionCase<'a> {
    name: &'a str,
    requested: &'a RequestedSession,
    faults: &'a HomeFaults,
    launches: Vec<&'a SessionView>,
    witness: Witness,
    outputs: &'a BTreeMap<String, JournalOutput>,
}

impl<'a> SessionCase<'a> {
    fn new(evidence: &TortureEvidence<'a>, name: &'a str, requested: &'a RequestedSession) -> Self {
        let of_it = |view: &&SessionView| view.name.as_deref() == Some(name);
        Self {
            name,
            requested,
            faults: &evidence.record.faults,
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
                // Its keeper may be the one that was killed while its launch was unknown.
                *excuses -= 1;
                continue;
            }
            found.extend(what.into_iter().map(|what| format!("{}: {what}\n  {view:?}", view.id)));
        }
        wrong.extend(
            found.into_iter().map(|what| format!("{}: {what}\n  {:?}", self.name, self.requested)),
        );
    }

    /// Returns whether a client may have removed it.
    fn may_be_gone(&self) -> bool {
        self.requested.removal
    }

    /// Checks that everything that was answered or ran is on record.
    fn judge_records(&self, found: &mut Vec<String>) {
        if self.may_be_gone() {
            return;
        }
        let ids: BTreeSet<&str> = self.launches.iter().map(|view| view.id.as_str()).collect();
        let answered = self.requested.answered.iter().chain(&self.requested.launches);
        for id in answered.filter(|id| !ids.contains(id.as_str())) {
            found.push(format!("{id} was answered, but is not on record"));
        }
        for launch in self.witness.launches.keys().filter(|id| !ids.contains(id.as_str())) {
            found.push(format!("{launch} ran, but is not on record"));
        }
    }

    /// Checks that nothing ran twice.
    fn judge_counts(&self, found: &mut Vec<String>) {
        // Kennel does not know whether a forgotten session is alive.
        if !self.requested.forgotten && !self.witness.collisions.is_empty() {
            found.push(format!("two launches at the same time: {:?}", self.witness.collisions));
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
            self.requested.answered.iter().map(|id| session_of(id)).collect();
        if sessions.len() > 1 {
            found.push(format!("several sessions for one key: {:?}", self.requested.answered));
        }
        let sessions: BTreeSet<&str> = self.launches.iter().map(|it| it.session.as_str()).collect();
        if sessions.len() > 1 {
            found.push(format!("several sessions for one request: {sessions:?}"));
        }
        let most = (1 + self.requested.resumes) * (1 + self.requested.arguments.restarts);
        if self.launches.len() > most as usize {
            found.push(format!("{} launches, but only {most} were requested", self.launches.len()));
        }
    }

    /// Checks that the answers were true.
    fn judge_answers(&self, found: &mut Vec<String>) {
        let once =
            !self.requested.arguments.keyed && self.requested.resumes == 0 && !self.may_be_gone();
        if self.requested.denied && once && !self.witness.launches.is_empty() {
            found.push("the answer was that nothing was started, but it ran".to_owned());
        }
        if self.may_be_gone() {
            return;
        }
        let over = |view: &&&SessionView| {
            matches!(view.phase, Phase::Reaped | Phase::Cleaned | Phase::Lost)
        };
        // An earlier resume waits for the end, and launches it again.
        if self.requested.stopped
            && self.requested.resumes == 0
            && !self.launches.iter().all(|view| over(&view))
        {
            found.push("the answer was that it is stopped, but it is not".to_owned());
        }
        if let [view] = self.launches[..]
            && over(&&view)
        {
            for (verb, code) in &self.requested.codes {
                if *code < OWN_CODES && Some(*code) != view.exit_code {
                    found.push(format!(
                        "{verb} returned {code}, but the record has {:?}",
                        view.exit_code
                    ));
                }
            }
        }
    }

    /// Returns whether its keeper was killed.
    fn is_harmed(&self, view: &SessionView) -> bool {
        self.faults.keepers.contains(&view.id)
            || self.requested.arguments.job == AgentJob::KillsParent
    }

    /// Returns the findings for a launch, given whether its keeper was killed.
    fn judge_launch(&self, view: &SessionView, harmed: bool) -> Vec<String> {
        let found = &mut Vec::new();
        let noted = self.witness.launches.get(&view.id);
        if view.phase == Phase::Lost && !may_be_lost(view, self.faults, harmed) {
            found.push("lost, although its processes could be found".to_owned());
        }
        if matches!(view.phase, Phase::Reaped | Phase::Cleaned) {
            match &view.exit {
                Some(exit) => self.judge_exit(view, exit, harmed, found),
                None => found.push("over, but without an exit status".to_owned()),
            }
        }
        if let Some(reason) = &view.reason {
            // A launch gets no keeper if the yard or the daemon is killed before that.
            let never_had_one =
                view.exit == Some(Exit::NeverRan) && self.faults.yard + self.faults.daemon > 0;
            self.judge_reason(reason, harmed || never_had_one, found);
        }
        if let Some(output) = self.outputs.get(&view.id) {
            self.judge_output(&LaunchOutput { view, output, noted, harmed }, found);
        }
        std::mem::take(found)
    }

    /// Checks that the status is the one of the agent, or unknown for a reason.
    fn judge_exit(&self, view: &SessionView, exit: &Exit, harmed: bool, found: &mut Vec<String>) {
        let noted = self.witness.launches.get(&view.id);
        let forgotten = matches!(view.reason, Some(Reason::Forgotten { .. }));
        match exit {
            Exit::NeverRan if noted.is_some() => {
                found.push("it ran, but the record states that it did not".into())
            }
            Exit::NeverRan => {}
            Exit::Code { code } => {
                let end = noted.and_then(|noted| noted.end).map(i32::from);
                let by_script = noted.is_none() && self.has_script() && SCRIPT_CODES.contains(code);
                if end != Some(*code) && !by_script {
                    found.push(format!("it noted {noted:?}, but the record has exit code {code}"));
                }
            }
            Exit::Signal { signal, .. } => {
                if !self.is_explained(view, *signal, harmed) {
                    found.push(format!("signal {signal} ended it, but was never sent"));
                }
            }
            Exit::Unknown { why } if !harmed && !forgotten => {
                found.push(format!("its status is unknown ({why}), although its keeper lived"));
            }
            Exit::Unknown { .. } => {}
        }
    }

    fn has_script(&self) -> bool {
        self.requested.arguments.reports || self.requested.arguments.worktree == WorktreeFlag::Dirty
    }

    /// Returns whether this signal has a cause. `check_reason` covers reasons other than the
    /// agent's own end.
    fn is_explained(&self, view: &SessionView, signal: i32, harmed: bool) -> bool {
        const HUP: i32 = 1;
        const KILL: i32 = 9;
        const PIPE: i32 = 13;
        const TERM: i32 = 15;
        let by_us = signal == TERM || signal == KILL;
        let has_other_reason = !matches!(view.reason, None | Some(Reason::Exited));
        let requested = self.requested.stop || self.faults.shutdown;
        let orphaned = harmed && (by_us || signal == HUP || signal == PIPE);
        self.requested.arguments.job.end() == ExpectedEnd::Signal(signal)
            || self.requested.signals.contains(&signal)
            || (self.requested.agent_killed && signal == KILL)
            || (by_us && (has_other_reason || requested))
            || orphaned
    }

    /// Checks that the reason has a cause.
    fn judge_reason(&self, reason: &Reason, harmed: bool, found: &mut Vec<String>) {
        let arguments = &self.requested.arguments;
        let given = match reason {
            Reason::Exited => true,
            Reason::Stopped { .. } => self.requested.stop,
            Reason::ClientGone => arguments.foreground,
            Reason::Shutdown => self.faults.shutdown,
            Reason::Failed { code, .. } => {
                *code != kennel_types::LaunchFailure::Exec || arguments.job == AgentJob::Missing
            }
            Reason::LeaseOver => arguments.lease_ms.is_some(),
            Reason::NotReady { .. } => arguments.ready.is_some(),
            Reason::TimedOut { .. } => arguments.timeout_ms.is_some(),
            Reason::Idle { .. } => arguments.idle_ms.is_some(),
            Reason::Silent { .. } => arguments.silence_ms.is_some(),
            Reason::KeeperDied => harmed,
            Reason::Forgotten { .. } => self.requested.forgotten,
            Reason::ParentEnded | Reason::Rebooted => false,
        };
        if !given {
            found.push(format!("it ended for a reason without a cause: {reason:?}"));
        }
    }

    /// Checks that the output is complete, except for marked gaps.
    fn judge_output(&self, printed: &LaunchOutput<'_>, found: &mut Vec<String>) {
        let LaunchOutput { view, output, noted, harmed } = *printed;
        if let Some(why) = &output.unreadable {
            found.push(format!("can't read its journal: {why}"));
        }
        for gap in &output.gaps {
            let caused = match gap {
                // On a full disk the oldest output is dropped for the newest.
                LossReason::Dropped => self.faults.disk,
                LossReason::DiskFull => self.faults.disk || self.faults.starved,
                LossReason::KeeperDied => harmed,
                LossReason::Damaged => false,
            };
            if !caused {
                found.push(format!("a gap in its output without a cause: {gap:?}"));
            }
        }
        let Some(lines) = self.requested.arguments.job.lines() else { return };
        if self.requested.arguments.terminal && self.requested.typed {
            return; // a terminal echoes input anywhere in the output
        }
        if self.requested.removal && output.numbers.is_empty() && output.gaps.is_empty() {
            return; // a removal deletes the output first, and may have been interrupted after that
        }
        found.extend(output.disorder());
        let died = view.reason == Some(Reason::KeeperDied) && noted.is_some();
        if died && output.gaps.is_empty() && !self.faults.disk {
            found.push("its keeper died, but the gap is not marked".to_owned());
        }
        let ended = noted.and_then(|noted| noted.end).is_some() && view.phase == Phase::Cleaned;
        let whole = output.gaps.is_empty() && !harmed;
        // An agent that has lost a descendant or its disk exits with a code of its own.
        let as_wished = |code: i32| {
            u8::try_from(code).map(ExpectedEnd::Code) == Ok(self.requested.arguments.job.end())
        };
        let by_itself = matches!(view.exit, Some(Exit::Code { code }) if as_wished(code));
        if ended && whole && by_itself && output.numbers.len() != lines as usize {
            found.push(format!("only {} of {lines} lines", output.numbers.len()));
        }
    }
}

/// Returns the id of the session of a launch.
fn session_of(launch: &str) -> &str {
    launch.split_once('_').map_or(launch, |(session, _)| session)
}

/// The output of a launch, and what affects it.
struct LaunchOutput<'a> {
    view: &'a SessionView,
    output: &'a JournalOutput,
    noted: Option<&'a LaunchNotes>,
    harmed: bool,
}

/// Returns whether a session may be lost: without yard and keeper, the processes of a subtree pen
/// can't be found.
pub(crate) fn may_be_lost(view: &SessionView, faults: &HomeFaults, harmed: bool) -> bool {
    let in_cgroup = view.pen.as_ref().is_some_and(|pen| pen.starts_with('/'));
    !in_cgroup && faults.yard > 0 && harmed
}
