//! Holds Kennel's own processes at fault points.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::scene::Scene;

/// The folder in a scene through which the fault points are controlled.
pub(crate) const FOLDER: &str = "faults";

/// The fault points of a scene: a process that reaches an armed point stops there.
///
/// Create this before the first call of Kennel in the scene: yard and daemon read the variable when
/// they start.
#[derive(Debug)]
pub struct Faults(PathBuf);

impl Faults {
    /// Enables the fault points of a scene.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn new(scene: &Scene) -> Self {
        let folder = scene.path(FOLDER);
        fs::create_dir(&folder).expect("mkdir");
        scene.give(&folder);
        Self(folder)
    }

    /// Makes every process that reaches this point stop there.
    ///
    /// # Panics
    /// If that fails.
    pub fn arm(&self, point: &str) {
        fs::write(self.0.join(point), "").expect("a file");
    }

    /// Lets the processes at this point continue, and holds no more.
    pub fn disarm(&self, point: &str) {
        fs::remove_file(self.0.join(point)).ok();
    }

    /// Makes calls of this name fail with this errno, in processes that have passed a fault point.
    ///
    /// # Panics
    /// If that fails.
    pub fn fail(&self, call: &str, errno: i32) {
        // Renamed into place: half of the text would be another errno.
        let file = self.0.join("call");
        fs::write(&file, errno.to_string()).expect("a file");
        fs::rename(file, self.call(call)).expect("renamed");
    }

    /// Lets calls of this name succeed again.
    pub fn let_succeed(&self, call: &str) {
        fs::remove_file(self.call(call)).ok();
    }

    fn call(&self, call: &str) -> PathBuf {
        self.0.join(format!("call.{}", call.replace('/', "_")))
    }

    /// Returns the pid of the last process that reached this point.
    #[must_use]
    pub fn reached(&self, point: &str) -> Option<i32> {
        // The file exists a moment before its content.
        fs::read_to_string(self.0.join(format!("{point}.reached"))).ok()?.parse().ok()
    }

    /// Sets how far the daemon's clocks are ahead of the real time. They never go back.
    ///
    /// # Panics
    /// If that fails.
    pub fn set_clock(&self, ahead: Duration) {
        // Renamed into place: half of the text would be another time.
        let draft = self.0.join("clock.draft");
        fs::write(&draft, ahead.as_secs().to_string()).expect("a file");
        fs::rename(draft, self.0.join("clock")).expect("rename");
    }

    /// Waits until a process reaches this point; returns its pid, or `None` after the timeout.
    #[must_use]
    pub fn wait_reached(&self, point: &str, timeout: Duration) -> Option<i32> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.reached(point) {
                None if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                reached => return reached,
            }
        }
    }
}
