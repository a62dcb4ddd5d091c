//! Removing what a session leaves when its tree is gone.

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

/// Removes it; may be done again. Blocks on the disk.
pub(crate) fn clean_up(what: OwedKind, folder: &Path, name: &PenName) -> Event {
    point("daemon.clean_up.begun");
    let removed = match &what {
        OwedKind::RuntimeFiles => remove_runtime_files(folder),
        OwedKind::PenFolder { path } => remove_pen(&PathBuf::from(path), name),
        // That needs git, and is done elsewhere.
        OwedKind::Worktree { .. } => Err(io::Error::other("not a file or folder of the session")),
    };
    point("daemon.clean_up.done");
    match removed {
        Ok(()) => Event::CleanedUp { what },
        Err(error) => Event::CleanUpFailed { what, why: error.to_string() },
    }
}

fn remove_runtime_files(folder: &Path) -> io::Result<()> {
    // The lock stays, free for good, as long as the folder: some file systems take the longer to make a file the
    // more were removed in the last minutes.
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
        Claim::Held => Err(io::Error::other("its keeper still holds its cgroup")),
        Claim::Ours(leftover) => match leftover.end(Instant::now() + CGROUP)? {
            LeftoverEnd::Removed => Ok(()),
            LeftoverEnd::StillAlive(pids) => {
                Err(io::Error::other(format!("{} processes are in its cgroup", pids.len())))
            }
        },
    }
}

/// Removes a session's folder with all that is in it; one that is gone is as good.
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
    fn files_are_removed_whether_or_not_they_are_there_and_output_stays() {
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
    fn what_cant_be_removed_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(KEEPER_SOCKET).join("x")).unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let failed = clean_up(OwedKind::RuntimeFiles, folder.path(), &name);
        let Event::CleanUpFailed { why, .. } = failed else { panic!("{failed:?}") };
        assert!(why.contains(KEEPER_SOCKET), "{why}");
    }

    #[test]
    fn a_pen_of_another_name_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let name = PenName::random(kennel_pen::HomeId::random().unwrap()).unwrap();
        let path = folder.path().display().to_string();
        let failed = clean_up(OwedKind::PenFolder { path }, folder.path(), &name);
        assert!(matches!(failed, Event::CleanUpFailed { .. }), "{failed:?}");
        assert!(folder.path().exists());
    }
}
