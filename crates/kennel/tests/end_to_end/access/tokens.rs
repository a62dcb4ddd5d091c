//! Tokens: valid, invalid, read-only and stolen ones.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use kennel_testing::{Scene, eventually, signal};
use serde_json::Value;

use super::client::ends;
use super::{open, token};

fn new_token(scene: &Scene, flags: &[&str]) -> String {
    scene.call_ok(&[&["token", "new"], flags].concat()).trim_end().to_owned()
}

#[test]
fn only_a_valid_token_gets_access() {
    let Some((scene, tcp)) = open() else { return };
    let good = tcp.token.clone();
    assert_eq!(tcp.ask("GET", "/v1/sessions").status, 200);
    let missing = tcp.with("GET", "/v1/sessions", &[]);
    assert_eq!(missing.status, 401);
    assert_eq!(missing.header("WWW-Authenticate"), Some("Bearer realm=\"kennel\""));
    assert!(missing.body.contains("kennel token show"), "{}", missing.body);
    let short = &good[..good.len() - 1];
    let longer = format!("{good}0");
    for wrong in ["", "x", short, &longer, &good.to_uppercase(), "kennel_"] {
        assert_eq!(tcp.by(wrong, "GET", "/v1/sessions").status, 401, "{wrong:?}");
    }
    let basic = [("Authorization", format!("Basic {good}"))];
    let basic = basic.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(tcp.with("GET", "/v1/sessions", &basic).status, 401);
    // That something is missing is no secret, but only authenticated clients learn it.
    assert_eq!(tcp.with("GET", "/v1/nothing", &[]).status, 401);
    assert_eq!(tcp.ask("GET", "/v1/nothing").status, 404);
    assert_eq!(tcp.with("GET", "/v1/sessions?token=x", &[]).status, 401);
    scene.stop_daemon();
}

#[test]
fn a_read_only_token_can_only_read() {
    let Some((scene, tcp)) = open() else { return };
    let id = scene.launch_ready(&[], &["sleep"]);
    let look = new_token(&scene, &["--read-only", "--name", "eye"]);
    for target in ["/v1/sessions", "/v1/daemon", &format!("/v1/sessions/{id}/inspect")] {
        assert_eq!(tcp.by(&look, "GET", target).status, 200, "{target}");
    }
    for (method, target) in [
        ("POST", format!("/v1/sessions/{id}/stop")),
        ("POST", format!("/v1/sessions/{id}/input")),
        ("POST", "/v1/sessions".to_owned()),
        ("DELETE", format!("/v1/sessions/{id}")),
        ("POST", "/v1/daemon/stop".to_owned()),
        ("POST", "/v1/prune".to_owned()),
        // It would end with its client.
        ("GET", format!("/v1/sessions/{id}/wait?cancel_on_disconnect=true")),
    ] {
        let answer = tcp.by(&look, method, &target);
        assert_eq!(answer.status, 403, "{method} {target}: {answer:?}");
        assert!(answer.body.contains("read-only"), "{answer:?}");
    }
    assert_eq!(scene.session(&id)["phase"], "running");
    let full = new_token(&scene, &[]);
    let host = tcp.host();
    let bearer = format!("Bearer {full}");
    let stop = [("Host", host.as_str()), ("Authorization", &bearer), ("Content-Length", "2")];
    let stop = super::client::request("POST", &format!("/v1/sessions/{id}/stop"), &stop, "{}");
    assert_eq!(tcp.raw(stop.as_bytes()).status, 200);
    scene.wait_phase(&id, "cleaned");
    scene.stop_daemon();
}

#[test]
fn rotating_a_token_revokes_it_and_closes_its_streams() {
    let Some((scene, tcp)) = open() else { return };
    let stolen = tcp.token.clone();
    let other = new_token(&scene, &["--name", "other"]);
    let mut follows = tcp.follow(&stolen);
    let mut stays = tcp.follow(&other);
    let rotated = scene.call(&["token", "rotate"]);
    assert_eq!(rotated.code, 0, "{rotated:?}");
    assert!(rotated.stderr.contains("1 connection closed"), "{rotated:?}");
    assert!(ends(&mut follows), "it was cut");
    assert_eq!(tcp.by(&stolen, "GET", "/v1/sessions").status, 401);
    let fresh = rotated.stdout.trim_end();
    assert_eq!(tcp.by(fresh, "GET", "/v1/sessions").status, 200);
    assert_eq!(token(&scene), fresh);
    // Permanently: the next daemon knows it too.
    let before = scene.daemon().expect("a daemon");
    assert_eq!(tcp.by(&other, "GET", "/v1/sessions").status, 200);
    let revoked = scene.call_ok(&["token", "revoke", "other"]);
    assert_eq!(revoked, "other: revoked; 1 connection closed\n");
    assert!(ends(&mut stays), "it was cut");
    signal(before, "KILL");
    eventually("another daemon is there", || scene.daemon().is_some_and(|pid| pid != before));
    let head = super::client::Tcp { token: fresh.to_owned(), ..tcp.clone() };
    let head = head.head("GET", "/v1/sessions", &[]);
    let answers = || tcp.try_raw(head.as_bytes()).is_ok_and(|answer| answer.status == 200);
    eventually("the new token is valid", answers);
    assert_eq!(tcp.by(&stolen, "GET", "/v1/sessions").status, 401);
    assert_eq!(tcp.by(&other, "GET", "/v1/sessions").status, 401);
    scene.stop_daemon();
}

#[test]
fn tokens_are_listed_named_and_stored_as_hashes() {
    let Some((scene, tcp)) = open() else { return };
    let named = new_token(&scene, &["--name", "ci", "--read-only"]);
    let again = scene.call(&["token", "new", "--name", "ci"]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("already"), "{again:?}");
    for name in ["", "a/b", "..", "main"] {
        assert_eq!(scene.call(&["token", "new", "--name", name]).code, 1, "{name:?}");
    }
    let rotated = scene.call_ok(&["token", "rotate", "ci"]).trim_end().to_owned();
    assert_ne!(rotated, named);
    assert_eq!(tcp.by(&named, "GET", "/v1/daemon").status, 401);
    assert_eq!(tcp.by(&rotated, "GET", "/v1/daemon").status, 200);
    let list = scene.call_json(&["token", "list", "--json"]);
    let list = list.as_array().expect("a list");
    let of = |name: &str| list.iter().find(|token| token["name"] == name).cloned();
    assert_eq!(of("ci").expect("it is listed")["scope"], "read_only");
    assert_eq!(of("main").expect("it is listed")["kind"], "main");
    assert!(scene.call_ok(&["token", "list"]).contains("ci    token       read-only"));
    let kept = fs::read_to_string(scene.kennel_home().join("api.tokens")).expect("the sums");
    assert!(!kept.contains(&rotated["kennel_".len()..]), "{kept}");
    for (args, expected) in [
        (&["token", "revoke", "main"][..], "only rotated"),
        (&["token", "revoke", "none"], "unknown token \"none\""),
        (&["token", "rotate", "none"], "unknown token \"none\""),
    ] {
        let refused = scene.call(args);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    scene.stop_daemon();
}

#[test]
fn the_files_are_private_and_looser_modes_are_corrected() {
    let Some((scene, _tcp)) = open() else { return };
    scene.call_ok(&["token", "new"]);
    let mode = |name: &str| {
        fs::metadata(scene.kennel_home().join(name)).expect("it is there").mode() & 0o777
    };
    for name in ["api.token", "api.tokens", "api.addr"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    for name in ["api.token", "api.tokens"] {
        let loose = fs::Permissions::from_mode(0o644);
        fs::set_permissions(scene.kennel_home().join(name), loose).expect("chmod");
    }
    scene.call_ok(&["daemon", "restart", "--listen", "127.0.0.1:0"]);
    assert_eq!((mode("api.token"), mode("api.tokens")), (0o600, 0o600));
    assert!(scene.logs().contains("other users could read this file until now"));
    scene.stop_daemon();
}

/// Not available over TCP: managing tokens, and requests that need the caller's pid or descriptor.
#[test]
fn some_requests_need_the_socket() {
    let Some((scene, tcp)) = open() else { return };
    for (method, target) in [
        ("GET", "/v1/access/token"),
        ("GET", "/v1/access/tokens"),
        ("POST", "/v1/access/tokens"),
        ("POST", "/v1/access/tokens/main/rotate"),
        ("DELETE", "/v1/access/tokens/main"),
        ("POST", "/v1/access/links"),
        ("POST", "/v1/access/listen"),
        ("POST", "/v1/report"),
        ("POST", "/v1/adopt"),
    ] {
        let answer = tcp.ask(method, target);
        assert_eq!(answer.status, 403, "{method} {target}: {answer:?}");
        assert!(answer.body.contains("not over TCP"), "{answer:?}");
    }
    let id = scene.launch(&[], &["exit", "0"]);
    scene.wait_phase(&id, "cleaned");
    let resume = |stdin: Value| {
        let body = serde_json::json!({
            "env": {}, "stdin": stdin,
        });
        post(&tcp, &format!("/v1/sessions/{id}/resume"), &body)
    };
    let left = resume(serde_json::json!({"deposit": {"ticket": "0".repeat(32)}}));
    assert_eq!(left.status, 403, "{left:?}");
    assert!(left.body.contains("not over TCP"), "{left:?}");
    let again = resume(serde_json::json!("null"));
    assert_eq!(again.status, 200, "all else is as at the socket: {again:?}");
    assert_eq!(token(&scene), tcp.token, "nothing was rotated");
    scene.stop_daemon();
}

fn post(tcp: &super::client::Tcp, target: &str, body: &Value) -> super::client::Answer {
    let body = body.to_string();
    let length = body.len().to_string();
    let head = tcp.head("POST", target, &[("Content-Length", &length)]);
    tcp.raw(format!("{head}{body}").as_bytes())
}
