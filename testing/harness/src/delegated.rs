//! Where tests may create cgroups.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::look::{cgroup_mount, is_root};

/// Set if the tests' cgroup is delegated to them and has no other processes. (That a user may write
/// to it is not enough: programs of a desktop session are in such cgroups too.)
const DELEGATED: &str = "KENNEL_TEST_DELEGATED";
/// The leaf for the tests themselves.
const LEAF: &str = "tests";

/// Returns the parent of the scenes' cgroups: for root the top, for another user the delegated one,
/// if there is one.
pub(crate) fn cgroup_parent() -> Option<&'static Path> {
    static PARENT: OnceLock<Option<PathBuf>> = OnceLock::new();
    PARENT.get_or_init(find).as_deref()
}

/// Returns whether this process can create cgroup pens.
#[must_use]
pub fn may_make_cgroups() -> bool {
    cgroup_mount().is_some() && (is_root() || std::env::var_os(DELEGATED).is_some())
}

/// Returns all cgroups whose names contain this text.
#[must_use]
pub fn cgroups_named(part: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = cgroup_mount().into_iter().collect();
    while let Some(folder) = folders.pop() {
        // A cgroup that is removed meanwhile has no children.
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
    let text = fs::read_to_string("/proc/self/cgroup").expect("/proc/self/cgroup is readable");
    let own = text
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .expect("the process is in a cgroup v2");
    let folder = mount.join(own);
    enable_controllers(&folder);
    Some(folder)
}

/// Enables the controllers for child cgroups. The kernel requires that the parent has no processes
/// then, so this process moves into a leaf.
fn enable_controllers(folder: &Path) {
    let leaf = folder.join(LEAF);
    fs::create_dir(&leaf).expect("a cgroup below one that was delegated");
    fs::write(leaf.join("cgroup.procs"), std::process::id().to_string()).expect("moved");
    let all = fs::read_to_string(folder.join("cgroup.controllers")).expect("the controllers");
    for controller in all.split_ascii_whitespace() {
        fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"))
            .expect("a controller is handed down");
    }
}
