//! Freezes a process so that no signal reaches it, as a hanging disk does.

use std::path::{Path, PathBuf};

use kennel_testing::{Scene, eventually, skip};

/// A freezer group of cgroup v1: the kernel delivers no signal to its members.
pub(crate) struct FreezerGroup(PathBuf);

impl FreezerGroup {
    /// Creates one for root's scene, or skips with a message if there is no freezer.
    pub(crate) fn new(scene: &Scene) -> Option<Self> {
        let freezer = Path::new("/sys/fs/cgroup/freezer");
        if !freezer.join("tasks").exists() {
            skip("a frozen process", "no v1 freezer hierarchy here");
            return None;
        }
        let path = freezer.join(scene.cgroup().file_name().expect("a name"));
        std::fs::create_dir(&path).expect("a freezer group");
        Some(Self(path))
    }

    fn set(&self, state: &str) {
        let file = self.0.join("freezer.state");
        std::fs::write(&file, state).expect("set");
        eventually("the freezer has settled", || {
            std::fs::read_to_string(&file).is_ok_and(|now| now.trim() == state)
        });
    }

    /// Freezes a process.
    pub(crate) fn freeze(&self, pid: i32) {
        std::fs::write(self.0.join("tasks"), pid.to_string()).expect("moved");
        self.set("FROZEN");
    }

    /// Thaws all processes of the group.
    pub(crate) fn thaw(&self) {
        self.set("THAWED");
    }
}

impl Drop for FreezerGroup {
    fn drop(&mut self) {
        std::fs::write(self.0.join("freezer.state"), "THAWED").ok();
        eventually("the freezer group is removed", || {
            std::fs::remove_dir(&self.0).is_ok() || !self.0.exists()
        });
    }
}
