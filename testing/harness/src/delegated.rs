//! Where tests may make cgroups.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::look::{cgroup_mount, is_root};

/// Says that the cgroup which the tests are in was delegated to them, and that they are alone in it. (Whether a user may
/// write to it does not tell: what a desktop has started is in such ones too.)
const DELEGATED: &str = "KENNEL_TEST_DELEGATED";
/// The leaf for the tests themselves.
const LEAF: &str = "tests";

/// The folder for the cgroups of scenes: root's is the top, a user's the one that was delegated. None if there is none.
pub(crate) fn ground() -> Option<&'static Path> {
    static GROUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    GROUND.get_or_init(find).as_deref()
}

/// Whether pens can be made as cgroups by this process.
#[must_use]
pub fn may_make_cgroups() -> bool {
    cgroup_mount().is_some() && (is_root() || std::env::var_os(DELEGATED).is_some())
}

/// All cgroups with this in their names, wherever they are.
#[must_use]
pub fn cgroups_named(part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = cgroup_mount().into_iter().collect();
    while let Some(folder) = folders.pop() {
        // One that goes meanwhile has nothing in it.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
                if entry.file_name().to_string_lossy().contains(part) {
                    found.push(entry.path());
                }
            }
        }
    }
    found
}

fn find() -> Option<PathBuf> {
    let mount = cgroup_mount()?;
    if is_root() {
        return Some(mount);
    }
    std::env::var_os(DELEGATED)?;
    let text = fs::read_to_string("/proc/self/cgroup").expect("our own cgroup");
    let own = text.lines().find_map(|line| line.strip_prefix("0::/")).expect("in cgroup v2");
    let folder = mount.join(own);
    hand_down(&folder);
    Some(folder)
}

/// Has the controllers at hand in the cgroups below. The kernel wants nobody to be in the folder then, so this process,
/// with its threads, goes into a leaf.
fn hand_down(folder: &Path) {
    let leaf = folder.join(LEAF);
    fs::create_dir(&leaf).expect("a cgroup below one that was delegated");
    fs::write(leaf.join("cgroup.procs"), std::process::id().to_string()).expect("moved");
    let all = fs::read_to_string(folder.join("cgroup.controllers")).expect("the controllers");
    for controller in all.split_ascii_whitespace() {
        fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"))
            .expect("a controller is handed down");
    }
}
