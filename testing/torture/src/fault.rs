//! What the tormentor does next.

use fastrand::Rng;

use crate::draw::{in_a_hundred, weighted};

/// One blow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Torment {
    pub(crate) blow: Blow,
    /// The pause after it.
    pub(crate) pause_ms: u32,
}

/// Whom it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Daemon,
    Yard,
    /// One of the keepers.
    Keeper(u32),
    /// A keeper without a session.
    Spare(u32),
    /// One of an agent's processes.
    Agent(u32),
    /// A git at work.
    Git(u32),
}

/// What it lacks: calls fail for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// No descriptor can be had.
    Descriptors,
    /// No process and no thread can be had, but by root.
    Processes,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Blow {
    /// All of them at one moment.
    Kill(Vec<Victim>),
    /// It stands still for so long.
    Pause(Victim, u32),
    /// It lacks something for so long.
    Starve(Victim, Lack, u32),
    /// There is no room on the disk for so long.
    FillDisk(u32),
    /// Whoever comes to this of the named points stands still for so long at most, and is killed or goes on.
    Hold { point: u32, at_most_ms: u32, kill: bool },
    /// Every call of this one of the named kinds fails for so long, in this one of some ways.
    Fail { call: u32, errno: u32, ms: u32 },
    /// A process of an agent is killed, and a stranger gets its number.
    Renumber(u32),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Kill,
    Pause,
    Starve,
    FillDisk,
    Hold,
    Fail,
    Renumber,
}

impl Torment {
    /// Draws one.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let kinds = [
            (30, Kind::Kill),
            (20, Kind::Pause),
            (8, Kind::Starve),
            (7, Kind::FillDisk),
            (30, Kind::Hold),
            (10, Kind::Fail),
            (8, Kind::Renumber),
        ];
        let blow = match weighted(rng, &kinds) {
            Kind::Kill => Blow::Kill(victims(rng)),
            Kind::Pause => Blow::Pause(victim(rng), rng.u32(5..1200)),
            Kind::Starve => {
                let lack = weighted(rng, &[(3, Lack::Descriptors), (1, Lack::Processes)]);
                Blow::Starve(starvable(rng), lack, rng.u32(50..800))
            }
            Kind::FillDisk => Blow::FillDisk(rng.u32(50..1000)),
            Kind::Hold => Blow::Hold {
                point: rng.u32(..),
                at_most_ms: rng.u32(30..400),
                kill: in_a_hundred(rng, 60),
            },
            Kind::Fail => {
                Blow::Fail { call: rng.u32(..), errno: rng.u32(..), ms: rng.u32(20..400) }
            }
            Kind::Renumber => Blow::Renumber(rng.u32(..)),
        };
        Self { blow, pause_ms: rng.u32(5..250) }
    }
}

fn victim(rng: &mut Rng) -> Victim {
    let which = rng.u32(..);
    let victims = [
        (5, Victim::Daemon),
        (2, Victim::Yard),
        (5, Victim::Keeper(which)),
        (1, Victim::Spare(which)),
        (4, Victim::Agent(which)),
        (2, Victim::Git(which)),
    ];
    weighted(rng, &victims)
}

fn starvable(rng: &mut Rng) -> Victim {
    let which = rng.u32(..);
    weighted(rng, &[(4, Victim::Daemon), (2, Victim::Yard), (3, Victim::Keeper(which))])
}

/// Mostly one; sometimes those who would look after each other.
fn victims(rng: &mut Rng) -> Vec<Victim> {
    let which = rng.u32(..);
    match rng.u32(..10) {
        0 => vec![Victim::Daemon, Victim::Keeper(which)],
        1 => vec![Victim::Daemon, Victim::Yard],
        2 if rng.bool() => vec![Victim::Yard, Victim::Keeper(which)],
        2 => vec![Victim::Daemon, Victim::Yard, Victim::Keeper(which)],
        _ => vec![victim(rng)],
    }
}

impl Blow {
    /// Its name, for the tally.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kill(victims) => match victims[..] {
                [Victim::Daemon] => "daemon killed",
                [Victim::Yard] => "yard killed",
                [Victim::Keeper(_)] => "keeper killed",
                [Victim::Spare(_)] => "spare killed",
                [Victim::Agent(_)] => "agent killed",
                [Victim::Git(_)] => "git killed",
                _ => "several killed at once",
            },
            Self::Pause(..) => "paused",
            Self::Starve(_, Lack::Descriptors, _) => "out of descriptors",
            Self::Starve(_, Lack::Processes, _) => "out of processes",
            Self::FillDisk(_) => "disk filled",
            Self::Hold { kill: true, .. } => "killed at a point",
            Self::Hold { kill: false, .. } => "held at a point",
            Self::Fail { .. } => "calls failed",
            Self::Renumber(_) => "number taken by a stranger",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Drawer, dice};
    use std::collections::BTreeSet;

    #[test]
    fn every_blow_is_drawn_and_a_seed_is_a_plan() {
        let plan = |seed| {
            let mut rng = dice(seed, 0, Drawer::Tormentor);
            (0..1000).map(|_| Torment::draw(&mut rng)).collect::<Vec<_>>()
        };
        let names: BTreeSet<_> = plan(1).iter().map(|torment| torment.blow.name()).collect();
        assert_eq!(names.len(), 15, "{names:?}");
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
    }
}
