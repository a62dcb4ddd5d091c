//! Clients with forged hosts, origins, tokens and requests.

use kennel_testing::Scene;

use super::client::{Tcp, request};
use super::open;

/// Checks that the daemon works over both the socket and TCP.
#[track_caller]
fn assert_daemon_works(scene: &Scene, tcp: &Tcp) {
    assert_eq!(tcp.ask("GET", "/v1/daemon").status, 200);
    scene.call_ok(&["ps"]);
}

#[test]
fn a_foreign_host_or_origin_is_refused_even_with_a_token() {
    let Some((scene, tcp)) = open() else { return };
    let port = tcp.address.port();
    let bearer = format!("Bearer {}", tcp.token);
    let asked_as = |host: &str| {
        let headers = [("Host", host), ("Authorization", bearer.as_str())];
        tcp.bare("GET", "/v1/sessions", &headers).status
    };
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(asked_as(&host), 200, "{host}");
    }
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("10.1.2.3:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        "127.0.0.1".to_owned(),
        "localhost".to_owned(),
    ] {
        assert_eq!(asked_as(&host), 421, "{host}");
        // This includes pages that need no token: DNS rebinding reaches nothing.
        assert_eq!(tcp.bare("GET", "/", &[("Host", &host)]).status, 421, "{host}");
    }
    let two = format!("localhost:{port}");
    let twice = [("Host", two.as_str()), ("Host", "evil.example"), ("Authorization", &bearer)];
    assert_eq!(tcp.bare("GET", "/v1/sessions", &twice).status / 100, 4);
    let absolute = [("Host", two.as_str()), ("Authorization", &bearer)];
    let target = "http://evil.example/v1/sessions";
    assert_eq!(tcp.bare("GET", target, &absolute).status, 421);
    let none = tcp.bare("GET", "/v1/sessions", &[("Authorization", &bearer)]);
    assert_eq!(none.status / 100, 4);
    for origin in ["null", "http://evil.example", "http://localhost:1", "https://127.0.0.1"] {
        for method in ["GET", "POST"] {
            let headers = [("Authorization", bearer.as_str()), ("Origin", origin)];
            let answer = tcp.with(method, "/v1/events?follow=true", &headers);
            assert_eq!(answer.status, 403, "{method} {origin}");
        }
    }
    assert_daemon_works(&scene, &tcp);
    scene.stop_daemon();
}

#[test]
fn every_response_has_restrictive_browser_headers() {
    let Some((scene, tcp)) = open() else { return };
    for answer in [
        tcp.ask("GET", "/v1/daemon"),
        tcp.ask("GET", "/v1/nothing"),
        tcp.ask("BREW", "/v1/daemon"),
        tcp.with("GET", "/v1/daemon", &[]),
        tcp.with("GET", "/", &[]),
        tcp.with("GET", "/login?once=x", &[]),
        tcp.bare("GET", "/", &[("Host", "evil.example")]),
    ] {
        let policy = answer.header("Content-Security-Policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{answer:?}");
        assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"), "{answer:?}");
        assert_eq!(answer.header("Access-Control-Allow-Origin"), None, "{answer:?}");
    }
    scene.stop_daemon();
}

#[test]
fn malicious_paths_and_bodies_are_refused() {
    let Some((scene, tcp)) = open() else { return };
    let long = "x".repeat(20_000);
    for reference in [
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e",
        "..",
        "%00",
        "a%00b",
        "%ff%fe",
        "%",
        "%zz",
        "%2f",
        "-rf",
        "%0d%0aSet-Cookie:x",
        long.as_str(),
    ] {
        for target in [
            format!("/v1/sessions/{reference}"),
            format!("/v1/sessions/{reference}/inspect"),
            format!("/v1/plans/{reference}"),
            format!("/v1/members/{reference}"),
            format!("/v1/worktrees/{reference}/losses"),
            format!("/v1/events?session={reference}"),
        ] {
            let shown: String = target.chars().take(60).collect();
            let answer = tcp.ask("GET", &target);
            assert_eq!(answer.status / 100, 4, "{shown}: {answer:?}");
            assert!(!answer.body.contains("root:"), "{shown}");
            assert_eq!(answer.header("Set-Cookie"), None, "{shown}");
        }
    }
    for target in ["//v1/daemon", "/v1//daemon", "/v1/./daemon", "/v1/../v1/daemon", "/V1/daemon"] {
        assert_eq!(tcp.with("GET", target, &[]).status, 401, "{target}");
        assert_eq!(tcp.ask("GET", target).status, 404, "{target}");
    }
    for body in ["", "[]", "null", "{", "{\"argv\": [\"a\\u0000b\"]}", "\u{0}", "{\"hex\": \"zz\"}"]
    {
        let length = body.len().to_string();
        for target in ["/v1/sessions", "/v1/sessions/x/input", "/v1/plans", "/v1/members"] {
            let head = tcp.head("POST", target, &[("Content-Length", &length)]);
            let answer = tcp.raw(format!("{head}{body}").as_bytes());
            assert_eq!(answer.status / 100, 4, "{target} {body:?}: {answer:?}");
        }
    }
    for garbage in [
        &b"\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x00\xff\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ] {
        if let Ok(answer) = tcp.try_raw(&[garbage, b"\r\n\r\n"].concat()) {
            assert_eq!(answer.status / 100, 4, "{garbage:?}: {answer:?}");
        }
    }
    assert_eq!(scene.sessions(), Vec::<serde_json::Value>::new(), "nothing was started");
    assert_daemon_works(&scene, &tcp);
    scene.stop_daemon();
}

#[test]
fn guessing_is_throttled_and_a_valid_token_is_not() {
    let Some((scene, tcp)) = open() else { return };
    let mut refused = 0;
    for number in 0..60 {
        let answer = tcp.by(&format!("kennel_{number:064x}"), "GET", "/v1/sessions");
        match answer.status {
            401 => {}
            429 => {
                refused += 1;
                let wait = answer.header("Retry-After").and_then(|text| text.parse::<u64>().ok());
                assert!(wait.is_some_and(|seconds| seconds >= 1), "{answer:?}");
            }
            other => panic!("{other}: {answer:?}"),
        }
        assert_eq!(tcp.ask("GET", "/v1/sessions").status, 200, "after {number} wrong ones");
    }
    assert!(refused > 0, "the guesses were too slow for this to mean anything");
    let reported = scene.logs().matches("wrong token over TCP").count();
    assert_eq!(reported, 60 - refused, "what is refused unseen is not logged");
    scene.stop_daemon();
}

#[test]
fn no_secret_is_in_a_log() {
    let Some((scene, tcp)) = open() else { return };
    let mut secrets = vec![tcp.token.clone()];
    secrets.push(scene.call_ok(&["token", "new", "--name", "ci"]).trim_end().to_owned());
    let link = scene.call_ok(&["dashboard", "--no-open"]);
    let once = link.trim_end().split_once("once=").expect("a link").1.to_owned();
    let answer = tcp.with("GET", &format!("/login?once={once}"), &[]);
    let cookie = answer.header("Set-Cookie").and_then(|it| it.split([';', '=']).nth(1));
    secrets.extend([once.clone(), cookie.expect("a cookie").to_owned()]);
    assert_eq!(tcp.ask("GET", "/v1/daemon").status, 200);
    // Used, truncated, in the wrong place.
    assert_eq!(tcp.with("GET", &format!("/login?once={once}"), &[]).status, 403);
    assert_eq!(tcp.by(&tcp.token[..40], "GET", "/v1/daemon").status, 401);
    assert_eq!(tcp.ask("GET", &format!("/v1/sessions/{}", tcp.token)).status, 404);
    secrets.push(scene.call_ok(&["token", "rotate"]).trim_end().to_owned());
    assert_eq!(tcp.ask("GET", "/v1/daemon").status, 401);
    scene.stop_daemon();
    let logs = scene.logs();
    assert!(logs.contains("rotated a token") && logs.contains("a browser signed in"), "{logs}");
    for secret in secrets {
        assert!(!logs.contains(&secret[8..40]), "{secret} is in {logs}");
    }
    let request = request("GET", "/", &[], "");
    assert!(tcp.try_raw(request.as_bytes()).is_err(), "the daemon no longer listens");
}
