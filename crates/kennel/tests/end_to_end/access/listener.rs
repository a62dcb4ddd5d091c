//! Where the API listens on TCP, and that a failure to listen affects nothing else.

use std::net::TcpListener;

use kennel_testing::{Scene, eventually, signal};
use serde_json::Value;

use super::client::{Tcp, address};
use super::{open, scene};
use crate::config::configure;

fn listen(scene: &Scene) -> Value {
    scene.call_json(&["daemon", "status", "--json"])["listen"].clone()
}

fn kill_daemon(scene: &Scene) {
    let before = scene.daemon().expect("a daemon");
    signal(before, "KILL");
    eventually("another daemon is there", || scene.daemon().is_some_and(|pid| pid != before));
}

/// Waits until the API is available again.
fn wait_until_back(tcp: &Tcp) {
    let head = tcp.head("GET", "/v1/daemon", &[]);
    let answers = || tcp.try_raw(head.as_bytes()).is_ok_and(|answer| answer.status == 200);
    eventually("the API is back at the same address", answers);
}

#[test]
fn the_api_listens_on_tcp_only_on_request() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["daemon", "start"]);
    assert_eq!(listen(&scene), Value::Null);
    assert!(!scene.kennel_home().join("api.addr").exists());
    // A running daemon accepts the request too, also twice.
    for _ in 0..2 {
        let printed = scene.call_ok(&["daemon", "start", "--listen", "localhost:0"]);
        assert!(printed.contains(&format!("API at http://{}", address(&scene))), "{printed}");
    }
    let tcp = Tcp::of(&scene);
    assert_eq!(tcp.ask("GET", "/v1/daemon").status, 200);
    let view = listen(&scene);
    assert_eq!((&view["state"], &view["address"]), (&"open".into(), &tcp.host().into()));
    let text = scene.call_ok(&["daemon", "status"]);
    assert!(text.contains(&format!("API        http://{}", tcp.host())), "{text}");
    let elsewhere = scene.call(&["daemon", "start", "--listen", "127.0.0.2:0"]);
    assert_eq!(elsewhere.code, 202, "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("daemon restart --listen"), "{elsewhere:?}");
    scene.stop_daemon();
    assert!(!scene.kennel_home().join("api.addr").exists(), "no daemon listens there any more");
}

#[test]
fn a_restarted_daemon_has_the_same_address() {
    let Some((scene, tcp)) = open() else { return };
    kill_daemon(&scene);
    wait_until_back(&tcp);
    configure(&scene, "api.listen = '127.0.0.1:0'");
    scene.call_ok(&["daemon", "restart"]);
    wait_until_back(&tcp);
    // To turn it off, restart without it.
    configure(&scene, "");
    scene.call_ok(&["daemon", "restart"]);
    assert_eq!(listen(&scene), Value::Null);
    scene.stop_daemon();
}

#[test]
fn a_listener_opened_by_the_dashboard_survives_a_crash_but_not_a_stop() {
    let Some(scene) = scene() else { return };
    scene.call_ok(&["dashboard", "--no-open"]);
    let tcp = Tcp::of(&scene);
    kill_daemon(&scene);
    wait_until_back(&tcp);
    scene.call_ok(&["daemon", "restart"]);
    wait_until_back(&tcp);
    scene.stop_daemon();
    scene.call_ok(&["daemon", "start"]);
    assert_eq!(listen(&scene), Value::Null);
    scene.stop_daemon();
}

#[test]
fn a_taken_port_is_reported_and_the_socket_still_works() {
    let Some(scene) = scene() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let failed = scene.call(&["daemon", "start", "--listen", &address]);
    assert_eq!(failed.code, 202, "{failed:?}");
    for part in ["the daemon runs, but", &address, "in use", "hint: another program"] {
        assert!(failed.stderr.contains(part), "{part} is not in {failed:?}");
    }
    let view = listen(&scene);
    assert_eq!(view["state"], "failing", "{view}");
    let text = scene.call_ok(&["daemon", "status"]);
    assert!(text.contains("API        not listening on TCP, will retry"), "{text}");
    // A daemon that starts by itself works too, and sessions run.
    kill_daemon(&scene);
    let id = scene.launch(&[], &["exit", "0"]);
    scene.call_ok(&["wait", &id]);
    let logs = scene.logs();
    assert_eq!(logs.matches("can't serve the API over TCP").count(), 2, "once each: {logs}");
    drop(taken);
    eventually("the port is free and the API listens", || listen(&scene)["state"] == "open");
    assert_eq!(Tcp::of(&scene).host(), address);
    scene.stop_daemon();
}
