//! Where a worktree goes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::Refusal;
use crate::standing::{Kind, plain_name};

/// With less than this free nothing is begun: even a small checkout needs its index and entries.
const LEAST_BYTES: u64 = 1024 * 1024;
const LEAST_FILES: u64 = 64;

/// The folder for a worktree below a place that can hold one.
pub(super) fn choose(
    place: &Path,
    repository: &OsString,
    session: &str,
) -> Result<PathBuf, Refusal> {
    let refuse = |why: String| Refusal::Place { place: place.to_owned(), why };
    if !place.is_absolute() {
        return Err(refuse("the path must be absolute".to_owned()));
    }
    let (existing, rest) = nearest_existing(place).map_err(|error| refuse(error.to_string()))?;
    let may = Access::WRITE_OK | Access::EXEC_OK;
    if let Err(error) = rustix::fs::access(&existing, may) {
        let why = io::Error::from(error);
        return Err(refuse(format!("{} can't be written to: {why}", existing.display())));
    }
    let room = rustix::fs::statvfs(&existing).map_err(|error| refuse(error.to_string()))?;
    let bytes = room.f_bavail.saturating_mul(room.f_frsize);
    // File systems without a fixed number of files say that they have none at all.
    if bytes < LEAST_BYTES || (room.f_files > 0 && room.f_favail < LEAST_FILES) {
        let why = format!("no room left there: {bytes} bytes, {} files; free some", room.f_favail);
        return Err(refuse(why));
    }
    let name = format!("{}-{session}", plain_name(repository));
    Ok(existing.join(rest).join(name))
}

/// Refuses what is there already.
pub(super) fn must_be_free(path: &Path) -> Result<(), Refusal> {
    match Kind::of(path)? {
        Kind::None => Ok(()),
        _ => Err(Refusal::Taken { path: path.to_owned() }),
    }
}

/// The nearest folder that is there, without symbolic links (git writes such paths), and what is below it.
fn nearest_existing(place: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let mut below = Vec::new();
    for folder in place.ancestors() {
        match fs::canonicalize(folder) {
            Ok(real) if real.is_dir() => return Ok((real, below.iter().rev().collect())),
            Ok(_) => {
                let why = format!("{} is not a folder", folder.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Some(name) = folder.file_name() else {
                    let why = format!("{} has a `..` in it", place.display());
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
                };
                below.push(name.to_owned());
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}
