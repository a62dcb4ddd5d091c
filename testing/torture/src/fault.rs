//! The faults to inject, drawn at random.

use fastrand::Rng;

use crate::random::{chance, weighted};

/// A fault, and the pause that follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultStep {
    pub(crate) fault: InjectedFault,
    pub(crate) pause_ms: u32,
}

/// The process that a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultVictim {
    Daemon,
    Yard,
    /// One of the keepers.
    Keeper(u32),
    /// A keeper without a session.
    Spare(u32),
    /// One of an agent's processes.
    Agent(u32),
    /// A git process.
    Git(u32),
}

/// A resource that runs out, so that system calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    /// No more descriptors.
    Descriptors,
    /// No more processes and threads; does not apply to root.
    Processes,
}

/// A fault. Durations are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// Kills all of them at the same time.
    Kill(Vec<FaultVictim>),
    /// Stops a process for this time.
    Pause(FaultVictim, u32),
    /// Takes a resource from a process for this time.
    Starve(FaultVictim, Shortage, u32),
    /// Fills the disk for this time.
    FillDisk(u32),
    /// Holds a process at a fault point for at most this time, then kills it or lets it continue.
    Hold { point: u32, at_most_ms: u32, kill: bool },
    /// Makes a kind of system call fail with an error for this time.
    Fail { call: u32, errno: u32, ms: u32 },
    /// Kills a process of an agent, and starts a bystander with its pid.
    ReusePid(u32),
}

#[derive(Debug, Clone, Copy)]
enum FaultKind {
    Kill,
    Pause,
    Starve,
    FillDisk,
    Hold,
    Fail,
    ReusePid,
}

impl FaultStep {
    /// Draws a fault.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let kinds = [
            (30, FaultKind::Kill),
            (20, FaultKind::Pause),
            (8, FaultKind::Starve),
            (7, FaultKind::FillDisk),
            (30, FaultKind::Hold),
            (10, FaultKind::Fail),
            (8, FaultKind::ReusePid),
        ];
        let fault = match weighted(rng, &kinds) {
            FaultKind::Kill => InjectedFault::Kill(victims(rng)),
            FaultKind::Pause => InjectedFault::Pause(victim(rng), rng.u32(5..1200)),
            FaultKind::Starve => {
                let shortage =
                    weighted(rng, &[(3, Shortage::Descriptors), (1, Shortage::Processes)]);
                InjectedFault::Starve(starvable(rng), shortage, rng.u32(50..800))
            }
            FaultKind::FillDisk => InjectedFault::FillDisk(rng.u32(50..1000)),
            FaultKind::Hold => InjectedFault::Hold {
                point: rng.u32(..),
                at_most_ms: rng.u32(30..400),
                kill: chance(rng, 60),
            },
            FaultKind::Fail => {
                InjectedFault::Fail { call: rng.u32(..), errno: rng.u32(..), ms: rng.u32(20..400) }
            }
            FaultKind::ReusePid => InjectedFault::ReusePid(rng.u32(..)),
        };
        Self { fault, pause_ms: rng.u32(5..250) }
    }
}

fn victim(rng: &mut Rng) -> FaultVictim {
    let which = rng.u32(..);
    let victims = [
        (5, FaultVictim::Daemon),
        (2, FaultVictim::Yard),
        (5, FaultVictim::Keeper(which)),
        (1, FaultVictim::Spare(which)),
        (4, FaultVictim::Agent(which)),
        (2, FaultVictim::Git(which)),
    ];
    weighted(rng, &victims)
}

fn starvable(rng: &mut Rng) -> FaultVictim {
    let which = rng.u32(..);
    weighted(
        rng,
        &[(4, FaultVictim::Daemon), (2, FaultVictim::Yard), (3, FaultVictim::Keeper(which))],
    )
}

/// Draws the processes to kill: mostly one, sometimes those that would recover each other.
fn victims(rng: &mut Rng) -> Vec<FaultVictim> {
    let which = rng.u32(..);
    match rng.u32(..10) {
        0 => vec![FaultVictim::Daemon, FaultVictim::Keeper(which)],
        1 => vec![FaultVictim::Daemon, FaultVictim::Yard],
        2 if rng.bool() => vec![FaultVictim::Yard, FaultVictim::Keeper(which)],
        2 => vec![FaultVictim::Daemon, FaultVictim::Yard, FaultVictim::Keeper(which)],
        _ => vec![victim(rng)],
    }
}

impl InjectedFault {
    /// The name under which it is counted.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kill(victims) => match victims[..] {
                [FaultVictim::Daemon] => "daemon killed",
                [FaultVictim::Yard] => "yard killed",
                [FaultVictim::Keeper(_)] => "keeper killed",
                [FaultVictim::Spare(_)] => "spare killed",
                [FaultVictim::Agent(_)] => "agent killed",
                [FaultVictim::Git(_)] => "git killed",
                _ => "several killed at once",
            },
            Self::Pause(..) => "paused",
            Self::Starve(_, Shortage::Descriptors, _) => "out of descriptors",
            Self::Starve(_, Shortage::Processes, _) => "out of processes",
            Self::FillDisk(_) => "disk filled",
            Self::Hold { kill: true, .. } => "killed at a point",
            Self::Hold { kill: false, .. } => "held at a point",
            Self::Fail { .. } => "calls failed",
            Self::ReusePid(_) => "pid reused by a bystander",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomStream, random_numbers};
    use std::collections::BTreeSet;

    #[test]
    fn draws_every_fault_and_the_same_seed_draws_the_same() {
        let plan = |seed| {
            let mut rng = random_numbers(seed, 0, RandomStream::Faults);
            (0..1000).map(|_| FaultStep::draw(&mut rng)).collect::<Vec<_>>()
        };
        let names: BTreeSet<_> = plan(1).iter().map(|step| step.fault.name()).collect();
        assert_eq!(names.len(), 15, "{names:?}");
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
    }
}
