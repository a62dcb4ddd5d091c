//! How much of the suite runs.

use std::fmt;
use std::process::Command;

use crate::agents::Agent;
use crate::cargo::workspace;

/// The number of slices. Together they contain every combination: twelve of victims and pens in the
/// crash walk, times one point in twelve that is walked as another user; four environments; two
/// sizes of screen, two themes, and half of the accessibility checks; four real agents in two
/// uses.
const SLICES: usize = 144;

/// The arguments of `cargo xtask test`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestRequest {
    /// `None` stands for the slice of the commit.
    pub(crate) scope: Option<Scope>,
    pub(crate) filter: Option<String>,
}

/// How much of the suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every test, in the combinations of one slice: see `testing/harness/src/slice.rs`.
    Slice(usize),
    /// Every test in all combinations, long explorations, a long torture test, and every benchmark.
    Full,
}

impl TestRequest {
    /// Parses the arguments; `None` if they are wrong.
    pub(crate) fn parse(arguments: &[&str]) -> Option<Self> {
        let (scope, rest) = match arguments {
            ["--full", rest @ ..] => (Some(Scope::Full), rest),
            ["--slice", number, rest @ ..] => (Some(Scope::Slice(number.parse().ok()?)), rest),
            rest => (None, rest),
        };
        let filter = match rest {
            [] => None,
            [filter] if !filter.starts_with('-') => Some((*filter).to_owned()),
            _ => return None,
        };
        Some(Self { scope, filter })
    }
}

impl Scope {
    /// The slice of the commit that is checked out, so that the slices rotate from commit to
    /// commit.
    pub(crate) fn of_commit() -> Self {
        let git = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(workspace()).output();
        let hash = git.map(|output| output.stdout).unwrap_or_default();
        Self::of_hash(&String::from_utf8_lossy(&hash))
    }

    fn of_hash(hash: &str) -> Self {
        let digits = hash.get(..8).and_then(|digits| usize::from_str_radix(digits, 16).ok());
        // Sources without git have no hash: any slice is fine.
        Self::Slice(digits.unwrap_or_default() % SLICES)
    }

    /// Passes the slice to the tests.
    pub(crate) fn limit(self, command: &mut Command) {
        match self {
            Scope::Slice(slice) => {
                let agents = self.agents().iter().map(|agent| agent.name()).collect::<String>();
                command.env("KENNEL_TEST_SLICE", slice.to_string());
                command.env("KENNEL_TEST_AGENT", agents)
            }
            Scope::Full => command.env_remove("KENNEL_TEST_SLICE").env_remove("KENNEL_TEST_AGENT"),
        };
    }

    /// How many slots for tests a core has. A test takes one or several: see
    /// `.config/nextest.toml`. All combinations have more tests that keep the machine busy.
    pub(crate) fn slots(self) -> usize {
        match self {
            Scope::Slice(_) => 8,
            Scope::Full => 6,
        }
    }

    /// The real agents that the tests drive.
    pub(crate) fn agents(self) -> &'static [Agent] {
        match self {
            Scope::Slice(slice) => std::slice::from_ref(&Agent::ALL[slice % Agent::ALL.len()]),
            Scope::Full => &Agent::ALL,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Slice(slice) => write!(
                f,
                "slice {slice} of {SLICES}; to repeat: cargo xtask test --slice {slice}; \
                 for all combinations: cargo xtask test --full"
            ),
            Scope::Full => f.write_str("all combinations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_scope_and_filter() {
        let parse = |line: &str| TestRequest::parse(&line.split_whitespace().collect::<Vec<_>>());
        let request = |scope, filter: Option<&str>| {
            Some(TestRequest { scope, filter: filter.map(str::to_owned) })
        };
        assert_eq!(parse(""), request(None, None));
        assert_eq!(parse("--full"), request(Some(Scope::Full), None));
        assert_eq!(parse("--slice 7 pty"), request(Some(Scope::Slice(7)), Some("pty")));
        assert_eq!(parse("pty"), request(None, Some("pty")));
        assert_eq!(parse("--slice x"), None);
        assert_eq!(parse("--fast"), None);
        assert_eq!(parse("a b"), None);
    }

    #[test]
    fn derives_the_slice_from_the_hash() {
        assert_eq!(Scope::of_hash("000000920000"), Scope::Slice(2));
        assert_eq!(Scope::of_hash(""), Scope::Slice(0));
    }
}
