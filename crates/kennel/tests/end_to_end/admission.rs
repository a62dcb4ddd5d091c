//! Which sessions start, wait in the queue, or are refused.

use std::fs;

use kennel_testing::{Pen, Running, Scene, Who, eventually, signal};
use serde_json::Value;

use crate::config::configure;
use crate::launch_and_cancel::scene_with_points;

fn scene(config: &str) -> Option<Scene> {
    let scene = Scene::new(Who::Other, Pen::Subtree)?;
    configure(&scene, config);
    Some(scene)
}

/// An agent that counts its live copies and records if there are more than ten.
const COUNTED: &str = "mkdir -p slots; : > slots/$$; \
    [ $(ls slots | wc -l) -gt 10 ] && : > over; \
    while [ ! -e go ]; do sleep 0.02; done; rm slots/$$";

/// B11
#[test]
fn of_fifty_at_once_ten_live_and_the_others_are_refused() {
    let Some(scene) = scene("daemon.max_live = 10\n") else { return };
    scene.call_ok(&["daemon", "start"]);
    let agent = ["/bin/sh", "-c", COUNTED];
    let clients: Vec<_> =
        (0..50).map(|_| Running::start(scene.run_command(&["-d"], &agent))).collect();
    let answers: Vec<_> = clients.into_iter().map(Running::wait).collect();
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|it| it.code == 0);
    assert_eq!((taken.len(), refused.len()), (10, 40));
    for answer in refused {
        assert_eq!(answer.code, 202, "{answer:?}");
        let reported = "10 sessions are live, and the limit is 10";
        assert!(answer.stderr.contains(reported), "{answer:?}");
    }
    assert_eq!(scene.sessions().len(), 10, "nothing was created for the others");
    fs::write(scene.path("work/go"), "").expect("a file");
    eventually("all have ended", || scene.sessions().iter().all(|it| it["phase"] == "cleaned"));
    assert!(!scene.path("work/over").exists(), "more than ten at once");
    scene.launch_command(&[], &["/bin/true"]);
    scene.stop_daemon();
}

/// B11: the others wait in the queue.
#[test]
fn of_fifty_at_once_ten_live_and_the_others_queue() {
    let Some(scene) = scene("daemon.max_live = 10\nrun.queue = true\n") else { return };
    scene.call_ok(&["daemon", "start"]);
    let agent = ["/bin/sh", "-c", COUNTED];
    let clients: Vec<_> =
        (0..50).map(|_| Running::start(scene.run_command(&["-d"], &agent))).collect();
    for client in clients {
        let answer = client.wait();
        assert_eq!(answer.code, 0, "at once: {answer:?}");
    }
    let sessions = scene.sessions();
    let mut positions: Vec<_> =
        sessions.iter().filter_map(|it| it["queue_position"].as_u64()).collect();
    positions.sort_unstable();
    assert_eq!(positions, (1..=40).collect::<Vec<_>>());
    fs::write(scene.path("work/go"), "").expect("a file");
    eventually("all have ended", || {
        let sessions = scene.sessions();
        // A session that was seen to be gone makes room.
        let open =
            |it: &&Value| !matches!(it["phase"].as_str(), Some("queued" | "reaped" | "cleaned"));
        assert!(sessions.iter().filter(open).count() <= 10, "{sessions:#?}");
        sessions.iter().all(|it| it["phase"] == "cleaned")
    });
    assert!(scene.sessions().iter().all(|it| it["exit"]["code"] == 0));
    assert!(!scene.path("work/over").exists(), "more than ten at once");
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// A queued session with a variable in its environment.
fn queue(scene: &Scene, name: &str) -> String {
    let flags = ["--queue", "--name", name, "-e", &format!("WORD={name}")];
    scene.launch_command(&flags, &["/bin/sh", "-c", "echo $WORD >> order; sleep 100"])
}

fn position(scene: &Scene, name: &str) -> Value {
    scene.session(name)["queue_position"].clone()
}

/// This also holds after a crash and a planned restart of the daemon.
#[test]
fn the_queue_keeps_its_order_and_cancelled_sessions_leave_it() {
    let Some(scene) = scene("daemon.max_live = 1\n") else { return };
    for name in ["a", "b", "c", "d", "e"] {
        queue(&scene, name);
    }
    assert_eq!(["b", "c", "d", "e"].map(|name| position(&scene, name)), [1, 2, 3, 4]);
    let shown = scene.call_ok(&["ps"]);
    assert!(shown.contains("queued (4)"), "{shown}");
    let printed = scene.call_ok(&["stop", "c"]);
    assert!(printed.contains("stopped"), "{printed}");
    let cancelled = scene.session("c");
    assert_eq!(cancelled["phase"], "cleaned", "at once: {cancelled:#}");
    assert_eq!(cancelled["exit"]["kind"], "never_ran", "{cancelled:#}");
    assert_eq!(position(&scene, "d"), 2);
    signal(scene.daemon().expect("a daemon"), "KILL");
    assert_eq!(["b", "d", "e"].map(|name| position(&scene, name)), [1, 2, 3]);
    scene.call_ok(&["stop", "a"]);
    scene.wait_phase("b", "running");
    scene.call_ok(&["daemon", "restart"]);
    for (ends, next) in [("b", "d"), ("d", "e")] {
        scene.call_ok(&["stop", ends]);
        scene.wait_phase(next, "running");
    }
    scene.call_ok(&["stop", "e"]);
    eventually("all have run in order", || {
        let order = fs::read_to_string(scene.path("work/order")).unwrap_or_default();
        order == "a\nb\nd\ne\n"
    });
    scene.stop_daemon();
}

#[test]
fn a_queued_foreground_run_shows_its_position() {
    let Some(scene) = scene("daemon.max_live = 1\n") else { return };
    let first = scene.launch_ready(&[], &["sleep"]);
    let refused = scene.run(&[], &["exit", "3"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    let gone = scene.start(&["--queue", "--name", "gone"], &["exit", "3"]);
    eventually("it waits", || {
        let sessions = scene.sessions();
        sessions.iter().any(|it| it["name"] == "gone" && it["phase"] == "queued")
    });
    let errors = scene.path("work/errors");
    let agent = scene.fake_agent();
    let waits = scene.run_command(&["--queue", "--name", "waits"], &[&agent, "exit", "3"]);
    let waits = Running::start_with_errors_in(waits, &errors);
    eventually("it waits", || {
        let sessions = scene.sessions();
        sessions.iter().any(|it| it["name"] == "waits" && it["queue_position"] == 2)
    });
    gone.signal("KILL");
    let _killed = gone.wait();
    let left = scene.wait_phase("gone", "cleaned");
    assert_eq!(left["reason"]["kind"], "client_gone", "{left:#}");
    eventually("it is next", || position(&scene, "waits") == 1);
    let printed = || fs::read_to_string(&errors).unwrap_or_default();
    eventually("the new position is printed", || printed().contains("queued (position 1)"));
    scene.call_ok(&["stop", &first]);
    let waits = waits.wait();
    assert_eq!(waits.code, 3, "{waits:?}");
    scene.assert_nothing_left();
    scene.stop_daemon();
}

#[test]
fn a_limit_on_a_name_holds_up_no_other_session() {
    let Some(scene) = scene("[daemon.max_live_by_name]\n'ci-*' = 1\n") else { return };
    scene.launch(&["--name", "ci-1"], &["sleep"]);
    let refused = scene.run(&["-d", "--name", "ci-2"], &["sleep"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    let reported = "1 session with a name like \"ci-*\" is live, and the limit is 1";
    assert!(refused.stderr.contains(reported), "{refused:?}");
    scene.launch(&["--name", "other"], &["sleep"]);
    scene.launch(&["--name", "ci-3", "--queue"], &["sleep"]);
    assert_eq!(position(&scene, "ci-3"), 1);
    scene.call_ok(&["stop", "ci-1"]);
    scene.wait_phase("ci-3", "running");
    scene.call_ok(&["stop", "--all"]);
    scene.stop_daemon();
}

/// Running sessions continue; nothing is created for a refused one.
#[test]
fn without_room_on_the_machine_nothing_new_is_started() {
    let Some(scene) = scene("daemon.min_free_disk = '8000000T'\n") else { return };
    let refused = scene.run(&["-d"], &["sleep"]);
    assert_eq!(refused.code, 202, "{refused:?}");
    let reported = "of disk is free, ";
    assert!(refused.stderr.contains("no room for another session: "), "{refused:?}");
    assert!(refused.stderr.contains(reported), "{refused:?}");
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    configure(&scene, "");
    scene.call_ok(&["daemon", "restart"]);
    let id = scene.launch_ready(&[], &["sleep"]);
    configure(&scene, "daemon.min_free_memory = '8000000T'\n");
    scene.call_ok(&["daemon", "restart"]);
    let refused = scene.run(&["-d"], &["sleep"]);
    assert!(refused.stderr.contains("of memory is available"), "{refused:?}");
    assert_eq!(scene.session(&id)["phase"], "running");
    scene.call_ok(&["stop", &id]);
    scene.stop_daemon();
}

/// The daemon is killed twice: a queued client keeps its position, streams and session.
#[test]
fn a_queued_foreground_run_outlives_the_daemon() {
    let Some(scene) = scene("daemon.max_live = 1\n") else { return };
    let first = scene.launch(&[], &["sleep"]);
    let text = scene.path("work/text");
    fs::write(&text, "by standard input").expect("a file");
    let script = ["/bin/sh", "-c", "cat; echo; echo $WORD; exit 7"];
    let mut command = scene.run_command(&["--queue", "--name", "x", "-e", "WORD=kept"], &script);
    command.stdin(fs::File::open(&text).expect("it is there"));
    let waiting = Running::start(command);
    let is_queued = |name: &str, position: u64| {
        let sessions = scene.sessions();
        sessions.iter().any(|it| it["name"] == name && it["queue_position"] == position)
    };
    eventually("it is queued", || is_queued("x", 1));
    let id = scene.session("x")["id"].clone();
    let behind = scene.start(&["--queue", "--name", "y"], &["exit", "8"]);
    eventually("another one waits behind it", || is_queued("y", 2));
    for round in 1..=2 {
        let daemon = scene.daemon().expect("a daemon");
        signal(daemon, "KILL");
        eventually("there is another daemon", || scene.daemon().is_some_and(|pid| pid != daemon));
        eventually("both clients have returned", || {
            let back = scene.call_ok(&["events"]).matches("rejoined").count() == 2 * round;
            back && is_queued("x", 1) && is_queued("y", 2)
        });
    }
    scene.call_ok(&["stop", &first]);
    let ended = waiting.wait();
    let printed = (ended.code, ended.stdout.as_str());
    assert_eq!(printed, (7, "by standard input\nkept\n"), "{ended:?}");
    assert_eq!(behind.wait().code, 8);
    assert_eq!(scene.session("x")["id"], id, "it is the same session");
    assert_eq!(scene.sessions().len(), 3);
    scene.assert_nothing_left();
    scene.stop_daemon();
}

/// Kennel does not wait for a client that died with the daemon.
#[test]
fn a_queued_client_killed_with_the_daemon_is_dropped() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    configure(&scene, "daemon.max_live = 1\n");
    let first = scene.launch(&[], &["sleep"]);
    let waiting = scene.start(&["--queue", "--name", "x"], &["sleep"]);
    eventually("it is queued", || {
        scene.sessions().iter().any(|it| it["name"] == "x" && it["queue_position"] == 1)
    });
    let daemon = scene.daemon().expect("a daemon");
    // Neither notices the end of the other.
    waiting.signal("STOP");
    signal(daemon, "KILL");
    waiting.signal("KILL");
    let _killed = waiting.wait();
    eventually("there is another daemon", || scene.daemon().is_some_and(|pid| pid != daemon));
    assert_eq!(scene.session("x")["queue_position"], 1, "its client may return");
    faults.set_clock(std::time::Duration::from_secs(60));
    let session = scene.wait_phase("x", "cleaned");
    assert_eq!(session["reason"]["kind"], "client_gone", "{session:#}");
    assert_eq!(session["exit"]["kind"], "never_ran", "{session:#}");
    scene.call_ok(&["stop", &first]);
    scene.stop_daemon();
}

/// A queued resume also keeps its position, streams and session.
#[test]
fn a_queued_foreground_resume_outlives_the_daemon() {
    let Some(scene) = scene("daemon.max_live = 1\n") else { return };
    let ended = scene.launch_command(&["--name", "x"], &["/bin/sh", "-c", "echo $WORD; exit 7"]);
    scene.wait_phase(&ended, "cleaned");
    let first = scene.launch(&[], &["sleep"]);
    let mut command = scene.kennel(&["resume", "--queue", "x"]);
    command.env("WORD", "kept");
    let waiting = Running::start(command);
    let is_queued = || scene.session("x")["queue_position"] == 1;
    eventually("it is queued", is_queued);
    let daemon = scene.daemon().expect("a daemon");
    signal(daemon, "KILL");
    eventually("its client has returned", || {
        scene.call_ok(&["events"]).contains("rejoined") && is_queued()
    });
    scene.call_ok(&["stop", &first]);
    let waited = waiting.wait();
    assert_eq!((waited.code, waited.stdout.as_str()), (7, "kept\n"), "{waited:?}");
    assert_eq!(scene.session("x")["id"], format!("{ended}_2"));
    scene.stop_daemon();
}
