//! What a session's agent does, and what is known of its end beforehand.

use fastrand::Rng;

use crate::draw::weighted;

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// Prints numbered lines and ends with a code, with a daemon left behind or not.
    Ends { lines: u32, pause_ms: u32, code: u8, daemon: bool },
    /// Prints numbered lines until somebody ends it.
    Works { daemon: bool },
    /// Children in sessions of their own.
    Setsid(u32),
    /// A chain of descendants in sessions of their own.
    Chain(u32),
    /// It and two of its children survive TERM.
    IgnoresTerm,
    /// It exits with 3 and leaves a child that survives TERM.
    LeavesIgnorer,
    /// It stops itself.
    StopsItself,
    /// It ends itself by a signal.
    DiesBy(i32),
    /// Much output, then 0.
    Floods { kilobytes: u32 },
    /// It kills its keeper.
    KillsParent,
    /// It copies its input.
    Echoes,
    /// Daemons in quick succession, then 0.
    Storms(u32),
    /// Each generation forks the next, and exits.
    Hops,
    /// Its first thread ends, another runs on.
    LeaderExits,
    /// Its program is not there.
    Missing,
}

/// How a job ends if nobody interferes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Not before somebody ends it.
    Never,
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
    /// It never begins.
    NoProgram,
}

impl Job {
    /// Draws one.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let ends = Self::Ends {
            lines: rng.u32(0..40),
            pause_ms: rng.u32(0..30),
            code: rng.u8(0..60),
            daemon: rng.bool(),
        };
        let jobs = [
            (30, ends),
            (22, Self::Works { daemon: rng.bool() }),
            (5, Self::Setsid(rng.u32(1..4))),
            (3, Self::Chain(rng.u32(2..6))),
            (4, Self::IgnoresTerm),
            (3, Self::LeavesIgnorer),
            (3, Self::StopsItself),
            (5, Self::DiesBy(rng.choice([6, 9, 11, 15]).unwrap_or(9))),
            (5, Self::Floods { kilobytes: rng.u32(1..400) }),
            (3, Self::KillsParent),
            (5, Self::Echoes),
            (3, Self::Storms(rng.u32(2..6))),
            (2, Self::Hops),
            (3, Self::LeaderExits),
            (4, Self::Missing),
        ];
        weighted(rng, &jobs)
    }

    /// How it ends if nobody interferes.
    pub(crate) fn end(self) -> End {
        match self {
            Self::Ends { code, .. } => End::Code(code),
            Self::LeavesIgnorer => End::Code(3),
            Self::Floods { .. } | Self::Storms(_) | Self::Hops => End::Code(0),
            Self::DiesBy(signal) => End::Signal(signal),
            Self::Missing => End::NoProgram,
            Self::Works { .. }
            | Self::Setsid(_)
            | Self::Chain(_)
            | Self::IgnoresTerm
            | Self::StopsItself
            | Self::KillsParent
            | Self::Echoes
            | Self::LeaderExits => End::Never,
        }
    }

    /// How many numbered lines it prints; none if it prints others.
    pub(crate) fn lines(self) -> Option<u32> {
        match self {
            Self::Ends { lines, .. } => Some(lines),
            Self::Works { .. } => Some(u32::MAX),
            _ => None,
        }
    }

    /// The behaviour of the fake agent, below `alone`.
    pub(crate) fn behaviour(self) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let with = |daemon: bool, behaviour: Vec<String>| {
            let first = if daemon { words(&["with-daemon"]) } else { Vec::new() };
            [first, behaviour].concat()
        };
        match self {
            Self::Ends { lines, pause_ms, code, daemon } => {
                let numbers = [lines.to_string(), pause_ms.to_string(), code.to_string()];
                with(daemon, [words(&["lines"]), numbers.to_vec()].concat())
            }
            Self::Works { daemon } => with(daemon, words(&["lines", "100000", "5", "0"])),
            Self::Setsid(count) => words(&["setsid", &count.to_string()]),
            Self::Chain(count) => words(&["chain-setsid", &count.to_string()]),
            Self::IgnoresTerm => words(&["ignore-term", "2"]),
            Self::LeavesIgnorer => words(&["ignore-term-exit"]),
            Self::StopsItself => words(&["stop-self"]),
            Self::DiesBy(signal) => words(&["signal", &signal.to_string()]),
            Self::Floods { kilobytes } => words(&["flood", &(kilobytes * 1024).to_string(), "64"]),
            Self::KillsParent => words(&["kill-parent"]),
            Self::Echoes => words(&["echo"]),
            Self::Storms(count) => words(&["daemonize-storm", &count.to_string()]),
            Self::Hops => words(&["hop", "0.3"]),
            Self::LeaderExits => words(&["thread-leader-exit"]),
            Self::Missing => Vec::new(),
        }
    }
}
