//! A disk that is full, busy, or another's.

use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::{is_root, skip};
use kennel_worktree::{
    BranchFate, FolderError, MakeError, Plan, Refusal, RemoveError, Request, make, remove,
};
use rustix::mount::{MountFlags, UnmountFlags};

use crate::scene::{SESSION, Scene, write};

/// A small file system, unmounted on drop.
struct Mount(PathBuf);

impl Mount {
    fn new(at: PathBuf, size: &str) -> Option<Self> {
        if !is_root() {
            skip("a disk that is full or busy", "only root can mount one");
            return None;
        }
        fs::create_dir_all(&at).expect("a folder");
        let options = std::ffi::CString::new(format!("size={size}")).expect("text");
        match rustix::mount::mount("tmpfs", &at, "tmpfs", MountFlags::empty(), options.as_c_str()) {
            Ok(()) => Some(Self(at)),
            Err(error) => {
                skip("a disk that is full or busy", &format!("can't mount a tmpfs: {error}"));
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        rustix::mount::unmount(&self.0, UnmountFlags::DETACH).expect("unmounted");
    }
}

fn plan(scene: &Scene, place: &Path) -> Result<Plan, Refusal> {
    let request =
        Request { folder: &scene.repo, place, session: SESSION, branch: None, base: None };
    Plan::new(&scene.tool(), &request)
}

#[test]
fn a_full_one_is_told_and_leaves_nothing() {
    let scene = Scene::new();
    scene.write("large", &"x".repeat(6 * 1024 * 1024));
    scene.commit_all("large");
    let Some(mount) = Mount::new(scene.at("small"), "9m") else { return };
    let record = plan(&scene, &mount.0).expect("there is room").record;
    fs::write(mount.0.join("ballast"), vec![0; 5 * 1024 * 1024]).expect("written");
    let full = make(&scene.tool(), &record).expect_err("no room");
    assert!(matches!(full, MakeError::NoRoom { .. }), "{full:?}");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
    assert_eq!(fs::read_dir(&mount.0).expect("there").count(), 1, "only the ballast is left");
    // Known before: refused before anything is made, with the figures.
    let refused = plan(&scene, &mount.0).expect_err("no room");
    assert!(matches!(refused, Refusal::Place { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&(6 * 1024 * 1024 + 3 * 4096).to_string()), "{refused}");
}

/// With the repository's own disk full, a worktree can still be removed.
#[test]
fn a_full_one_does_not_hinder_removal() {
    let outer = Scene::new();
    let Some(mount) = Mount::new(outer.at("small"), "8m") else { return };
    let repo = mount.0.join("repo");
    outer.git(&["clone", "-q", ".", repo.to_str().expect("text")]);
    outer.git_in(&repo, &["pack-refs", "--all"]);
    let record = outer.plan(&repo, None).expect("a plan").record;
    outer.make(&record);
    let mut ballast = fs::File::create(mount.0.join("ballast")).expect("made");
    while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    let removed = remove(&outer.tool(), &record);
    drop(ballast);
    fs::remove_file(mount.0.join("ballast")).expect("removed");
    match removed {
        Ok(_) => {}
        // Git may need a little room to forget a branch: then it is owed, and done later.
        Err(RemoveError::Git(_)) => {
            assert!(matches!(outer.gone(&record), BranchFate::Deleted { .. }));
        }
        Err(error) => panic!("{error:?}"),
    }
    outer.git_in(&repo, &["fsck", "--strict"]);
    assert!(!record.path.exists());
}

/// What is mounted in a worktree is somebody else's: nothing is removed through it, nor anything before it.
#[test]
fn a_mount_inside_is_an_error_until_it_is_gone() {
    let scene = Scene::new();
    let record = scene.made();
    let Some(mount) = Mount::new(record.path.join("ignored/mount point"), "1m") else { return };
    write(&mount.0, "theirs", "theirs");
    let busy = remove(&scene.tool(), &record).expect_err("busy");
    assert!(matches!(busy, RemoveError::Folder(FolderError::Mount { .. })), "{busy:?}");
    assert!(mount.0.join("theirs").exists() && record.path.join("file").exists());
    drop(mount);
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}

/// An immutable file stands for whatever can't be removed now.
#[test]
fn what_cannot_be_removed_now_is_removed_later() {
    use rustix::fs::IFlags;

    let scene = Scene::new();
    let record = scene.made();
    write(&record.path, "ignored/file", "x");
    let file = fs::File::open(record.path.join("ignored/file")).expect("there");
    if let Err(error) = rustix::fs::ioctl_setflags(&file, IFlags::IMMUTABLE) {
        return skip("a file that can't be removed", &format!("no such flag here: {error}"));
    }
    let first = remove(&scene.tool(), &record);
    rustix::fs::ioctl_setflags(&file, IFlags::empty()).expect("cleared");
    let failed = first.expect_err("immutable");
    assert!(matches!(failed, RemoveError::Folder(FolderError::Remove { .. })), "{failed:?}");
    assert!(matches!(scene.gone(&record), BranchFate::Deleted { .. }));
}
