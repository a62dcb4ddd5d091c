//! Removing what a session leaves when its process tree is gone.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_core::Event;
use kennel_keeper::KEEPER_SOCKET;
use kennel_keeper::fault::point;
use kennel_pen::{Claim, Leftover, LeftoverEnd, PenName};
use kennel_types::OwedKind;

use crate::os::home::TOKEN_FILE;
use crate::os::if_exists;

/// How long a cgroup that should be empty may take to be removed.
const CGROUP_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between checks whether a dying keeper has released its cgroup.
const PAUSE: Duration = Duration::from_millis(10);

/// Removes one thing that is owed; may be repeated. Blocks on the disk.
pub(crate) fn clean_up(what: OwedKind, folder: &Path, name: &PenName) -> Event {
    point("daemon.clean_up.begun");
    let removed = match &what {
        OwedKind::RuntimeFiles => remove_runtime_files(folder),
        OwedKind::PenFolder { path } => remove_pen(Path::new(path), name),
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
    // The lock stays as long as the folder: on some file systems it takes longer to create a file
    // the more files were removed in the last minutes.
    for name in [KEEPER_SOCKET, TOKEN_FILE] {
        let path = folder.join(name);
        if_exists(std::fs::remove_file(&path)).map_err(|error| at(&path, &error))?;
        point("daemon.clean_up.file_removed");
    }
    Ok(())
}

fn remove_pen(path: &Path, name: &PenName) -> io::Result<()> {
    match end_leftover(path, name, Instant::now() + CGROUP_TIMEOUT)?.len() {
        0 => Ok(()),
        left => Err(io::Error::other(format!("{left} processes are left in its cgroup"))),
    }
}

/// Ends a pen whose keeper is dead and removes its cgroup. Returns the processes that are left.
/// Blocks.
pub(crate) fn end_leftover(path: &Path, name: &PenName, deadline: Instant) -> io::Result<Vec<i32>> {
    loop {
        match Leftover::claim_path(path, name).map_err(io::Error::other)? {
            Claim::Gone => return Ok(Vec::new()),
            Claim::Ours(leftover) => {
                return Ok(match leftover.end(deadline)? {
                    LeftoverEnd::Removed => Vec::new(),
                    LeftoverEnd::StillAlive(pids) => pids,
                });
            }
            // A killed keeper releases it when it exits.
            Claim::Held if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Claim::Held => return Err(io::Error::other("another process holds its cgroup")),
        }
    }
}

/// Removes a session's folder with its contents. A folder that does not exist is not an error.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    if_exists(std::fs::remove_dir_all(folder)).map_err(|error| at(folder, &error)).map(drop)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
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
