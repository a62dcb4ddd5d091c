//! Readiness: a session becomes ready in time, or its whole tree is ended.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use kennel_testing::{Ended, Pen, Running, Scene, Who, eventually, everywhere, signal};
use serde_json::Value;

use crate::launch_and_cancel::{assert_cleaned, scene_with_points};

/// A port that is free at this moment.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port().to_string()
}

/// Starts `kennel run -d --wait-ready FLAGS… -- fake-agent BEHAVIOUR…` without waiting.
fn start_waiting(scene: &Scene, flags: &[&str], behaviour: &[&str]) -> Running {
    let flags = [&["-d", "--wait-ready", "--name", "x", "--grace", "100ms"], flags].concat();
    scene.start(&flags, behaviour)
}

fn wait_up(scene: &Scene) {
    eventually("the agent is up", || {
        let sessions = scene.sessions();
        let x = sessions.iter().find(|session| session["name"] == "x");
        x.is_some_and(|x| x["phase"] == "running" && scene.output("x").contains("ready"))
    });
}

/// The agent runs but is not ready; then the file appears, and it is.
#[track_caller]
fn assert_becomes_ready(scene: &Scene, ready: &str, behaviour: &[&str], how: &str) {
    let mut waiting = start_waiting(scene, &["--ready", ready], behaviour);
    wait_up(scene);
    assert_eq!(scene.session("x")["ready"], "waiting");
    let list = scene.call_ok(&["ps"]);
    assert!(list.contains("starting"), "{list}");
    assert!(!waiting.has_ended(), "the client returned before the session was ready");
    fs::write(scene.path("work/go"), "").expect("a file");
    let ended = waiting.wait();
    assert_eq!(ended.code, 0, "{ended:?}");
    let session = scene.session("x");
    assert_eq!(session["id"], Value::from(ended.stdout.trim_end()));
    assert_eq!(session["ready"], "ready");
    let events = scene.call_ok(&["events", "--session", "x"]);
    let line = events.lines().find(|line| line.contains(how));
    assert!(line.is_some_and(|line| line.contains(" ready ")), "{how} is not in {events}");
    scene.call_ok(&["stop", "x"]);
    assert_cleaned(scene, "x");
    scene.stop_daemon();
}

/// Checks a session that did not become ready.
#[track_caller]
fn assert_ended_whole(scene: &Scene, ended: &Ended, code: i32, why: &str) -> Value {
    // Exactly when the answer arrives.
    scene.assert_nothing_left();
    assert_eq!(ended.code, code, "{ended:?}");
    assert!(ended.stderr.contains(why), "{why}: {ended:?}");
    assert_eq!(ended.stdout, "", "no id: {ended:?}");
    assert_cleaned(scene, "x");
    scene.session("x")
}

everywhere! {
    fn a_socket_that_accepts_makes_it_ready(scene: Scene) {
        // Relative to the session's own folder.
        let behaviour = ["listen-socket", "agent.sock", "go"];
        assert_becomes_ready(&scene, "socket:agent.sock", &behaviour, "agent.sock accepts");
    }

    /// At the deadline the whole tree ends, including processes that left the agent's session; only
    /// then it fails.
    fn a_session_that_is_not_ready_in_time_is_ended_completely(scene: Scene) {
        let flags = ["--ready", "line:never", "--ready-timeout", "700ms"];
        let ended = start_waiting(&scene, &flags, &["ignore-term", "2"]).wait();
        let session = assert_ended_whole(&scene, &ended, 208, "was not ready within 700ms");
        assert_eq!(session["reason"]["kind"], "not_ready", "{session:#}");
        assert_eq!(session["ready"], "missed", "{session:#}");
        let events = scene.call_ok(&["events", "--session", "x"]);
        assert!(events.contains("not_ready"), "{events}");
        scene.stop_daemon();
    }

    /// B1
    fn a_cancel_while_waiting_leaves_nothing_and_can_be_repeated(scene: Scene) {
        let flags = ["--ready", "report", "--ready-timeout", "0"];
        let waiting = start_waiting(&scene, &flags, &["ignore-term", "1"]);
        wait_up(&scene);
        let first = Running::start(scene.kennel(&["stop", "--grace", "30s", "x"]));
        scene.wait_phase("x", "stopping");
        let second = scene.call(&["stop", "--now", "x"]);
        let (first, waiting) = (first.wait(), waiting.wait());
        assert_eq!((first.code, second.code), (0, 0), "{first:?} {second:?}");
        let session = assert_ended_whole(&scene, &waiting, 137, "before it was ready");
        assert_eq!(session["reason"]["kind"], "stopped", "{session:#}");
        assert_ne!(session["ready"], "ready");
        scene.stop_daemon();
    }

    /// The remaining time continues, and the check starts again.
    fn a_new_daemon_waits_for_the_remaining_time(scene: Scene) {
        let flags = ["--ready", "line:never", "--ready-timeout", "8s"];
        let begun = Instant::now();
        let waiting = start_waiting(&scene, &flags, &["sleep"]);
        wait_up(&scene);
        eventually("half of its time is over", || begun.elapsed() > Duration::from_secs(4));
        signal(scene.daemon().expect("a daemon"), "KILL");
        let waiting = waiting.wait();
        let session = assert_ended_whole(&scene, &waiting, 208, "was not ready within 8s");
        let lived = lived(&session);
        assert!((7.9..11.9).contains(&lived), "it got the whole timeout again: {lived} s {session:#}");
        scene.stop_daemon();
    }

    fn a_new_daemon_finds_an_earlier_sign(scene: Scene) {
        let script = "echo up; while [ ! -e go ]; do sleep 0.01; done; echo listening; sleep 1000";
        let flags = ["--name", "x", "--ready", "line:^listening$"];
        scene.launch_command(&flags, &["/bin/sh", "-c", script]);
        scene.call_ok(&["daemon", "stop", "--keep"]);
        fs::write(scene.path("work/go"), "").expect("a file");
        eventually("it was printed", || crate::journal::Journal::read(&folder(&scene)).text.contains("listening"));
        eventually("it is ready", || scene.session("x")["ready"] == "ready");
        scene.call_ok(&["stop", "x"]);
        scene.stop_daemon();
    }
}

/// The failure reports what was seen instead.
#[test]
fn the_reason_for_not_being_ready_is_reported() {
    let Some(scene) = Scene::new(Who::Other, Pen::Subtree) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    // It ends with the test.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client");
            let _read = std::io::Read::read(&mut stream, &mut [0; 1024]);
            let _written = std::io::Write::write_all(&mut stream, b"HTTP/1.1 404 no\r\n\r\n");
        }
    });
    for (ready, saw) in [
        (format!("http://{address}/health"), "the last response was 404"),
        (format!("tcp:{}", free_port()), "connection refused"),
        ("socket:never.sock".to_owned(), "no such socket"),
        ("line:never".to_owned(), "no line of its output matched"),
        ("report".to_owned(), "no report arrived"),
    ] {
        let flags = ["--ready", &ready, "--ready-timeout", "500ms"];
        let ended = start_waiting(&scene, &flags, &["sleep"]).wait();
        let why = format!("was not ready within 500ms: {saw}; it was stopped");
        let session = assert_ended_whole(&scene, &ended, 208, &why);
        assert_eq!(session["reason"]["saw"], saw, "{session:#}");
        let events = scene.call_ok(&["events", "--session", "x"]);
        let line = events.lines().find(|line| line.contains("not_ready"));
        assert!(line.is_some_and(|line| line.contains(saw)), "{saw} is not in {events}");
        scene.call_ok(&["rm", "x"]);
    }
    scene.stop_daemon();
}

/// The folder of the only session.
fn folder(scene: &Scene) -> std::path::PathBuf {
    let mut folders = fs::read_dir(scene.kennel_home().join("sessions")).expect("sessions");
    folders.next().expect("one").expect("readable").path()
}

/// How long the program ran, in seconds.
fn lived(session: &Value) -> f64 {
    let seconds = |key: &str| {
        let text = session[key].as_str().expect("a time");
        let clock = text.split_once('T').expect("RFC 3339").1.trim_end_matches('Z');
        let parts: Vec<f64> =
            clock.split(':').map(|part| part.parse().expect("a number")).collect();
        parts[0] * 3600.0 + parts[1] * 60.0 + parts[2]
    };
    (seconds("ended_at") - seconds("started_at")).rem_euclid(86_400.0)
}

fn scene() -> Option<Scene> {
    Scene::new(Who::Other, Pen::Subtree)
}

#[test]
fn a_port_that_accepts_makes_it_ready() {
    let Some(scene) = scene() else { return };
    let port = free_port();
    let ready = format!("tcp:{port}");
    assert_becomes_ready(&scene, &ready, &["listen-tcp", &port, "go"], "accepts");
}

#[test]
fn an_http_2xx_response_makes_it_ready() {
    let Some(scene) = scene() else { return };
    let port = free_port();
    let ready = format!("http://127.0.0.1:{port}/health");
    assert_becomes_ready(&scene, &ready, &["serve-http", &port, "go"], "answers");
}

#[test]
fn a_line_makes_it_ready_on_each_stream_incomplete_or_coloured() {
    let Some(scene) = scene() else { return };
    let go = "echo ready; while [ ! -e go ]; do sleep 0.01; done";
    for (print, terminal) in [
        ("echo 'now listening on 80'", false),
        ("echo 'now listening on 80' >&2", false),
        ("printf 'now listening on 80'", false),
        ("printf '\\033[1mnow \\033[32mlistening\\033[0m on 80\\r\\n'", true),
        ("printf 'x%.0s' $(seq 40000); echo; echo 'now listening on 80'", false),
    ] {
        let script = format!("{go}; {print}; exec {} sleep", scene.fake_agent());
        let flags =
            ["-d", "--wait-ready", "--name", "x", "--ready", "line:now listening on [0-9]+"];
        let flags = [&flags[..], if terminal { &["-t"] } else { &["-T"] }].concat();
        let mut waiting = Running::start(scene.run_command(&flags, &["/bin/sh", "-c", &script]));
        wait_up(&scene);
        assert!(!waiting.has_ended(), "{print}");
        fs::write(scene.path("work/go"), "").expect("a file");
        let ended = waiting.wait();
        assert_eq!(ended.code, 0, "{print}: {ended:?}");
        assert_eq!(scene.session("x")["ready"], "ready", "{print}");
        scene.call_ok(&["stop", "x"]);
        scene.call_ok(&["rm", "x"]);
        fs::remove_file(scene.path("work/go")).expect("it is there");
    }
    scene.stop_daemon();
}

/// The exit codes of `--wait-ready`.
#[test]
fn a_session_that_ends_before_it_is_ready_fails_with_its_own_code() {
    let Some(scene) = scene() else { return };
    for (behaviour, code, why) in [
        (&["exit", "3"][..], 3, "exited with code 3 before it was ready"),
        (&["exit", "0"], 208, "exited with code 0 before it was ready"),
        (&["signal", "9"], 137, "exited with code 137 before it was ready"),
    ] {
        let ended = start_waiting(&scene, &["--ready", "line:never"], behaviour).wait();
        let session = assert_ended_whole(&scene, &ended, code, why);
        assert_ne!(session["ready"], "ready", "{session:#}");
        scene.call_ok(&["rm", "x"]);
    }
    let flags = ["-d", "--wait-ready", "--ready", "report"];
    let ended = Running::start(scene.run_command(&flags, &["/no/such/program"])).wait();
    assert_eq!(ended.code, 204, "{ended:?}");
    let unasked = start_waiting(&scene, &[], &["sleep"]).wait();
    assert_eq!(unasked.code, 201, "there is nothing to wait for: {unasked:?}");
    let foreground = scene.run(&["--wait-ready"], &["exit", "0"]);
    assert_eq!(foreground.code, 201, "{foreground:?}");
    scene.stop_daemon();
}

#[test]
fn invalid_readiness_checks_are_refused_before_anything_is_created() {
    let Some(scene) = scene() else { return };
    for (ready, code, why) in [
        ("line:up(", 202, "unclosed group"),
        ("https://localhost/", 201, "check https"),
        ("tcp:99999", 201, "invalid port"),
        ("http://me:secret@localhost/", 202, "password"),
        ("soon", 201, "expected none, line:REGEX"),
    ] {
        let refused = scene.run(&["-d", "--ready", ready], &["sleep"]);
        assert_eq!(refused.code, code, "{ready}: {refused:?}");
        assert!(refused.stderr.contains(why), "{ready}: {refused:?}");
    }
    assert_eq!(scene.sessions(), Vec::<Value>::new());
    scene.stop_daemon();
}

/// A foreground run that is not ready in time reports why it was ended.
#[test]
fn a_foreground_run_that_is_not_ready_in_time_is_ended_with_a_reason() {
    let Some(scene) = scene() else { return };
    let flags = ["--ready", "report", "--ready-timeout", "500ms", "--grace", "100ms"];
    let ended = scene.run(&flags, &["setsid", "2"]);
    scene.assert_nothing_left();
    assert_eq!(ended.code, 143, "{ended:?}");
    assert!(ended.stderr.contains("not ready within 500ms"), "{ended:?}");
    scene.stop_daemon();
}

/// A sign that arrives at the moment of a stop changes nothing.
#[test]
fn a_stop_wins_over_a_pending_sign() {
    let Some((scene, faults)) = scene_with_points(Who::Other, Pen::Subtree) else { return };
    scene.call_ok(&["daemon", "start"]);
    faults.arm("daemon.ready.begun");
    let waiting = start_waiting(&scene, &["--ready", "line:ready"], &["sleep"]);
    let held = faults.wait_reached("daemon.ready.begun", Duration::from_secs(20));
    assert_eq!(held, scene.daemon());
    // The first client has disconnected when the daemon checks again, and its session ends with it.
    waiting.signal("INT");
    faults.disarm("daemon.ready.begun");
    let ended = waiting.wait();
    scene.assert_nothing_left_soon();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert_cleaned(&scene, "x");
    scene.stop_daemon();
}

const DOCS: &str = include_str!("../../../../docs/readiness.md");

/// Every example on the page works.
#[test]
fn the_examples_in_the_docs_work() {
    let examples: Vec<_> = DOCS.split("```sh\n").skip(1).collect();
    assert_eq!(examples.len(), 5, "all are found");
    for example in examples {
        let Some(scene) = scene() else { return };
        let script = example.split("```").next().expect("its end");
        let mut command = scene.command(std::path::Path::new("/bin/sh"));
        let folder = scene.path("kennel");
        let folder = folder.parent().expect("the scene").display();
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["-e", "-c", script]).env("PATH", format!("{folder}:{path}"));
        command.env("KENNEL_HOME", scene.kennel_home());
        let ended = Running::start(command).wait();
        assert_eq!(ended.code, 0, "{script}\n{}\n{}", ended.stdout, ended.stderr);
        scene.stop_daemon();
    }
}
