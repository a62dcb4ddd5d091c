//! Ending a pen: KILL to everyone in it, again and again, until both proofs say that nobody is left.
//!
//! ```text
//!   reap what has ended -> nobody left? done
//!        ^                      | no
//!        |                      v
//!   wait for an end  <-  strike: cgroup.kill; then, for those who left the cgroup
//!   (or a short while)          or if there is none, every descendant
//! ```
//! One strike is never enough by design: a process may fork while it is being looked for, and even
//! `cgroup.kill` has been seen to miss one that keeps forking and exiting.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::pen::{Pen, Woken};
use crate::process::Survivor;
use crate::subtree;

/// What came of ending a pen.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum EndOutcome {
    /// Nobody is left: all were reaped, by both proofs.
    Empty,
    /// The deadline passed. The pen is still owned; these are left.
    StillAlive(Vec<Survivor>),
}

/// The pause between two strikes grows from this …
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// … to this. Between them we wake at every child that ends.
const LAST_PAUSE: Duration = Duration::from_millis(50);
/// A tree that does not fork is gone after so many strikes.
const QUIET_TREE: u32 = 2;
/// How long standing still may take to spread, on a machine that the tree keeps busy.
const FREEZE: Duration = Duration::from_secs(2);
/// A cgroup that stays populated after so many strikes may have members that left it meanwhile.
const CGROUP_ALONE: u32 = 4;

/// Whom a strike has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StrikeResult {
    /// Some that the strike before had not.
    NewOnes,
    /// Nobody new, as far as we know.
    SameOnes,
}

impl Pen {
    /// Kills everyone in the pen until nobody is left or the deadline passes. Strikes at least once.
    ///
    /// # Errors
    /// A listing or a kill failed in an unexpected way. The pen is still owned.
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
            if self.strikes == 0 {
                self.note_oom_kills();
            }
            let hit = self.strike(self.strikes)?;
            self.strikes = self.strikes.saturating_add(1);
            // As long as new ones come up there is no time to lose; the same ones again need time to die.
            pause = if hit == StrikeResult::NewOnes {
                FIRST_PAUSE
            } else {
                (pause * 2).min(LAST_PAUSE)
            };
            self.await_progress(deadline.min(Instant::now() + pause))?;
        }
    }

    /// One round of KILL.
    fn strike(&mut self, earlier: u32) -> io::Result<StrikeResult> {
        if let Some(init) = self.namespace {
            init.signal_others(Signal::KILL)?;
            return Ok(StrikeResult::SameOnes);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill()?;
            if earlier < CGROUP_ALONE && cgroup.populated()? {
                return Ok(StrikeResult::SameOnes);
            }
        }
        if earlier >= QUIET_TREE {
            // They fork faster than we look. One that stands still does not fork; and who falls to us
            // from a dead parent meanwhile stands still already.
            self.signal_until_none_is_new(Signal::STOP, FREEZE)?;
        }
        let round = subtree::signal(Signal::KILL, &HashSet::new(), &self.strangers, None)?;
        let new = round.sent.iter().any(|mark| !self.struck.contains(mark));
        self.struck = round.sent.into_iter().collect();
        self.refused = round.refused;
        Ok(if new { StrikeResult::NewOnes } else { StrikeResult::SameOnes })
    }

    /// Reaps until the pen is empty or `until`: what is dying on another core takes its time, and
    /// striking at it again would only slow it down.
    fn await_progress(&mut self, until: Instant) -> io::Result<()> {
        loop {
            let late = Instant::now() >= until;
            if self.is_empty()? || late || self.wait(Some(until), &[])? == Woken::Deadline {
                return Ok(());
            }
        }
    }

    /// Who is left and why.
    ///
    /// # Errors
    /// The listing failed.
    pub fn survivors(&self) -> io::Result<Vec<Survivor>> {
        Ok(self.pids()?.into_iter().filter_map(|pid| Survivor::look(pid, &self.refused)).collect())
    }
}
