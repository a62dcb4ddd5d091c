//! Where a worktree goes.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::Refusal;
use crate::standing::{Kind, plain_name};

/// What must be free besides the files: the index, the entry, and something for others.
const LEAST_BYTES: u64 = 1024 * 1024;
const LEAST_FILES: u64 = 64;

/// The folder for a worktree of this size, below a place that can hold it.
pub(super) fn choose(
    place: &Path,
    repository: &OsString,
    session: &str,
    size: u64,
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
    match Room::of(&existing) {
        Ok(room) if room.is_enough_for(size) => {}
        Ok(room) => {
            let why = format!("no room left there: {size} bytes are needed, {room} are free");
            return Err(refuse(why));
        }
        Err(error) => return Err(refuse(error.to_string())),
    }
    let name = format!("{}-{session}", plain_name(repository));
    Ok(existing.join(rest).join(name))
}

/// What is free on the disk of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    bytes: u64,
    files: u64,
}

impl Room {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let room = rustix::fs::statvfs(path)?;
        // File systems without a fixed number of files say that they have none at all.
        let files = if room.f_files > 0 { room.f_favail } else { u64::MAX };
        Ok(Self { bytes: room.f_bavail.saturating_mul(room.f_frsize), files })
    }

    pub(crate) fn is_enough_for(self, size: u64) -> bool {
        self.bytes >= size.saturating_add(LEAST_BYTES) && self.files >= LEAST_FILES
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {} files", self.bytes, self.files)
    }
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
