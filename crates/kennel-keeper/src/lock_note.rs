//! What a keeper writes into its launch's lock file: the keeper, the agent and its pen.
//!
//! A daemon reads it when the register has no such record: such records are written a moment later,
//! and the daemon may die before. The note shares the lock's file, since another file would have to
//! be created and removed for each session. It is not synced: it is void after a reboot anyway.
//!
//! ```text
//! keeper 4711
//! agent BOOT PID-NAMESPACE 4712 inode 99
//! pen /sys/fs/cgroup/…
//! ```

use std::io;
use std::path::{Path, PathBuf};

use kennel_pen::ProcessIdentity;
use rustix::fd::BorrowedFd;
use rustix::io::Errno;

/// What a keeper wrote.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct KeeperNote {
    /// The agent, once there is one.
    pub agent: Option<ProcessIdentity>,
    /// Its pen, once there is one.
    pub pen: Option<NotedPen>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum NotedPen {
    /// A pen without a cgroup.
    Subtree,
    Cgroup(PathBuf),
}

/// Writes that this process is the keeper.
pub(crate) fn write_keeper(lock: BorrowedFd<'_>) -> io::Result<()> {
    append(lock, &format!("keeper {}\n", rustix::process::getpid().as_raw_pid()))
}

/// Writes which process is the agent, and where its pen is.
pub(crate) fn write_agent(
    lock: BorrowedFd<'_>,
    identity: &ProcessIdentity,
    cgroup: Option<&Path>,
) -> io::Result<()> {
    let pen = cgroup.map_or_else(|| "subtree".into(), Path::to_string_lossy);
    append(lock, &format!("agent {}\npen {pen}\n", identity.to_record()))
}

/// Appends to the file: all writers share one descriptor.
fn append(lock: BorrowedFd<'_>, text: &str) -> io::Result<()> {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match rustix::io::write(lock, left) {
            Ok(written) => left = &left[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl KeeperNote {
    /// Finds the note in the text of a lock's file. Returns `None` if no keeper has written one.
    pub fn parse(text: &str) -> Option<Self> {
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        line("keeper ")?;
        let pen = line("pen ").map(|pen| match pen {
            "subtree" => NotedPen::Subtree,
            path => NotedPen::Cgroup(path.into()),
        });
        Some(Self { agent: line("agent ").and_then(ProcessIdentity::parse), pen })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek};

    use kennel_pen::Birth;
    use rustix::fd::AsFd;

    use super::*;

    fn note_of(text: &str) -> KeeperNote {
        KeeperNote::parse(text).unwrap()
    }

    #[test]
    fn a_note_is_read_as_written() {
        let mut file: File = tempfile::tempfile().unwrap();
        let agent = ProcessIdentity {
            boot: "b-1".into(),
            pid_namespace: 5,
            pid: 8,
            birth: Birth::Inode(99),
        };
        write_keeper(file.as_fd()).unwrap();
        write_agent(file.as_fd(), &agent, Some(Path::new("/sys/fs/cgroup/x"))).unwrap();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let pen = Some(NotedPen::Cgroup("/sys/fs/cgroup/x".into()));
        assert_eq!(note_of(&text), KeeperNote { agent: Some(agent), pen });
    }

    #[test]
    fn an_incomplete_note_is_read_as_far_as_it_goes() {
        assert_eq!(note_of("yard b-1 5 6 inode 7\nfile 8\nkeeper 9\n"), KeeperNote::default());
        assert_eq!(note_of("keeper 7\nagent 8 inode\npen subtree").agent, None);
        assert_eq!(note_of("keeper 7\npen subtree").pen, Some(NotedPen::Subtree));
    }

    #[test]
    fn a_lock_without_a_keeper_has_no_note() {
        assert_eq!(KeeperNote::parse("yard b-1 5 6 inode 7\nfile 8\n"), None);
    }
}
