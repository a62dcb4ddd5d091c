//! A small disk that a test can fill.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scene::Scene;

/// A small file system for a scene's home. Drop it before the scene.
#[derive(Debug)]
pub struct SmallDisk<'a> {
    scene: &'a Scene,
    path: PathBuf,
}

impl<'a> SmallDisk<'a> {
    /// Puts the home of a scene on a disk of 4 MB. Needs root.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn at_home(scene: &'a Scene) -> Self {
        Self::of_size(scene, "4m")
    }

    /// Puts the home of a scene on a disk of this size, in the format of `mount`.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn of_size(scene: &'a Scene, size: &str) -> Self {
        let path = scene.path("home");
        let mut mount = Command::new("mount");
        let options = format!("size={size},mode=0755");
        mount.args(["-t", "tmpfs", "-o", &options, "kennel-test"]).arg(&path);
        assert!(mount.status().expect("mount is installed").success());
        scene.give(&path);
        // Otherwise the daemon refuses sessions for lack of disk space.
        let config = path.join(".config/kennel");
        fs::create_dir_all(&config).expect("a folder");
        fs::write(config.join("kennel.toml"), "daemon.min_free_disk = 0\n").expect("written");
        Self { scene, path }
    }

    fn filling(&self) -> PathBuf {
        self.path.join("filling")
    }

    /// Fills the disk.
    ///
    /// # Panics
    /// If not even an empty file fits.
    pub fn fill(&self) {
        let mut file = File::create(self.filling()).expect("a file");
        for size in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    /// Frees the disk.
    ///
    /// # Panics
    /// If it was not filled.
    pub fn free(&self) {
        fs::remove_file(self.filling()).expect("removed");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        self.scene.kill_all_processes();
        let path: &Path = &self.path;
        let unmounted = Command::new("umount").arg(path).status().expect("umount is installed");
        if !unmounted.success() && !std::thread::panicking() {
            panic!("{} can't be unmounted", path.display());
        }
    }
}
