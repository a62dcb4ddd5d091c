//! The writer's calls to the file system, as a trait, so that a test can make any of them fail.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

pub(super) trait Disk: Send + Debug {
    /// Creates a folder that only its owner can enter.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Opens a file for writing.
    fn open(&self, path: &Path, create: bool) -> io::Result<File>;
    /// Renames a file, possibly over another one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Writes `head`, then `data`. Returns how many bytes were written, possibly not all.
    fn write(&self, file: &File, head: &[u8], data: &[u8], at: u64) -> io::Result<usize>;
}

#[derive(Debug)]
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<File> {
        // Existing content is overwritten, not truncated.
        OpenOptions::new().write(true).create(create).truncate(false).mode(0o600).open(path)
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
