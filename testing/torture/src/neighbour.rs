//! Another home on the same machine, with a session that runs: nothing that befalls the tormented one may reach it.

use kennel_testing::{Pen, Scene, Who};

/// See the module.
#[derive(Debug)]
pub(crate) struct Neighbour {
    scene: Scene,
    session: String,
    before: Seen,
}

/// Who is there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    yard: Option<i32>,
    daemon: Option<i32>,
    agent: Option<i64>,
    phase: String,
}

impl Neighbour {
    /// Moves in.
    pub(crate) fn new(who: Who, pen: Pen) -> Option<Self> {
        let scene = Scene::new(who, pen)?;
        let session = scene.launch_ready(&["--name", "neighbour"], &["env-i"]);
        let before = seen(&scene, &session);
        Some(Self { scene, session, before })
    }

    /// What has changed, if anything has.
    pub(crate) fn hit(&self) -> Option<String> {
        let now = seen(&self.scene, &self.session);
        (now != self.before)
            .then(|| format!("the neighbour was hit: {:?}, now {now:?}", self.before))
    }

    /// Moves out, and looks whether nothing is left.
    pub(crate) fn leave(self) {
        self.scene.call_ok(&["stop", "--all"]);
        self.scene.stop_daemon();
    }
}

fn seen(scene: &Scene, session: &str) -> Seen {
    let view = scene.session(session);
    Seen {
        yard: scene.yard(),
        daemon: scene.daemon(),
        agent: view["pid"].as_i64(),
        phase: view["phase"].to_string(),
    }
}
