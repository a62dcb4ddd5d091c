//! Slow clients, many clients and huge requests do not affect others.

use std::io::{Read, Write};
use std::net::TcpStream;

use kennel_testing::{Running, Scene, eventually};

use super::client::{Tcp, ends};
use super::open;

/// Checks that other clients are served on the socket and over TCP.
#[track_caller]
fn others_are_served(scene: &Scene, tcp: &Tcp) {
    assert_eq!(tcp.ask("GET", "/v1/daemon").status, 200);
    let id = scene.launch(&[], &["exit", "0"]);
    scene.call_ok(&["wait", &id]);
    assert_eq!(tcp.ask("GET", &format!("/v1/sessions/{id}")).status, 200);
}

#[test]
fn idle_connections_lock_no_client_out() {
    let Some((scene, tcp)) = open() else { return };
    // Far more than the limit. The first ones are closed.
    let mut idle: Vec<TcpStream> = (0..400).map(|_| tcp.connect()).collect();
    others_are_served(&scene, &tcp);
    let (first, last) = idle.split_at_mut(200);
    assert!(first.iter_mut().all(ends), "the first ones were cut");
    for stream in &mut *last {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").ok();
    }
    others_are_served(&scene, &tcp);
    // Slow ones have limited time.
    assert!(last.iter_mut().all(ends), "slow clients are disconnected");
    others_are_served(&scene, &tcp);
    scene.stop_daemon();
}

#[test]
fn authenticated_connections_are_bounded_and_the_socket_still_works() {
    let Some((scene, tcp)) = open() else { return };
    let mut streams = Vec::new();
    let refused = loop {
        assert!(streams.len() < 1000, "there is no bound");
        let mut stream = tcp.connect();
        stream.write_all(tcp.head("GET", "/v1/events?follow=true", &[]).as_bytes()).ok();
        let mut first = [0; 12];
        match stream.read_exact(&mut first) {
            Ok(()) if &first == b"HTTP/1.1 200" => streams.push(stream),
            Ok(()) => break String::from_utf8_lossy(&first).into_owned(),
            Err(error) => panic!("no clear refusal: {error}"),
        }
    };
    assert_eq!(refused, "HTTP/1.1 503");
    let id = scene.launch(&[], &["exit", "0"]);
    scene.call_ok(&["wait", &id]);
    drop(streams);
    let head = tcp.head("GET", "/v1/daemon", &[]);
    let answers = || tcp.try_raw(head.as_bytes()).is_ok_and(|answer| answer.status == 200);
    eventually("there is room again", answers);
    scene.stop_daemon();
}

#[test]
fn slow_bodies_are_dropped() {
    let Some((scene, tcp)) = open() else { return };
    let heads = [("POST", "/v1/sessions"), ("POST", "/v1/prune")];
    let mut slow: Vec<TcpStream> = heads
        .iter()
        .map(|(method, target)| {
            let mut stream = tcp.connect();
            let head = tcp.head(method, target, &[("Content-Length", "1000")]);
            stream.write_all(format!("{head}{{").as_bytes()).expect("sent");
            stream
        })
        .collect();
    others_are_served(&scene, &tcp);
    for stream in &mut slow {
        let mut answer = Vec::new();
        // Refused or closed, but not waited for.
        stream.read_to_end(&mut answer).ok();
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    }
    others_are_served(&scene, &tcp);
    scene.stop_daemon();
}

#[test]
fn huge_requests_are_refused_and_cost_nothing() {
    let Some((scene, tcp)) = open() else { return };
    let huge = tcp.head("POST", "/v1/sessions", &[("Content-Length", "1099511627776")]);
    assert_eq!(tcp.raw(huge.as_bytes()).status, 413);
    // Without a token the body is not read, whatever its declared length.
    let unauthenticated = tcp.with("POST", "/v1/sessions", &[("Content-Length", "1000000")]);
    assert_eq!(unauthenticated.status, 401);
    // A body without a declared length is read up to the limit.
    let mut endless = tcp.connect();
    let head = tcp.head("POST", "/v1/sessions", &[("Transfer-Encoding", "chunked")]);
    endless.write_all(head.as_bytes()).expect("sent");
    let chunk = format!("10000\r\n{}\r\n", "[".repeat(0x10000));
    let taken = (0..2000).take_while(|_| endless.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(taken < 2000, "128 MB were taken");
    for head in [
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000)),
        format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1000)),
    ] {
        if let Ok(answer) = tcp.try_raw(head.as_bytes()) {
            assert_eq!(answer.status / 100, 4, "{answer:?}");
        }
    }
    others_are_served(&scene, &tcp);
    scene.stop_daemon();
}

/// A client that never reads a long response is disconnected, as on the socket.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let Some(scene) = super::scene() else { return };
    let mut start = scene.kennel(&["daemon", "start", "--listen", "127.0.0.1:0"]);
    start.env("KENNEL_DAEMON_WRITE_TIMEOUT", "1s");
    assert_eq!(Running::start(start).wait().code, 0);
    let tcp = Tcp::of(&scene);
    // More than the buffers of both sides hold.
    let flood = (64 << 20).to_string();
    let id = scene.launch(&["--output-limit", "96M"], &["flood", &flood]);
    scene.call_ok(&["wait", &id]);
    let mut stuck = tcp.connect();
    let target = format!("/v1/sessions/{id}/output?format=raw");
    stuck.write_all(tcp.head("GET", &target, &[]).as_bytes()).expect("sent");
    let local = stuck.local_addr().expect("an address").port();
    let daemon = scene.daemon().expect("a daemon");
    eventually("it is cut off", || !holds_connection_to(daemon, local));
    others_are_served(&scene, &tcp);
    scene.stop_daemon();
}

/// Whether a process has a TCP connection to this remote port.
fn holds_connection_to(pid: i32, port: u16) -> bool {
    let sockets = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).expect("its sockets");
    let other_end = format!(":{port:04X}");
    sockets
        .lines()
        .filter_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            // It is established and has an owner.
            (fields.get(3) == Some(&"01"))
                .then(|| fields.get(2).is_some_and(|to| to.ends_with(&other_end)))
        })
        .any(|it| it)
}
