//! Whether the machine has the resources for another session. Running sessions are not affected.

use serde::{Deserialize, Serialize};

/// The free resources. `None`: not measured or unlimited, which refuses no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// File descriptors that the daemon can still open.
    pub descriptors: Option<u64>,
    /// Processes and threads.
    pub pids: Option<u64>,
    pub ptys: Option<u64>,
    /// Bytes on the disk of the home.
    pub disk: Option<u64>,
    /// Bytes of available memory.
    pub memory: Option<u64>,
}

/// The resources that must be free. 0: not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Minima {
    pub descriptors: u64,
    pub pids: u64,
    /// Pseudo-terminals, for a session with a terminal.
    pub ptys: u64,
    pub disk: u64,
    pub memory: u64,
}

/// Enough to start a session and still be able to end all others.
impl Default for Minima {
    fn default() -> Self {
        Self { descriptors: 64, pids: 64, ptys: 4, disk: 64 << 20, memory: 64 << 20 }
    }
}

/// The resources that the machine lacks, each with the free and the required amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for another session: {}", .0.join("; "))]
pub struct Shortages(Vec<String>);

/// Formats a size. It is rounded down, so that a shortage never looks sufficient.
fn bytes(number: u64) -> String {
    match number {
        0..1024 => format!("{number} B"),
        1024..0x10_0000 => format!("{} KiB", number >> 10),
        _ => format!("{} MiB", number >> 20),
    }
}

/// Checks the free resources against the minima. Returns those that are short as the error.
pub fn check(measured: &Measured, minima: &Minima, wants_terminal: bool) -> Result<(), Shortages> {
    let ptys = measured.ptys.filter(|_| wants_terminal);
    let count = |number: u64| number.to_string();
    let shortages: Vec<_> = [
        (
            "descriptors are free",
            measured.descriptors,
            minima.descriptors,
            count as fn(u64) -> String,
        ),
        ("processes can be started", measured.pids, minima.pids, count),
        ("terminals are free", ptys, minima.ptys, count),
        ("of disk is free", measured.disk, minima.disk, bytes),
        ("of memory is available", measured.memory, minima.memory, bytes),
    ]
    .into_iter()
    .filter_map(|(what, free, least, show)| {
        let free = free.filter(|free| *free < least)?;
        Some(format!("{} {what}, at least {} required", show(free), show(least)))
    })
    .collect();
    if shortages.is_empty() { Ok(()) } else { Err(Shortages(shortages)) }
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
            Ok(()) => "fine".into(),
            Err(shortages) => shortages.to_string(),
        }
    }

    #[test]
    fn each_shortage_is_reported_with_amount_and_minimum() {
        assert_eq!(message(&PLENTY, true), "fine");
        let short = Measured { descriptors: Some(3), disk: Some(700 << 10), ..PLENTY };
        let expected = "there is no room for another session: 3 descriptors are free, at least \
                        64 required; 700 KiB of disk is free, at least 64 MiB required";
        assert_eq!(message(&short, true), expected);
        let short = Measured { pids: Some(0), memory: Some(5), ..PLENTY };
        let expected = "there is no room for another session: 0 processes can be started, at \
                        least 64 required; 5 B of memory is available, at least 64 MiB required";
        assert_eq!(message(&short, false), expected);
    }

    #[test]
    fn the_minimum_itself_is_enough() {
        let least = Minima::default();
        let measured = Measured { descriptors: Some(least.descriptors), ..PLENTY };
        assert_eq!(check(&measured, &least, true), Ok(()));
    }

    #[test]
    fn terminals_count_only_for_a_session_with_one() {
        let short = Measured { ptys: Some(0), ..PLENTY };
        assert_eq!(message(&short, false), "fine");
        assert!(message(&short, true).ends_with("0 terminals are free, at least 4 required"));
    }

    #[test]
    fn an_unmeasured_or_unchecked_resource_refuses_no_session() {
        assert_eq!(message(&Measured::default(), true), "fine");
        let nothing = Measured {
            descriptors: Some(0),
            pids: Some(0),
            ptys: Some(0),
            disk: Some(0),
            memory: Some(0),
        };
        let unasked = Minima { descriptors: 0, pids: 0, ptys: 0, disk: 0, memory: 0 };
        assert_eq!(check(&nothing, &unasked, true), Ok(()));
    }
}
