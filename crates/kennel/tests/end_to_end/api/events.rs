//! The event log as server-sent events.

use std::io::Write;
use std::time::{Duration, Instant};

use kennel_testing::{Pen, Scene, Who, eventually};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::client::{Answer, Events, Returning, connect, crash_daemon, descriptors, ticks};

fn scene() -> Option<Scene> {
    Scene::new(Who::Root, Pen::Cgroup)
}

fn follow(scene: &Scene, query: &str) -> Events {
    let headers = [("Accept", "text/event-stream")];
    Answer::get(scene, &format!("/v1/events{query}"), &headers).events()
}

#[test]
fn no_event_is_lost_or_repeated_over_crashes() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    let mut follower = Returning::new(&scene, "/v1/events");
    let mut last = 0;
    let mut cleaned = 0;
    for round in 0..4 {
        scene.launch(&[], &["exit", "0"]);
        if round % 2 == 1 {
            crash_daemon(&scene);
        }
        while cleaned <= round {
            let event = follower.next();
            let number: u64 = event.id.parse().expect("a number");
            assert_eq!(number, last + 1, "{event:?}");
            assert_eq!(event.json()["seq"], number);
            assert_eq!(event.json()["kind"], event.event);
            cleaned += usize::from(event.event == "cleaned");
            last = number;
        }
    }
    scene.stop_daemon();
}

#[test]
fn only_matching_events_are_sent() {
    let Some(scene) = scene() else { return };
    let one = scene.launch(&[], &["exit", "0"]);
    let other = scene.launch(&[], &["exit", "0"]);
    for id in [&one, &other] {
        scene.wait_phase(id, "cleaned");
    }
    let mut events = follow(&scene, &format!("?session={other}&kind=running,cleaned"));
    for kind in ["running", "cleaned"] {
        let event = events.next().expect("an event");
        assert_eq!((event.event.as_str(), &event.json()["session"]), (kind, &other.clone().into()));
    }
    // JSON lines support kinds too.
    let lines = Answer::get(&scene, "/v1/events?kind=cleaned", &[]).records();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line["kind"] == "cleaned"), "{lines:?}");
    let far = [("Accept", "text/event-stream"), ("Last-Event-ID", "999999")];
    let reset = Answer::get(&scene, "/v1/events", &far).events().next().expect("an event");
    assert_eq!((reset.event.as_str(), &reset.json()["asked"]), ("reset", &999_999.into()));
    let wrong = [("Accept", "text/event-stream"), ("Last-Event-ID", "x")];
    assert_eq!(Answer::get(&scene, "/v1/events", &wrong).status, 422);
    scene.stop_daemon();
}

/// The followers in the test.
const FOLLOWERS: usize = 1000;

#[test]
fn a_part_of_the_log_can_be_followed() {
    let Some(scene) = scene() else { return };
    let first = scene.launch(&[], &["exit", "0"]);
    scene.wait_phase(&first, "cleaned");
    let numbers = |query: &str| -> Vec<u64> {
        let lines = Answer::get(&scene, &format!("/v1/events{query}"), &[]).records();
        lines.iter().map(|line| line["seq"].as_u64().expect("a number")).collect()
    };
    let all = numbers("");
    let last = all.len() as u64;
    assert!(last > 4, "{all:?}");
    assert_eq!(numbers("?tail=2"), [last - 1, last]);
    assert_eq!(numbers("?since=1&until=3"), [2, 3]);
    assert_eq!(numbers(&format!("?since={}&tail=3", last - 1)), [last]);
    // A client that starts at the end gets only new events; one that reconnects gets all that it
    // missed.
    let mut events = follow(&scene, "?tail=0");
    scene.launch(&[], &["exit", "0"]);
    let next = events.next().expect("an event");
    assert_eq!(next.id, (last + 1).to_string());
    let back = [("Accept", "text/event-stream"), ("Last-Event-ID", "2")];
    let third = Answer::get(&scene, "/v1/events?tail=0", &back).events().next().expect("an event");
    assert_eq!(third.id, "3");
    let both = Answer::get(&scene, "/v1/events?until=3", &[("Accept", "text/event-stream")]);
    assert_eq!(both.status, 422);
    scene.stop_daemon();
}

#[test]
fn many_idle_followers_are_cheap_and_all_get_events() {
    let Some(scene) = scene() else { return };
    allow_descriptors(FOLLOWERS as u64 + 200);
    scene.launch(&[], &["exit", "0"]);
    // What stays open for the next reader.
    drop(follow(&scene, ""));
    let before = descriptors(&scene);
    let mut followers: Vec<_> = (0..FOLLOWERS).map(|_| follow(&scene, "?kind=running")).collect();
    for follower in &mut followers {
        assert_eq!(follower.next().expect("the first").event, "running");
    }
    let used = ticks(&scene);
    let watched = Duration::from_secs(3);
    std::thread::sleep(watched); // this measures time
    let used = ticks(&scene) - used;
    println!("{FOLLOWERS} idle streams: {used} ticks of 10 ms in {} s", watched.as_secs());
    assert!(used <= 30, "{used} ticks");
    // Other clients are served as usual.
    let begun = Instant::now();
    assert_eq!(Answer::get(&scene, "/v1/sessions", &[]).status, 200);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    scene.launch(&[], &["exit", "0"]);
    for follower in &mut followers {
        assert_eq!(follower.next().expect("the second").event, "running");
    }
    drop(followers);
    // The register keeps a few connections for the next readers.
    eventually("nothing is left", || descriptors(&scene) <= before + FOLLOWERS / 50);
    scene.stop_daemon();
}

/// Raises this process's limit of open files.
fn allow_descriptors(count: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        let raised = Rlimit { current: Some(count), ..limit };
        setrlimit(Resource::Nofile, raised).expect("as many may be open");
    }
}

/// Responses that are never read finally fill every buffer.
#[test]
fn a_client_that_never_reads_does_not_affect_others() {
    let Some(scene) = scene() else { return };
    scene.launch(&[], &["exit", "0"]);
    let mut silent: Vec<_> = (0..20).map(|_| connect(&scene)).collect();
    for stream in &mut silent {
        let request = "GET /v1/events?format=sse HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("it is sent");
    }
    let mut follower = follow(&scene, "?kind=cleaned&format=sse");
    for _ in 0..5 {
        scene.launch(&[], &["exit", "0"]);
        assert_eq!(follower.next().expect("an event").event, "cleaned");
    }
    scene.stop_daemon();
}
