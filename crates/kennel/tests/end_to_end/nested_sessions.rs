//! T12: sessions that an agent starts through Kennel end with the agent's session, unless they
//! should stay.

use kennel_testing::{Scene, eventually, everywhere};
use serde_json::Value;

/// A session whose agent starts two others, one of them with `--stay`.
fn launch_family(scene: &Scene, end: &str) -> String {
    let (kennel, agent, pen) = (scene.path("kennel"), scene.fake_agent(), scene.pen_name());
    let run = format!("{} run -d --pen {pen} --grace 200ms", kennel.display());
    let script = format!(
        "{run} --name child -- {agent} ignore-term 1 &&
         {run} --name stays --stay -- {agent} env-i &&
         {run} --name cleared -- env -i {agent} sleep &&
         touch born && {end}"
    );
    let id = scene.launch_command(&["--linger", "5s"], &["/bin/sh", "-c", &script]);
    eventually("all sessions run", || scene.path("work/born").exists());
    id
}

fn assert_family_settles(scene: &Scene, parent: &str) {
    for name in ["child", "cleared"] {
        let child = scene.wait_phase(name, "cleaned");
        assert_eq!(child["spec"]["parent"], Value::from(parent), "{child:#}");
        assert_eq!(child["reason"]["kind"], "parent_ended", "{child:#}");
    }
    let stays = scene.session("stays");
    assert_eq!(stays["phase"], "running", "{stays:#}");
    assert_eq!(stays["spec"]["parent"], Value::from(parent), "{stays:#}");
    scene.call_ok(&["stop", "stays"]);
    scene.assert_nothing_left_soon();
    scene.stop_daemon();
}

everywhere! {
    fn a_child_session_ends_when_its_parent_is_stopped(scene: Scene) {
        let agent = scene.fake_agent();
        let parent = launch_family(&scene, &format!("exec {agent} sleep"));
        scene.call_ok(&["stop", &parent]);
        assert_family_settles(&scene, &parent);
    }

    fn a_child_session_ends_when_its_parent_has_ended_by_itself(scene: Scene) {
        let parent = launch_family(&scene, "exit 4");
        assert_eq!(scene.call(&["wait", &parent]).code, 4);
        assert_family_settles(&scene, &parent);
    }

    /// Its parent ended while no daemon was running.
    fn a_child_session_ends_when_its_parent_ended_without_a_daemon(scene: Scene) {
        let wait = "while [ ! -e go ]; do sleep 0.01; done; exit 4";
        let parent = launch_family(&scene, wait);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        std::fs::write(scene.path("work/go"), "").expect("a file");
        eventually("the parent has ended", || scene.keepers().len() == 3);
        assert_family_settles(&scene, &parent);
    }
}
