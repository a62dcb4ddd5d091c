//! Files in the home that only the owner can read.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

const MAX_LENGTH: u64 = 1 << 20;
const OWNER_ONLY: u32 = 0o600;

/// Returns the text of a file, if it exists. Corrects permissions that are too wide. Refuses a file of another user, and
/// anything but a regular file.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("the file belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
        tracing::warn!(
            path = %path.display(),
            "other users could read this file until now; `kennel token rotate` replaces the token"
        );
    }
    let mut text = String::new();
    Read::take(&mut file, MAX_LENGTH).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes a file atomically. When it returns, the file is durable.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    // A killed daemon may have left a temporary file, with any content and mode.
    remove(temporary)?;
    let written = (|| {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(OWNER_ONLY).open(temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(temporary, path)?;
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
    })();
    if written.is_err() {
        // The next write replaces a leftover temporary file.
        fs::remove_file(temporary).ok();
    }
    written
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn only_the_owner_can_read_and_wide_permissions_are_corrected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("api.token");
        assert_eq!(read(&path).unwrap(), None);
        write(&path, "one").unwrap();
        assert_eq!((read(&path).unwrap().as_deref(), mode(&path)), (Some("one"), 0o600));
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!((read(&path).unwrap().as_deref(), mode(&path)), (Some("one"), 0o600));
        fs::write(folder.path().join("api.token.new"), "half").unwrap();
        write(&path, "two").unwrap();
        assert_eq!((read(&path).unwrap().as_deref(), mode(&path)), (Some("two"), 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file remains");
        remove(&path).unwrap();
        remove(&path).unwrap();
    }

    #[test]
    fn refuses_a_symbolic_link_or_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("api.token");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        assert!(read(&path).is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(read(&path).is_err());
        assert!(write(&path, "x").is_err(), "a folder is not replaced");
    }
}
