//! Full disks, mounts and files that can't be removed.

use std::fs;
use std::path::{Path, PathBuf};

use kennel_testing::{is_root, skip};
use kennel_worktree::{
    BranchOutcome, CreateWorktreeError, FolderError, PlanWorktreeError, RemoveWorktreeError,
    WorktreePlan, WorktreeRequest, create, remove,
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

fn plan(scene: &Scene, parent: &Path) -> Result<WorktreePlan, PlanWorktreeError> {
    let request =
        WorktreeRequest { folder: &scene.repo, parent, session: SESSION, branch: None, base: None };
    WorktreePlan::new(&scene.tool(), &request)
}

#[test]
fn reports_a_full_disk_and_leaves_no_files() {
    let scene = Scene::new();
    scene.write("large", &"x".repeat(6 * 1024 * 1024));
    scene.commit_all("large");
    let Some(mount) = Mount::new(scene.at("small"), "9m") else { return };
    let record = plan(&scene, &mount.0).expect("there is room").record;
    fs::write(mount.0.join("ballast"), vec![0; 5 * 1024 * 1024]).expect("written");
    let full = create(&scene.tool(), &record).expect_err("no room");
    assert!(matches!(full, CreateWorktreeError::DiskFull { .. }), "{full:?}");
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
    assert_eq!(fs::read_dir(&mount.0).expect("there").count(), 1, "only the ballast is left");
    // If the size is known, the plan is refused with the figures.
    let refused = plan(&scene, &mount.0).expect_err("no room");
    assert!(matches!(refused, PlanWorktreeError::Location { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&(6 * 1024 * 1024 + 3 * 4096).to_string()), "{refused}");
}

/// The disk of the repository is full.
#[test]
fn removes_a_worktree_on_a_full_disk() {
    let outer = Scene::new();
    let Some(mount) = Mount::new(outer.at("small"), "8m") else { return };
    let repo = mount.0.join("repo");
    outer.git(&["clone", "-q", ".", repo.to_str().expect("text")]);
    outer.git_in(&repo, &["pack-refs", "--all"]);
    let record = outer.plan(&repo, None).expect("a plan").record;
    outer.create(&record);
    let mut ballast = fs::File::create(mount.0.join("ballast")).expect("made");
    while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    let removed = remove(&outer.tool(), &record);
    drop(ballast);
    fs::remove_file(mount.0.join("ballast")).expect("removed");
    match removed {
        Ok(_) => {}
        // Git may need some space to delete a branch; then a later call does it.
        Err(RemoveWorktreeError::Git(_)) => {
            assert!(matches!(outer.gone(&record), BranchOutcome::Deleted { .. }));
        }
        Err(error) => panic!("{error:?}"),
    }
    outer.git_in(&repo, &["fsck", "--strict"]);
    assert!(!record.path.exists());
}

/// A mount leads to files outside the worktree: nothing is removed while it exists.
#[test]
fn refuses_to_remove_a_worktree_with_a_mount() {
    let scene = Scene::new();
    let record = scene.worktree();
    let Some(mount) = Mount::new(record.path.join("ignored/mount point"), "1m") else { return };
    write(&mount.0, "theirs", "theirs");
    let busy = remove(&scene.tool(), &record).expect_err("busy");
    assert!(matches!(busy, RemoveWorktreeError::Folder(FolderError::Mount { .. })), "{busy:?}");
    assert!(mount.0.join("theirs").exists() && record.path.join("file").exists());
    drop(mount);
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}

/// An immutable file represents any file that can't be removed now.
#[test]
fn retries_the_removal_of_an_immutable_file() {
    use rustix::fs::IFlags;

    let scene = Scene::new();
    let record = scene.worktree();
    write(&record.path, "ignored/file", "x");
    let file = fs::File::open(record.path.join("ignored/file")).expect("there");
    if let Err(error) = rustix::fs::ioctl_setflags(&file, IFlags::IMMUTABLE) {
        return skip("a file that can't be removed", &format!("no such flag here: {error}"));
    }
    let first = remove(&scene.tool(), &record);
    rustix::fs::ioctl_setflags(&file, IFlags::empty()).expect("cleared");
    let failed = first.expect_err("immutable");
    assert!(
        matches!(failed, RemoveWorktreeError::Folder(FolderError::Remove { .. })),
        "{failed:?}"
    );
    assert!(matches!(scene.gone(&record), BranchOutcome::Deleted { .. }));
}
