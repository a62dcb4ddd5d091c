//! The note of a keeper in the file of its lock, for a daemon that has no other record.
//!
//! The register may lack it: records that are not durable are written a moment later, and the daemon may die before.

use std::io;
use std::path::{Path, PathBuf};

use kennel_sys::identity::{Birth, ProcessIdentity};

use crate::keeper::lock::LOCK;

/// How the first line of a note begins.
const KEEPER: &str = "keeper ";

/// What a keeper has noted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeeperNote {
    /// The agent, once there is one.
    pub(crate) agent: Option<ProcessIdentity>,
    /// Its pen, once there is one.
    pub(crate) pen: Option<NotedPen>,
}

/// A pen in a keeper's note.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotedPen {
    /// Only the subtree.
    Subtree,
    /// With this cgroup.
    Cgroup(PathBuf),
}

impl KeeperNote {
    /// Reads the note; none if the keeper has not written one.
    pub(crate) fn read(folder: &Path) -> io::Result<Option<Self>> {
        match std::fs::read_to_string(folder.join(LOCK)) {
            Ok(text) if text.lines().any(|line| line.starts_with(KEEPER)) => {
                Ok(Some(Self::parse(&text)))
            }
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Self {
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let pen = line("pen ").map(|pen| match pen {
            "subtree" => NotedPen::Subtree,
            path => NotedPen::Cgroup(path.into()),
        });
        Self { agent: line("agent ").and_then(parse_agent), pen }
    }
}

/// `PID inode|tick NUMBER boot ID namespace NUMBER`.
fn parse_agent(text: &str) -> Option<ProcessIdentity> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [pid, kind, birth, "boot", boot, "namespace", namespace] = words[..] else { return None };
    let birth = birth.parse().ok()?;
    Some(ProcessIdentity {
        boot: boot.to_owned(),
        pid_namespace: namespace.parse().ok()?,
        pid: pid.parse().ok()?,
        birth: match kind {
            "inode" => Birth::Inode(birth),
            "tick" => Birth::Tick(birth),
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_note_as_far_as_it_was_written() {
        let whole = "keeper 7\nagent 8 inode 99 boot b-1 namespace 5\npen /sys/fs/cgroup/x\n";
        let agent = ProcessIdentity {
            boot: "b-1".into(),
            pid_namespace: 5,
            pid: 8,
            birth: Birth::Inode(99),
        };
        let pen = Some(NotedPen::Cgroup("/sys/fs/cgroup/x".into()));
        assert_eq!(KeeperNote::parse(whole), KeeperNote { agent: Some(agent), pen });
        assert_eq!(KeeperNote::parse("keeper 7\n"), KeeperNote::default());
        assert_eq!(KeeperNote::parse("agent 8 inode\npen subtree").agent, None);
        assert_eq!(KeeperNote::parse("pen subtree").pen, Some(NotedPen::Subtree));
    }

    #[test]
    fn a_lock_without_a_keepers_lines_has_no_note() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(KeeperNote::read(folder.path()).unwrap(), None);
        let lock = folder.path().join(LOCK);
        std::fs::write(&lock, "yard b-1 5 6 inode 7\nfile 8\n").unwrap();
        assert_eq!(KeeperNote::read(folder.path()).unwrap(), None, "no line of a keeper");
        std::fs::write(&lock, "yard b-1 5 6 inode 7\nfile 8\nkeeper 9\n").unwrap();
        assert_eq!(KeeperNote::read(folder.path()).unwrap(), Some(KeeperNote::default()));
    }
}
