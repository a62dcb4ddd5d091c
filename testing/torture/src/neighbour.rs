//! Another home on the same machine, with a running session: faults in the first home must not
//! affect it.

use kennel_testing::{Pen, Scene, Who};

/// A home with a running session.
#[derive(Debug)]
pub(crate) struct Neighbour {
    scene: Scene,
    session: String,
    before: NeighbourProcesses,
}

/// The processes of the home.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NeighbourProcesses {
    yard: Option<i32>,
    daemon: Option<i32>,
    agent: Option<i64>,
    phase: String,
}

impl Neighbour {
    /// Creates the home and starts the session.
    pub(crate) fn new(who: Who, pen: Pen) -> Option<Self> {
        let scene = Scene::new(who, pen)?;
        let session = scene.launch_ready(&["--name", "neighbour"], &["env-i"]);
        let before = seen(&scene, &session);
        Some(Self { scene, session, before })
    }

    /// Returns what has changed, if anything has.
    pub(crate) fn harmed(&self) -> Option<String> {
        let now = seen(&self.scene, &self.session);
        (now != self.before)
            .then(|| format!("the neighbour was affected: before {:?}, now {now:?}", self.before))
    }

    /// Stops everything, and checks that nothing is left.
    pub(crate) fn stop(self) {
        self.scene.call_ok(&["stop", "--all"]);
        self.scene.stop_daemon();
    }
}

fn seen(scene: &Scene, session: &str) -> NeighbourProcesses {
    let view = scene.session(session);
    NeighbourProcesses {
        yard: scene.yard(),
        daemon: scene.daemon(),
        agent: view["pid"].as_i64(),
        phase: view["phase"].to_string(),
    }
}
