//! A short summary that distinguishes two states of a session: hashing is most of the work.

use std::hash::{Hash, Hasher};

use kennel_core::{DesiredState, Session, Underway};
use kennel_types::{Exit, Phase, ReadyState, Reason, RelaunchState};

/// The parts of a session that distinguish two states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionSummary {
    phase: Phase,
    /// The grace of a stop, in milliseconds.
    grace: Option<u32>,
    recorded: bool,
    keeper_ready: bool,
    granted: bool,
    known: bool,
    reason: Option<(std::mem::Discriminant<Reason>, u8)>,
    exit: Option<(std::mem::Discriminant<Exit>, i32)>,
    owed: usize,
    failures: u32,
    survivors: usize,
    lost: bool,
    ready: ReadyState,
    relaunch: RelaunchState,
    kept: usize,
    underway: Underway,
}

impl SessionSummary {
    pub(crate) fn of(session: &Session) -> Self {
        let number = |exit: &Exit| match exit {
            Exit::Code { code } => *code,
            Exit::Signal { signal, .. } => *signal,
            Exit::NeverRan | Exit::Unknown { .. } => 0,
        };
        let code = |reason: &Reason| {
            if let Reason::Failed { code, .. } = reason { u8::from(*code) } else { 0 }
        };
        Self {
            phase: session.phase,
            grace: match session.wanted {
                DesiredState::Running => None,
                DesiredState::Stopped { grace } => Some(u32::try_from(grace.as_millis()).unwrap()),
            },
            recorded: session.launch.recorded,
            keeper_ready: session.launch.keeper_ready,
            granted: session.launch.granted,
            known: session.launch.identity.is_some(),
            reason: session.reason.as_ref().map(|it| (std::mem::discriminant(it), code(it))),
            exit: session.exit.as_ref().map(|it| (std::mem::discriminant(it), number(it))),
            owed: session.owed.len(),
            failures: session.owed.iter().map(|owed| owed.failures).sum(),
            survivors: session.survivors.len(),
            lost: session.lost.is_some(),
            ready: session.ready,
            relaunch: session.relaunch.clone(),
            kept: session.kept.len(),
            underway: session.underway.clone(),
        }
    }
}

/// Returns a hash of a state. Among some millions of states a collision is very unlikely.
pub(crate) fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = FastHasher(0);
    state.hash(&mut hasher);
    hasher.finish()
}

/// A fast hasher. No attacker chooses the keys, so it can be simple.
pub(crate) struct FastHasher(pub(crate) u64);

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
