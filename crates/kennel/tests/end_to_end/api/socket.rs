//! Event streams over WebSockets, as browsers use them.

use kennel_testing::{Pen, Scene, Who, eventually};

use super::client::{Socket, connect, crash_daemon, descriptors, wait_close, wait_for};

fn scene() -> Option<Scene> {
    Scene::new(Who::Root, Pen::Cgroup)
}

fn open(scene: &Scene, target: &str) -> Socket {
    let url = format!("ws://localhost{target}");
    tungstenite::client(url, connect(scene)).expect("an upgrade").0
}

/// The ids of the events in a text.
fn ids(text: &str) -> Vec<u64> {
    let ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
    ids.map(|id| id.parse().expect("a number")).collect()
}

#[test]
fn events_resume_after_a_crash() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let mut socket = open(&scene, "/v1/events");
    scene.launch(&[], &["exit", "0"]);
    let reported = wait_for(&mut socket, "event: cleaned");
    let last = *ids(&reported).last().expect("events");
    assert_eq!(ids(&reported), (1..=last).collect::<Vec<_>>());
    crash_daemon(&scene);
    assert!(
        socket.read().is_err() || socket.read().is_err(),
        "the connection of the killed daemon ends"
    );
    let mut socket = open(&scene, &format!("/v1/events?last_event_id={last}"));
    scene.launch(&[], &["exit", "0"]);
    let reported = wait_for(&mut socket, "event: cleaned");
    let next = *ids(&reported).last().expect("events");
    assert_eq!(ids(&reported), (last + 1..=next).collect::<Vec<_>>());
    scene.stop_daemon();
}

#[test]
fn output_is_followed_to_its_end() {
    let Some(scene) = scene() else { return };
    let id = scene.launch(&[], &["lines", "3", "0", "0"]);
    let mut socket = open(&scene, &format!("/v1/sessions/{id}/output?follow=true&format=sse"));
    let (code, reported) = wait_close(&mut socket);
    assert_eq!(code, 1000);
    assert!(reported.contains("ready") && reported.contains("event: end"), "{reported}");
    scene.stop_daemon();
}

#[test]
fn an_error_is_sent_as_an_event() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    for (target, status) in [
        ("/v1/sessions/nobody/output?follow=true&format=sse", 404),
        ("/v1/sessions/nobody/answer", 404),
        ("/v1/events?last_event_id=x", 422),
        ("/v1/events?what=x", 422),
    ] {
        let (code, reported) = wait_close(&mut open(&scene, target));
        assert_eq!(code, 1000, "{target}: {reported}");
        assert!(reported.starts_with("event: refused\ndata: {"), "{target}: {reported}");
        assert!(reported.contains(&format!("\"status\":{status}")), "{target}: {reported}");
    }
    scene.stop_daemon();
}

#[test]
fn disconnects_are_noticed_and_a_shutdown_waits_for_no_client() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let before = descriptors(&scene);
    let sockets: Vec<Socket> = (0..40).map(|_| open(&scene, "/v1/events?tail=0")).collect();
    eventually("all are there", || descriptors(&scene) >= before + 40);
    drop(sockets);
    // A few are opened once, to read the register.
    eventually("all are gone", || descriptors(&scene) < before + 5);
    let mut stays = open(&scene, "/v1/events?tail=0");
    scene.stop_daemon();
    let (code, _) = wait_close(&mut stays);
    assert_eq!(code, 1000);
}
