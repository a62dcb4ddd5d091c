//! The notes that agents write about themselves, independent of Kennel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The notes of all launches of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Witness {
    /// The launches.
    pub(crate) launches: BTreeMap<String, LaunchNotes>,
    /// Launches that ran at the same time as another one.
    pub(crate) collisions: Vec<String>,
    /// Whether the agent left changes in its worktree.
    pub(crate) dirty: bool,
}

/// The notes of one launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LaunchNotes {
    /// How often it started.
    pub(crate) starts: u32,
    /// The code with which it was about to exit by itself.
    pub(crate) end: Option<u8>,
}

impl Witness {
    /// Parses a log. Ignores the lines of descendants, which note their own end too.
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

    /// Reads the notes of the session with this name.
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
    fn ignores_the_end_of_a_descendant() {
        let witness = Witness::parse("start 5 a\nend 6 9\nend 5 3\nstart 7 a_2\nend 8 0\n");
        assert_eq!(witness.launches["a"], LaunchNotes { starts: 1, end: Some(3) });
        assert_eq!(witness.launches["a_2"], LaunchNotes { starts: 1, end: None });
    }

    #[test]
    fn records_two_launches_at_the_same_time() {
        let witness = Witness::parse("start 5 a\nCOLLISION 6 a_2\nstart 9 a\n");
        assert_eq!(witness.collisions, ["a_2"]);
        assert_eq!(witness.launches["a"].starts, 2);
    }
}
