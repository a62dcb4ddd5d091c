//! Ending a pen: KILL to every process in it, repeated until the pen is empty by both proofs.
//!
//! ```text
//!   reap children -> empty? done
//!        ^              | no
//!        |              v
//!   wait for an exit <- round: cgroup.kill; then, for processes that left the cgroup
//!   (or a short time)          or in a pen without a cgroup, KILL to every descendant
//! ```
//! One round is not enough: a process may fork while it is being looked for, and even
//! `cgroup.kill` has been seen to miss a process that keeps forking and exiting.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use kennel_types::Survivor;
use rustix::process::Signal;

use crate::pen::{Pen, Woken};
use crate::process::survivor;
use crate::subtree;

/// The result of ending a pen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum EndOutcome {
    /// No process is left, by both proofs.
    Empty,
    /// The deadline passed. The pen still owns these processes.
    StillAlive(Vec<Survivor>),
}

/// The first pause between two rounds. It doubles …
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// … up to this. Each child that exits ends the pause.
const LAST_PAUSE: Duration = Duration::from_millis(50);
/// A tree that does not fork is gone after this many rounds.
const QUIET_TREE: u32 = 2;
/// How long it may take to stop every process of a tree that keeps the machine busy.
const FREEZE_TIMEOUT: Duration = Duration::from_secs(2);
/// After this many rounds on a cgroup that stays populated, processes may have left it.
const CGROUP_ALONE: u32 = 4;

impl Pen {
    /// Kills every process until the pen is empty or the deadline passes, at least once.
    ///
    /// # Errors
    /// A listing or a kill failed in an unexpected way. The pen still owns its processes.
    pub fn end(&mut self, deadline: Instant) -> io::Result<EndOutcome> {
        let mut pause = FIRST_PAUSE;
        let mut first = true;
        loop {
            if self.is_empty()? {
                return Ok(EndOutcome::Empty);
            }
            if !first && Instant::now() >= deadline {
                return Ok(EndOutcome::StillAlive(self.survivors()?));
            }
            first = false;
            if self.kill_rounds == 0 {
                self.note_oom_kills();
            }
            let new = self.kill_round(self.kill_rounds)?;
            self.kill_rounds = self.kill_rounds.saturating_add(1);
            // New processes must be killed at once. Others need time to exit.
            pause = if new { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
            self.await_progress(deadline.min(Instant::now() + pause))?;
        }
    }

    /// One round of KILL. Returns whether it is known to have reached new processes.
    fn kill_round(&mut self, earlier: u32) -> io::Result<bool> {
        if let Some(init) = self.namespace {
            init.signal_others(Signal::KILL)?;
            return Ok(false);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill()?;
            if earlier < CGROUP_ALONE && cgroup.populated()? {
                return Ok(false);
            }
        }
        if earlier >= QUIET_TREE {
            // These processes fork faster than they are found. A stopped process does not fork, and
            // an orphan of a dead parent is already stopped when it is reparented.
            self.signal_until_none_is_new(Signal::STOP, FREEZE_TIMEOUT)?;
        }
        let round = subtree::signal(Signal::KILL, &HashSet::new(), &self.others, None)?;
        let new = round.sent.iter().any(|mark| !self.killed.contains(mark));
        self.killed = round.sent.into_iter().collect();
        self.refused = round.refused;
        Ok(new)
    }

    /// Reaps until the pen is empty or `until`. A process that is exiting on another core takes
    /// time, and another round would only slow it down.
    fn await_progress(&mut self, until: Instant) -> io::Result<()> {
        loop {
            let late = Instant::now() >= until;
            if self.is_empty()? || late || self.wait(Some(until), &[])? == Woken::Deadline {
                return Ok(());
            }
        }
    }

    /// Returns the processes that are left, and why.
    pub fn survivors(&self) -> io::Result<Vec<Survivor>> {
        Ok(self.pids()?.into_iter().filter_map(|pid| survivor(pid, &self.refused)).collect())
    }
}
