//! Whether the machine has room for another session. What runs goes on; only new work is refused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is free. None: it could not be measured, or has no limit, which refuses nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// Descriptors that the daemon may still open.
    pub descriptors: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    /// Pseudo-terminals.
    pub ptys: Option<u64>,
    /// Bytes on the disk of the home.
    pub disk: Option<u64>,
    /// Bytes of memory that are available.
    pub memory: Option<u64>,
}

/// What must be free. 0: it is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Minima {
    /// Descriptors.
    pub descriptors: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Pseudo-terminals, for a session that wants one.
    pub ptys: u64,
    /// Bytes on the disk.
    pub disk: u64,
    /// Bytes of memory.
    pub memory: u64,
}

/// Enough for a session to start, and for Kennel to end all others even then.
impl Default for Minima {
    fn default() -> Self {
        Self { descriptors: 64, pids: 64, ptys: 4, disk: 64 << 20, memory: 64 << 20 }
    }
}

/// Whether there is room.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Headroom {
    /// There is.
    Fine,
    /// There is not.
    Short(Shortages),
}

/// What there is too little of: never nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for another session: {}", listed(.0))]
pub struct Shortages(pub Vec<Shortage>);

/// Too little of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// Of what.
    pub what: Resource,
    /// How much is free.
    pub free: u64,
    /// How much must be.
    pub least: u64,
}

/// What a session needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Descriptors.
    Descriptors,
    /// Processes and threads.
    Pids,
    /// Pseudo-terminals.
    Ptys,
    /// Disk.
    Disk,
    /// Memory.
    Memory,
}

fn listed(shortages: &[Shortage]) -> String {
    shortages.iter().map(Shortage::to_string).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, free, least } = self;
        match what {
            Resource::Descriptors => write!(f, "{free} descriptors are free, {least} must be"),
            Resource::Pids => {
                write!(f, "{free} processes can be started, {least} must be possible")
            }
            Resource::Ptys => write!(f, "{free} terminals are free, {least} must be"),
            Resource::Disk => {
                write!(f, "{} of disk are free, {} must be", bytes(*free), bytes(*least))
            }
            Resource::Memory => {
                write!(f, "{} of memory are available, {} must be", bytes(*free), bytes(*least))
            }
        }
    }
}

/// Rounded down, so that what is short is never shown as enough.
fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} B"),
        1024..0x10_0000 => format!("{} KiB", number >> 10),
        _ => format!("{} MiB", number >> 20),
    }
}

/// Looks at the figures.
pub fn check(measured: &Measured, minima: &Minima, wants_terminal: bool) -> Headroom {
    let ptys = measured.ptys.filter(|_| wants_terminal);
    let shortages: Vec<_> = [
        (Resource::Descriptors, measured.descriptors, minima.descriptors),
        (Resource::Pids, measured.pids, minima.pids),
        (Resource::Ptys, ptys, minima.ptys),
        (Resource::Disk, measured.disk, minima.disk),
        (Resource::Memory, measured.memory, minima.memory),
    ]
    .into_iter()
    .filter_map(|(what, free, least)| {
        let free = free.filter(|free| *free < least)?;
        Some(Shortage { what, free, least })
    })
    .collect();
    if shortages.is_empty() { Headroom::Fine } else { Headroom::Short(Shortages(shortages)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Measured = Measured {
        descriptors: Some(1000),
        pids: Some(1000),
        ptys: Some(1000),
        disk: Some(1 << 40),
        memory: Some(1 << 40),
    };

    fn message(measured: &Measured, wants_terminal: bool) -> String {
        match check(measured, &Minima::default(), wants_terminal) {
            Headroom::Fine => "fine".into(),
            Headroom::Short(shortages) => shortages.to_string(),
        }
    }

    #[test]
    fn each_thing_that_is_short_is_named_with_figure_and_limit() {
        assert_eq!(message(&PLENTY, true), "fine");
        let short = Measured { descriptors: Some(3), disk: Some(700 << 10), ..PLENTY };
        let expected = "there is no room for another session: 3 descriptors are free, 64 must be; \
                        700 KiB of disk are free, 64 MiB must be";
        assert_eq!(message(&short, true), expected);
        let short = Measured { pids: Some(0), memory: Some(5), ..PLENTY };
        let expected = "there is no room for another session: 0 processes can be started, 64 must be \
                        possible; 5 B of memory are available, 64 MiB must be";
        assert_eq!(message(&short, false), expected);
    }

    #[test]
    fn the_limit_itself_is_enough() {
        let least = Minima::default();
        let measured = Measured { descriptors: Some(least.descriptors), ..PLENTY };
        assert_eq!(check(&measured, &least, true), Headroom::Fine);
    }

    #[test]
    fn terminals_count_only_for_those_who_want_one() {
        let short = Measured { ptys: Some(0), ..PLENTY };
        assert_eq!(message(&short, false), "fine");
        assert!(message(&short, true).ends_with("0 terminals are free, 4 must be"));
    }

    #[test]
    fn what_can_not_be_measured_or_is_not_asked_refuses_nobody() {
        assert_eq!(message(&Measured::default(), true), "fine");
        let nothing = Measured {
            descriptors: Some(0),
            pids: Some(0),
            ptys: Some(0),
            disk: Some(0),
            memory: Some(0),
        };
        let unasked = Minima { descriptors: 0, pids: 0, ptys: 0, disk: 0, memory: 0 };
        assert_eq!(check(&nothing, &unasked, true), Headroom::Fine);
    }
}
