//! The lock of a launch: every process that could be its keeper holds it open, so a free lock
//! proves that no keeper exists or will exist.
//!
//! The file contains the origin of the launch, written before a keeper is requested. So an empty
//! file proves as much: no keeper was requested in this boot. The keeper adds a note with its own
//! identity and the agent's.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::LazyLock;

pub(crate) use kennel_keeper::lock_note::{KeeperNote, NotedPen};
use kennel_sys::identity::{self, ProcessIdentity};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::os::if_exists;

pub(crate) const LOCK: &str = "lock";

/// Where a launch came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The yard that was asked for the keeper; its boot and pid namespace are the launch's.
    pub(crate) yard: ProcessIdentity,
    /// The first process of that pid namespace, if it could be identified.
    init: Option<ProcessIdentity>,
    /// The inode of the file when it was written: another one means that the folder was copied.
    inode: u64,
}

/// Whether the processes of a lock can still exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// It belongs to this boot and pid namespace.
    Ours,
    /// It belongs to another boot or pid namespace: no process can be left.
    Other,
    /// The folder was copied: its processes belong to another home.
    Copied,
}

#[derive(Debug)]
pub(crate) struct LockState {
    pub(crate) held: bool,
    pub(crate) origin: Option<(Origin, Era)>,
}

/// Creates the lock in a new session's folder, takes it, and writes the origin of the launch.
pub(crate) fn make(folder: &Path, yard: &ProcessIdentity) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(folder.join(LOCK))?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    let inode = file.metadata()?.ino();
    // Without it, only the namespace's number distinguishes it from another.
    static INIT: LazyLock<String> = LazyLock::new(|| {
        identity::init().map(|init| format!("init {}\n", init.to_record())).unwrap_or_default()
    });
    let (yard, init) = (yard.to_record(), &*INIT);
    file.write_all(format!("yard {yard}\n{init}file {inode}\n").as_bytes())?;
    Ok(file)
}

/// Reads the lock in a session's folder; none if there is no file. An error proves nothing.
pub(crate) fn look(folder: &Path) -> io::Result<Option<LockState>> {
    let Some(mut file) = if_exists(File::open(folder.join(LOCK)))? else { return Ok(None) };
    // A shared lock: two readers must not take each other for a keeper.
    let held = match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::AGAIN) => true,
        locked => locked.map(|()| false)?,
    };
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let inode = file.metadata()?.ino();
    let dated = |origin: Origin| era(&origin, inode).map(|era| (origin, era));
    let origin = parse(&text).map(dated).transpose()?;
    Ok(Some(LockState { held, origin }))
}

pub(crate) fn is_held(folder: &Path) -> io::Result<bool> {
    Ok(look(folder)?.is_some_and(|lock| lock.held))
}

/// Reads the keeper's note in the lock of a session's folder, if there is one.
pub(crate) fn read_note(folder: &Path) -> io::Result<Option<KeeperNote>> {
    let text = if_exists(std::fs::read_to_string(folder.join(LOCK)))?;
    Ok(text.and_then(|text| KeeperNote::parse(&text)))
}

fn parse(text: &str) -> Option<Origin> {
    let (yard, rest) = text.strip_prefix("yard ")?.split_once('\n')?;
    let (init, rest) = match rest.strip_prefix("init ") {
        None => (None, rest),
        Some(rest) => {
            let (init, rest) = rest.split_once('\n')?;
            (Some(ProcessIdentity::parse(init)?), rest)
        }
    };
    // A line counts only with its line break. The keeper's lines follow.
    let inode = rest.strip_prefix("file ")?.split_once('\n')?.0.parse().ok()?;
    Some(Origin { yard: ProcessIdentity::parse(yard)?, init, inode })
}

fn era(origin: &Origin, inode: u64) -> io::Result<Era> {
    let yard = &origin.yard;
    if yard.boot != identity::boot_id()? || yard.pid_namespace != identity::pid_namespace()? {
        return Ok(Era::Other);
    }
    if let Some(init) = &origin.init
        && !init.exists()?
    {
        return Ok(Era::Other);
    }
    Ok(if origin.inode == inode { Era::Ours } else { Era::Copied })
}

#[cfg(test)]
mod tests {
    use rustix::fd::AsFd;

    use super::*;

    fn me() -> ProcessIdentity {
        let pid = rustix::process::getpid().as_raw_pid();
        let pidfd = kennel_sys::pidfd::open(pid).unwrap().unwrap();
        ProcessIdentity::new(pidfd.as_fd(), pid).unwrap()
    }

    #[test]
    fn a_lock_is_held_as_long_as_a_process_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        assert!(look(folder.path()).unwrap().is_none());
        let lock = make(folder.path(), &me()).unwrap();
        let heir = lock.try_clone().unwrap();
        drop(lock);
        match look(folder.path()).unwrap() {
            Some(LockState { held: true, origin: Some((origin, Era::Ours)) }) => {
                assert_eq!(origin.yard, me());
            }
            other => panic!("{other:?}"),
        }
        drop(heir);
        assert!(matches!(
            look(folder.path()).unwrap(),
            Some(LockState { held: false, origin: Some((_, Era::Ours)) })
        ));
        assert!(make(folder.path(), &me()).is_err(), "a launch has one lock");
    }

    #[test]
    fn distinguishes_another_boot_another_namespace_and_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let boot = "00000000-0000-0000-0000-000000000000".to_owned();
        let path = folder.path().join(LOCK);
        for yard in [
            ProcessIdentity { boot, ..me() },
            ProcessIdentity { pid_namespace: me().pid_namespace + 1, ..me() },
        ] {
            drop(make(folder.path(), &yard).unwrap());
            let found = look(folder.path()).unwrap();
            assert!(
                matches!(found, Some(LockState { held: false, origin: Some((_, Era::Other)) })),
                "{found:?}"
            );
            std::fs::remove_file(&path).unwrap();
        }
        drop(make(folder.path(), &me()).unwrap());
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        std::fs::copy(folder.path().join("old"), &path).unwrap();
        let found = look(folder.path()).unwrap();
        assert!(
            matches!(found, Some(LockState { held: false, origin: Some((_, Era::Copied)) })),
            "{found:?}"
        );
    }

    #[test]
    fn ignores_a_file_that_was_not_written_completely() {
        let record = me().to_record();
        assert!(parse(&format!("yard {record}\nfile 12\n")).is_some());
        assert!(parse(&format!("yard {record}\ninit {record}\nfile 12\n")).is_some());
        for torn in [
            String::new(),
            format!("yard {record}"),
            format!("yard {record}\nfile 1"),
            format!("yard {record}\ninit {record}\nfile 1"),
            format!("yard {record}\ninit {record}\n"),
        ] {
            assert_eq!(parse(&torn), None, "{torn:?}");
        }
    }

    /// A restarted container may have a pid namespace with the same number.
    #[test]
    fn another_first_process_is_another_era() {
        let folder = tempfile::tempdir().unwrap();
        drop(make(folder.path(), &me()).unwrap());
        let path = folder.path().join(LOCK);
        let text = std::fs::read_to_string(&path).unwrap();
        let init = identity::init().unwrap();
        let former =
            ProcessIdentity { birth: kennel_sys::identity::Birth::Inode(1), ..init.clone() };
        let text = text.replace(&init.to_record(), &former.to_record());
        std::fs::write(&path, text).unwrap();
        let found = look(folder.path()).unwrap();
        assert!(
            matches!(found, Some(LockState { held: false, origin: Some((_, Era::Other)) })),
            "{found:?}"
        );
    }
}
