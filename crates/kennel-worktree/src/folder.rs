//! Removes a folder with its contents: read-only and very deep folders too, but never through a
//! mount.

use std::ffi::{CStr, CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::disk_state::ReadPathError;

const OPEN_FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// A deeper folder is first moved to the top, because each level needs a descriptor.
const MAX_DEPTH: usize = 32;

/// A folder could not be removed completely.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("can't remove a folder with a mount in it; unmount {mount}")]
    Mount { mount: PathBuf },
    #[error("can't remove {path}")]
    Remove { path: PathBuf, source: io::Error },
}

impl From<ReadPathError> for FolderError {
    fn from(ReadPathError { path, source }: ReadPathError) -> Self {
        Self::Remove { path, source }
    }
}

/// Refuses a folder that contains a mount.
pub(crate) fn refuse_mounts(folder: &Path) -> Result<(), FolderError> {
    let path = Path::new("/proc/self/mountinfo");
    let mounts = fs::read(path).map_err(failed(path))?;
    for line in mounts.split(|byte| *byte == b'\n') {
        let Some(mount) = line.split(|byte| *byte == b' ').nth(4) else { continue };
        let mount = PathBuf::from(OsString::from_vec(unescape(mount)));
        if mount.starts_with(folder) {
            return Err(FolderError::Mount { mount });
        }
    }
    Ok(())
}

/// Removes a folder or file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), FolderError> {
    empty(path)?;
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            fs::remove_file(path).map_err(failed(path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(failed(path)),
    }
}

/// Removes the contents of a folder.
pub(crate) fn empty(path: &Path) -> Result<(), FolderError> {
    let open = || rustix::fs::open(path, OPEN_FOLDER, Mode::empty());
    let top = match open_folder(rustix::fs::CWD, path, open) {
        Ok(top) => top,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        Err(error) => return Err(failed(path)(error)),
    };
    let mut emptying = Emptying { top: top.as_fd(), moved: 0 };
    loop {
        let before = emptying.moved;
        emptying.empty(top.as_fd(), path, 0)?;
        // The next round empties the folders that were moved.
        if emptying.moved == before {
            return Ok(());
        }
    }
}

/// Calls `open`, and once more with changed permissions if the folder is not accessible.
fn open_folder<P: rustix::path::Arg + Copy>(
    parent: BorrowedFd<'_>,
    name: P,
    open: impl Fn() -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    match open() {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            open()
        }
        other => other,
    }
}

fn failed<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> FolderError {
    |error| FolderError::Remove { path: path.to_owned(), source: error.into() }
}

struct Emptying<'a> {
    top: BorrowedFd<'a>,
    moved: u64,
}

impl Emptying<'_> {
    fn empty(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
    ) -> Result<(), FolderError> {
        let failed = failed(path);
        make_writable(folder).map_err(&failed)?;
        // Read the whole list first: some file systems skip entries of a folder that shrinks.
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            if ![c".", c".."].contains(&entry.file_name()) {
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        for (name, kind) in names {
            let path = path.join(OsString::from_vec(name.as_bytes().to_vec()));
            self.remove(folder, &name, kind, &path, depth)?;
        }
        Ok(())
    }

    fn remove(
        &mut self,
        folder: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
        path: &Path,
        depth: usize,
    ) -> Result<(), FolderError> {
        let failed = failed(path);
        let unlink = |flags| match rustix::fs::unlinkat(folder, name, flags) {
            Err(Errno::NOENT) => Ok(()),
            other => other.map_err(&failed),
        };
        if !matches!(kind, FileType::Directory | FileType::Unknown) {
            return unlink(AtFlags::empty());
        }
        let inner = match open_below(folder, name) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => return unlink(AtFlags::empty()),
            Err(Errno::XDEV) => return Err(FolderError::Mount { mount: path.to_owned() }),
            Err(error) => return Err(failed(error)),
        };
        if depth >= MAX_DEPTH {
            return self.move_up(&inner, folder, name).map_err(&failed);
        }
        self.empty(inner.as_fd(), path, depth + 1)?;
        unlink(AtFlags::REMOVEDIR)
    }

    fn move_up(
        &mut self,
        inner: &OwnedFd,
        folder: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<(), Errno> {
        make_writable(inner.as_fd())?;
        loop {
            self.moved += 1;
            let new = CString::new(format!("deep-{}", self.moved)).map_err(|_nul| Errno::INVAL)?;
            match rustix::fs::renameat(folder, name, self.top, &new) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => return other,
            }
        }
    }
}

/// Opens a subfolder, unless it is a mount point: a bind mount leads to files outside the worktree.
fn open_below(folder: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let open = || rustix::fs::openat2(folder, name, OPEN_FOLDER, Mode::empty(), resolve);
    open_folder(folder, name, open)
}

/// Makes a folder writable: Go's module cache, for example, is read-only.
fn make_writable(folder: BorrowedFd<'_>) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode);
    if mode.contains(Mode::RWXU) {
        return Ok(());
    }
    match rustix::fs::fchmod(folder, Mode::RWXU) {
        // Another user owns it. If it is empty, it can be removed all the same.
        Err(Errno::PERM) => Ok(()),
        other => other,
    }
}

/// Decodes spaces and the like, which the kernel writes as `\040`.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = &others[3..];
            }
            None => {
                plain.push(*first);
                rest = others;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_mount_points() {
        assert_eq!(unescape(br"/a\040b\134c\012"), b"/a b\\c\n");
        assert_eq!(unescape(br"/plain\"), br"/plain\");
    }

    #[test]
    fn removes_folders_deeper_than_the_longest_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().join("top");
        fs::create_dir(&top).expect("a folder");
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut inner = rustix::fs::open(&top, flags, Mode::empty()).expect("open");
        for _ in 0..3000 {
            rustix::fs::mkdirat(&inner, "deeper", Mode::RWXU).expect("made");
            inner = rustix::fs::openat(&inner, "deeper", flags, Mode::empty()).expect("open");
        }
        drop(inner);
        remove(&top).expect("removed");
        assert!(!top.exists());
        remove(&top).expect("a second removal succeeds");
    }

    #[test]
    fn follows_no_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let (top, other) = (folder.path().join("top"), folder.path().join("other"));
        fs::create_dir_all(&top).expect("a folder");
        fs::create_dir_all(&other).expect("a folder");
        fs::write(other.join("mine"), "mine").expect("a file");
        std::os::unix::fs::symlink(&other, top.join("link")).expect("a link");
        remove(&top).expect("removed");
        assert!(other.join("mine").exists());
    }
}
