//! What an agent does, and how it is expected to end.

use fastrand::Rng;

use crate::random::weighted;

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentJob {
    /// Prints numbered lines and exits with a code; may leave a daemon behind.
    Ends { lines: u32, pause_ms: u32, code: u8, daemon: bool },
    /// Prints numbered lines until it is ended.
    Works { daemon: bool },
    /// Starts children that call `setsid`.
    Setsid(u32),
    /// Starts a chain of descendants that call `setsid`.
    Chain(u32),
    /// Ignores TERM, as do two of its children.
    IgnoresTerm,
    /// Exits with 3 and leaves a child that ignores TERM.
    LeavesIgnorer,
    /// Stops itself with SIGSTOP.
    StopsItself,
    /// Ends itself with a signal.
    DiesBy(i32),
    /// Prints much output and exits with 0.
    Floods { kilobytes: u32 },
    /// Kills its keeper.
    KillsParent,
    /// Copies its input to its output.
    Echoes,
    /// Starts daemons in quick succession and exits with 0.
    Storms(u32),
    /// Forks and exits, generation after generation.
    Hops,
    /// Ends its first thread; another thread continues.
    LeaderExits,
    /// Its program does not exist.
    Missing,
}

/// How a job ends without interference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedEnd {
    /// Only when it is ended.
    Never,
    /// With this exit code.
    Code(u8),
    /// By this signal.
    Signal(i32),
    /// It never starts.
    NoProgram,
}

impl AgentJob {
    /// Draws a job.
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

    /// Returns how it ends without interference.
    pub(crate) fn end(self) -> ExpectedEnd {
        match self {
            Self::Ends { code, .. } => ExpectedEnd::Code(code),
            Self::LeavesIgnorer => ExpectedEnd::Code(3),
            Self::Floods { .. } | Self::Storms(_) | Self::Hops => ExpectedEnd::Code(0),
            Self::DiesBy(signal) => ExpectedEnd::Signal(signal),
            Self::Missing => ExpectedEnd::NoProgram,
            Self::Works { .. }
            | Self::Setsid(_)
            | Self::Chain(_)
            | Self::IgnoresTerm
            | Self::StopsItself
            | Self::KillsParent
            | Self::Echoes
            | Self::LeaderExits => ExpectedEnd::Never,
        }
    }

    /// Returns how many numbered lines it prints; `None` if it prints other output.
    pub(crate) fn lines(self) -> Option<u32> {
        match self {
            Self::Ends { lines, .. } => Some(lines),
            Self::Works { .. } => Some(u32::MAX),
            _ => None,
        }
    }

    /// Returns the arguments of the fake agent, after `alone`.
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
