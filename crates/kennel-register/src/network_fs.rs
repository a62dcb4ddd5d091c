//! Refuses homes on network file systems, where locks and SQLite's WAL don't work reliably.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::OpenRegisterError;

const MOUNTS: &str = "/proc/self/mountinfo";

/// File systems whose files may be on another machine.
const NETWORK: &str = "\
    9p afs acfs beegfs ceph cifs coda davfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 \
    ocfs2 orangefs panfs pvfs2 smb2 smb3 smbfs vboxsf";

/// FUSE file systems whose files may be on another machine.
const NETWORK_FUSE: &str = "\
    afp beegfs ceph ceph-fuse cephfs curlftpfs davfs davfs2 gcsfuse glusterfs goofys \
    gvfsd-fuse httpfs juicefs moosefs mfs rclone s3fs seaweedfs smbnetfs sshfs webdav";

/// Refuses a folder on a network file system. The folder need not exist yet.
///
/// # Errors
/// The folder is on a network file system, or the mounts can't be read.
pub fn refuse_network(folder: &Path) -> Result<(), OpenRegisterError> {
    let failed = |what: &str, error: &io::Error| OpenRegisterError::from_io(folder, what, error);
    let existing = nearest_existing(folder).map_err(|error| failed("its folder", &error))?;
    let mounts = fs::read(MOUNTS).map_err(|error| failed(MOUNTS, &error))?;
    match network_mount(&mounts, &existing) {
        Some(kind) => Err(OpenRegisterError::Network { folder: folder.to_owned(), kind }),
        None => Ok(()),
    }
}

/// Returns the folder with links resolved, or its closest ancestor that exists.
fn nearest_existing(folder: &Path) -> io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    for above in folder.ancestors() {
        match above.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    Ok(PathBuf::from("/"))
}

/// Returns the type of the network file system that contains this path, if it is on one.
fn network_mount(mountinfo: &[u8], path: &Path) -> Option<String> {
    let mut deepest: Option<(usize, String)> = None;
    for (point, kind) in mountinfo.split(|byte| *byte == b'\n').filter_map(mount) {
        let depth = point.components().count();
        // Of two mounts at the same point, the later one hides the earlier.
        if path.starts_with(&point) && deepest.as_ref().is_none_or(|(least, _)| depth >= *least) {
            deepest = Some((depth, kind));
        }
    }
    deepest.map(|(_, kind)| kind).filter(|kind| is_network(kind))
}

fn is_network(kind: &str) -> bool {
    let (known, kind) = match kind.strip_prefix("fuse.") {
        Some(program) => (NETWORK_FUSE, program),
        None => (NETWORK, kind),
    };
    known.split(' ').any(|name| name == kind)
}

/// Parses the mount point and the type: `36 35 98:0 /root /point options [tags...] - type source
/// options`.
fn mount(line: &[u8]) -> Option<(PathBuf, String)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let point = fields.nth(4)?;
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some((unescape(point), String::from_utf8_lossy(kind).into_owned()))
}

/// Decodes spaces, tabs, newlines and backslashes, which the kernel writes as three octal digits.
fn unescape(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &[u8] = b"\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 0:40 / /home rw,relatime shared:2 master:3 - nfs4 server:/home rw,vers=4.2
31 30 0:41 / /home/me/fast rw - ext4 /dev/vdb rw
32 27 0:42 / /mnt/my\\040disk rw - fuse.sshfs me@there: rw
33 27 0:43 / /mnt/usb rw - fuseblk /dev/sdb1 rw
34 27 0:44 / /twice rw - nfs server:/x rw
35 27 0:45 / /twice rw - tmpfs tmpfs rw
36 27 0:46 / /homely rw - cifs //server/x rw
37 27 0:47 / /key rw - fuse.gocryptfs /secret rw
broken line
";

    fn kind(path: &str) -> Option<String> {
        network_mount(MOUNTINFO, Path::new(path))
    }

    #[test]
    fn the_deepest_mount_counts() {
        assert_eq!(kind("/var/lib/kennel"), None);
        assert_eq!(kind("/home/me/.local/state/kennel").as_deref(), Some("nfs4"));
        assert_eq!(kind("/home/me/fast/kennel"), None);
        assert_eq!(kind("/home/me/faster/kennel").as_deref(), Some("nfs4"));
        assert_eq!(kind("/homely").as_deref(), Some("cifs"));
        assert_eq!(kind("/homes"), None);
    }

    #[test]
    fn decodes_escaped_mount_points() {
        assert_eq!(kind("/mnt/my disk/kennel").as_deref(), Some("fuse.sshfs"));
        assert_eq!(unescape(b"a\\134b\\9\\04"), Path::new("a\\b\\9\\04"));
    }

    #[test]
    fn accepts_local_fuse_file_systems_and_covered_mounts() {
        assert_eq!(kind("/mnt/usb/kennel"), None);
        assert_eq!(kind("/key/kennel"), None);
        assert_eq!(kind("/twice/kennel"), None);
    }

    #[test]
    fn a_missing_folder_is_checked_by_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        let above = nearest_existing(&folder.path().join("a/b")).unwrap();
        assert_eq!(above, folder.path().canonicalize().unwrap());
    }

    #[test]
    fn the_refusal_suggests_another_home() {
        let error = OpenRegisterError::Network { folder: "/home/me".into(), kind: "nfs4".into() };
        let text = error.to_string();
        assert!(text.contains("nfs4") && text.contains("--home"), "{text}");
    }
}
