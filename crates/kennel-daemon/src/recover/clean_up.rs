//! Removing what a session leaves when its process tree is gone.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::KEEPER_SOCKET;
use kennel_keeper::fault::point;
use kennel_pen::{Claim, Leftover, LeftoverEnd, PenName};
use kennel_types::OwedKind;

use crate::os::home::TOKEN_FILE;

/// How long a cgroup that should be empty may take to be removed.
const CGROUP: Duration = Duration::from_secs(2);

/// Removes one thing that is owed; may be repeated. Blocks on the disk.
pub(crate) fn clean_up(what: OwedKind, folder: &Path, name: &PenName) -> Event {
    point("daemon.clean_up.begun");
    let removed = match &what {
        OwedKind::RuntimeFiles => remove_runtime_files(folder),
        OwedKind::PenFolder { path } => remove_pen(&PathBuf::from(path), name),
        // That needs git: see `worktree`.
        OwedKind::Worktree { .. } => Err(io::Error::other("not a file or folder of the session")),
    };
    point("daemon.clean_up.done");
    match removed {
        Ok(()) => Event::CleanedUp { what },
        Err(error) => Event::CleanUpFailed { what, why: error.to_string() },
    }
}

fn remove_runtime_files(folder: &Path) -> io::Result<()> {
    // The lock stays as long as the folder: on some file systems it takes longer to create a file the more files were
    // removed in the last minutes.
    for name in [KEEPER_SOCKET, TOKEN_FILE] {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let text = format!("{}: {error}", path.display());
                return Err(io::Error::new(error.kind(), text));
            }
            _ => point("daemon.clean_up.file_removed"),
        }
    }
    Ok(())
}

fn remove_pen(path: &Path, name: &PenName) -> io::Result<()> {
    match Leftover::claim_path(path, name).map_err(io::Error::other)? {
        Claim::Gone => Ok(()),
        Claim::Held => Err(io::Error::other("its keeper still holds the cgroup")),
        Claim::Ours(leftover) => match leftover.end(Instant::now() + CGROUP)? {
            LeftoverEnd::Removed => Ok(()),
            LeftoverEnd::StillAlive(pids) => {
                Err(io::Error::other(format!("{} processes are left in its cgroup", pids.len())))
            }
        },
    }
}

/// Removes a session's folder with its contents. A folder that does not exist is not an error.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_files_that_exist_and_keeps_the_output() {
        let folder = tempfile::tempdir().unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        for file in [KEEPER_SOCKET, TOKEN_FILE, "lock", "outcome"] {
            std::fs::write(folder.path().join(file), "x").unwrap();
        }
        for _ in 0..2 {
            let done = clean_up(OwedKind::RuntimeFiles, folder.path(), &name);
            assert_eq!(done, Event::CleanedUp { what: OwedKind::RuntimeFiles });
        }
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn names_what_it_cant_remove() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(KEEPER_SOCKET).join("x")).unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let failed = clean_up(OwedKind::RuntimeFiles, folder.path(), &name);
        let Event::CleanUpFailed { why, .. } = failed else { panic!("{failed:?}") };
        assert!(why.contains(KEEPER_SOCKET), "{why}");
    }

    #[test]
    fn leaves_a_pen_with_another_name_alone() {
        let folder = tempfile::tempdir().unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let path = folder.path().display().to_string();
        let failed = clean_up(OwedKind::PenFolder { path }, folder.path(), &name);
        assert!(matches!(failed, Event::CleanUpFailed { .. }), "{failed:?}");
        assert!(folder.path().exists());
    }
}
