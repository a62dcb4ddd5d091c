//! What agents noted of themselves, without a word from Kennel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What the launches of one session noted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Witness {
    /// The launches, each with how often it began and with which code it came to its end.
    pub(crate) launches: BTreeMap<String, Noted>,
    /// Launches that found another one there.
    pub(crate) collisions: Vec<String>,
    /// Whether something of value was left in its worktree.
    pub(crate) dirty: bool,
}

/// What a launch noted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    /// How often it began.
    pub(crate) starts: u32,
    /// The code with which it was about to end by itself.
    pub(crate) end: Option<u8>,
}

impl Witness {
    /// Reads it from its log. Lines of descendants, which note their own end as well, don't count.
    pub(crate) fn parse(log: &str) -> Self {
        let mut witness = Self::default();
        let mut launch_of: BTreeMap<&str, &str> = BTreeMap::new();
        for line in log.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["start", pid, launch] => {
                    launch_of.insert(pid, launch);
                    witness.launches.entry(launch.to_owned()).or_default().starts += 1;
                }
                ["end", pid, code] => {
                    if let Some(launch) = launch_of.get(pid) {
                        let noted = witness.launches.entry((*launch).to_owned()).or_default();
                        noted.end = code.parse().ok();
                    }
                }
                ["COLLISION", _, launch] => witness.collisions.push(launch.to_owned()),
                _ => {}
            }
        }
        witness
    }

    /// Reads that of the session of this name.
    pub(crate) fn read(folder: &Path, name: &str) -> Self {
        let log = fs::read_to_string(folder.join(format!("{name}.log"))).unwrap_or_default();
        let dirty = folder.join(format!("{name}.dirty")).exists();
        Self { dirty, ..Self::parse(&log) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_descendant_is_not_the_agents() {
        let witness = Witness::parse("start 5 a\nend 6 9\nend 5 3\nstart 7 a_2\nend 8 0\n");
        assert_eq!(witness.launches["a"], Noted { starts: 1, end: Some(3) });
        assert_eq!(witness.launches["a_2"], Noted { starts: 1, end: None });
    }

    #[test]
    fn two_at_once_are_seen() {
        let witness = Witness::parse("start 5 a\nCOLLISION 6 a_2\nstart 9 a\n");
        assert_eq!(witness.collisions, ["a_2"]);
        assert_eq!(witness.launches["a"].starts, 2);
    }
}
