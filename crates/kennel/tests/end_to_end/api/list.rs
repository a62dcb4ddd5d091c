//! The list shows each session exactly as a single request does, whatever changed since the last
//! list.

use kennel_testing::{Pen, Running, Scene, Who, eventually};
use serde_json::Value;

use super::client::{Answer, crash_daemon};
use crate::config::configure;
use crate::reports::reporting;

/// All launches, oldest first.
fn list(scene: &Scene) -> Vec<Value> {
    let answer = Answer::get(scene, "/v1/sessions?all=true", &[]);
    assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "application/json"));
    let page = answer.json();
    assert_eq!(page["next"], Value::Null);
    page["sessions"].as_array().expect("a list").clone()
}

/// One launch by its own id: the session's id would mean the latest.
fn show(scene: &Scene, id: &str) -> Value {
    let exact = if id.contains('_') { id.to_owned() } else { format!("{id}_1") };
    Answer::get(scene, &format!("/v1/sessions/{exact}"), &[]).json()
}

/// Compares all while nothing changes, and returns the list.
fn compared(scene: &Scene) -> Vec<Value> {
    let id = |view: &Value| view["id"].as_str().expect("an id").to_owned();
    let mut listed = Vec::new();
    eventually("nothing changes", || {
        listed = list(scene);
        let shown: Vec<_> = listed.iter().map(|view| show(scene, &id(view))).collect();
        let still = list(scene) == listed;
        assert!(!still || shown == listed, "{shown:#?} is shown, {listed:#?} listed");
        still
    });
    listed
}

/// This field of the latest session with this name in the list.
fn field(listed: &[Value], name: &str, field: &str) -> Value {
    let named = listed.iter().rev().find(|view| view["name"] == name);
    named.expect("it is listed")[field].clone()
}

#[test]
fn a_list_is_never_stale() {
    let Some(scene) = Scene::new(Who::Root, Pen::Subtree) else { return };
    configure(&scene, "daemon.max_live = 2\n");
    scene.launch(&["--name", "a"], &["sleep"]);
    assert_eq!(field(&compared(&scene), "a", "phase"), "running");
    let reported = Running::start(reporting(&scene, "a", &["progress", "40"])).wait();
    assert_eq!(reported.code, 0, "{}", reported.stderr);
    assert_eq!(field(&compared(&scene), "a", "progress"), 40);

    // A queue position changes with other sessions.
    for name in ["b", "c", "d"] {
        scene.launch(&["--queue", "--name", name], &["sleep"]);
        compared(&scene);
    }
    assert_eq!(field(&compared(&scene), "d", "queue_position"), 2);
    scene.call_ok(&["stop", "c"]);
    let listed = compared(&scene);
    assert_eq!(field(&listed, "c", "phase"), "cleaned");
    assert_eq!(field(&listed, "d", "queue_position"), 1);
    scene.call_ok(&["stop", "b"]);
    scene.wait_phase("d", "running");
    compared(&scene);

    crash_daemon(&scene);
    assert_eq!(field(&compared(&scene), "d", "phase"), "running");
    scene.call_ok(&["stop", "d"]);
    scene.wait_phase("d", "cleaned");
    compared(&scene);

    // The view of a launch changes with the next launch of its session.
    scene.launch(&["--name", "r", "--restart", "on-failure:1"], &["exit", "3"]);
    let first = |listed: &[Value]| {
        let view = listed.iter().find(|view| view["name"] == "r").expect("it is listed");
        (view["attempt"].clone(), view["launches"].clone())
    };
    eventually("it is launched again", || first(&compared(&scene)) == (1.into(), 2.into()));
    scene.wait_phase("r", "cleaned");
    assert_eq!(field(&compared(&scene), "r", "launches"), 2);

    scene.call_ok(&["rm", "c"]);
    assert!(compared(&scene).iter().all(|view| view["name"] != "c"));
    scene.stop_daemon();
}
