//! Holding Kennel's own processes at named points of their way.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::scene::Scene;

/// The folder of wishes, in a scene.
pub(crate) const FOLDER: &str = "faults";

/// The named points of a scene: whoever comes to one that is armed stands still there.
///
/// To be made before Kennel is first called in the scene: yard and daemon learn of it when they start.
#[derive(Debug)]
pub struct Faults(PathBuf);

impl Faults {
    /// Gives a scene such points.
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

    /// Who comes here from now on stands still.
    ///
    /// # Panics
    /// If that fails.
    pub fn arm(&self, point: &str) {
        fs::write(self.0.join(point), "").expect("a file");
    }

    /// Who stands there goes on, and nobody is held there any more.
    pub fn disarm(&self, point: &str) {
        fs::remove_file(self.0.join(point)).ok();
    }

    /// Calls of this name fail from now on with this errno, of processes that have passed a point.
    ///
    /// # Panics
    /// If that fails.
    pub fn fail(&self, call: &str, errno: i32) {
        // Whole at once: half of it would be another errno.
        let file = self.0.join("call");
        fs::write(&file, errno.to_string()).expect("a file");
        fs::rename(file, self.call(call)).expect("renamed");
    }

    /// They don't any more.
    pub fn let_succeed(&self, call: &str) {
        fs::remove_file(self.call(call)).ok();
    }

    fn call(&self, call: &str) -> PathBuf {
        self.0.join(format!("call.{}", call.replace('/', "_")))
    }

    /// The pid of the one who came here last.
    #[must_use]
    pub fn reached(&self, point: &str) -> Option<i32> {
        // It is there before it is written.
        fs::read_to_string(self.0.join(format!("{point}.reached"))).ok()?.parse().ok()
    }

    /// Moves the daemon's clocks forward, to so long after what they would show. They never go back.
    ///
    /// # Panics
    /// If that fails.
    pub fn set_clock(&self, ahead: Duration) {
        // Never half of it.
        let draft = self.0.join("clock.draft");
        fs::write(&draft, ahead.as_secs().to_string()).expect("a file");
        fs::rename(draft, self.0.join("clock")).expect("rename");
    }

    /// Waits until somebody comes here, for so long; none if nobody does.
    #[must_use]
    pub fn wait_reached(&self, point: &str, patience: Duration) -> Option<i32> {
        let deadline = Instant::now() + patience;
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
