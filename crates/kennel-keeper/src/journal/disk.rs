//! What a writer asks of the file system: a seam, so that a test can make any call fail.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// The calls.
pub(super) trait Disk: Send + Debug {
    /// Make a folder for its owner alone.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Open for writing; made, if it is not there.
    fn open(&self, path: &Path, make: bool) -> io::Result<File>;
    /// Rename, over another one too.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Remove.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Write both, one after the other, or a part of them; tells how much.
    fn write(&self, file: &File, head: &[u8], data: &[u8], at: u64) -> io::Result<usize>;
}

/// The true one.
#[derive(Debug)]
pub(super) struct TrueDisk;

impl Disk for TrueDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn open(&self, path: &Path, make: bool) -> io::Result<File> {
        // No truncation: what is there is written over.
        OpenOptions::new().write(true).create(make).truncate(false).mode(0o600).open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn write(&self, file: &File, head: &[u8], data: &[u8], at: u64) -> io::Result<usize> {
        Ok(rustix::io::pwritev(file, &[IoSlice::new(head), IoSlice::new(data)], at)?)
    }
}
