//! The dashboard: its files for signed-in browsers, and sign-in instructions for all others.

use std::fs;
use std::io::{Read, Write};

use super::client::{Answer, Tcp, ends, request};
use super::sign_in_link::{follow, link};
use super::{open, scene};
use kennel_testing::{Running, Scene};

/// The headers of a browser's navigation.
const NAVIGATION: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

/// A daemon with a page from a folder of the scene, and the cookie of a signed-in browser.
fn with_a_page() -> Option<(Scene, Tcp, String)> {
    let scene = scene()?;
    let folder = scene.path("work/dist");
    fs::create_dir_all(folder.join("assets")).expect("a folder");
    fs::write(folder.join("index.html"), "<p>the page</p>").expect("written");
    fs::write(folder.join("assets/app-1.js"), "app()").expect("written");
    fs::write(scene.path("work/secret.js"), "no").expect("written");
    let mut start = scene.kennel(&["daemon", "start", "--listen", "127.0.0.1:0"]);
    start.env("KENNEL_WEB_DIR", &folder);
    let started = Running::start(start).wait();
    assert_eq!(started.code, 0, "{}", started.stderr);
    let tcp = Tcp::of(&scene);
    let cookie = follow(&tcp, &link(&scene, &tcp, &[]));
    Some((scene, tcp, cookie))
}

#[test]
fn every_path_of_the_app_serves_its_page() {
    let Some((scene, tcp, cookie)) = with_a_page() else { return };
    let get = |method: &str, path: &str, more: &[(&str, &str)]| -> Answer {
        tcp.with(method, path, &[&[("Cookie", cookie.as_str())], more].concat())
    };
    for (path, more) in
        [("/", &[][..]), ("/sessions/0sp2m5p09ddg", &[NAVIGATION]), ("/plans?x=1", &[NAVIGATION])]
    {
        let page = get("GET", path, more);
        assert_eq!((page.status, page.body.as_str()), (200, "<p>the page</p>"), "{path}");
        assert_eq!(page.header("Content-Type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("Cache-Control"), Some("no-cache"));
        let policy = page.header("Content-Security-Policy").expect("a policy");
        assert!(policy.contains("script-src 'self';") && policy.contains("form-action 'none'"));
        let tag = page.header("ETag").expect("a tag").to_owned();
        let same = get("GET", path, &[more, &[("If-None-Match", tag.as_str())]].concat());
        assert_eq!((same.status, same.body.as_str()), (304, ""), "{path}");
        assert_eq!(same.header("ETag"), Some(tag.as_str()));
        let head = get("HEAD", path, more);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        assert_eq!(head.header("Content-Length"), Some("15"));
    }
    let script = get("GET", "/assets/app-1.js", &[]);
    assert_eq!((script.status, script.body.as_str()), (200, "app()"));
    assert_eq!(script.header("Content-Type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("X-Content-Type-Options"), Some("nosniff"));
    // Unknown API paths and missing files are not pages.
    for path in ["/v1/nothing", "/v1", "/assets/app-2.js", "/assets/", "/assets/../../secret.js"] {
        let nothing = get("GET", path, &[NAVIGATION]);
        assert_eq!(nothing.status, 404, "{path}: {nothing:?}");
        assert_eq!(nothing.header("Content-Type"), Some("application/problem+json"), "{path}");
        assert_eq!(nothing.header("Cache-Control"), Some("no-store"), "{path}");
    }
    assert_eq!(get("GET", "/sessions/x", &[("Accept", "*/*")]).status, 404, "no page is wanted");
    let ours = format!("http://{}", tcp.host());
    assert_eq!(get("POST", "/sessions/x", &[NAVIGATION, ("Origin", &ours)]).status, 404);
    // Clients with a token see it too; the socket serves no page.
    assert_eq!(tcp.ask("GET", "/").status, 200);
    fs::write(scene.path("work/dist/index.html"), "<p>another</p>").expect("written");
    assert_eq!(get("GET", "/", &[]).body, "<p>another</p>", "it is read each time");
    scene.stop_daemon();
}

#[test]
fn a_signed_out_browser_gets_sign_in_instructions() {
    let Some((scene, tcp, cookie)) = with_a_page() else { return };
    for path in ["/", "/sessions/x"] {
        let page = tcp.with("GET", path, &[NAVIGATION]);
        assert_eq!(page.status, 401, "{path}");
        assert_eq!(page.header("Content-Type"), Some("text/html; charset=utf-8"));
        assert!(page.body.contains("<pre>kennel dashboard</pre>"), "{}", page.body);
        assert!(!page.body.contains("the page") && !page.body.contains("http-equiv"));
        let invalid = tcp.with("GET", path, &[NAVIGATION, ("Cookie", "kennel_1=x")]);
        assert_eq!(invalid.status, 401);
        // A browser does not send its cookie when another page links here; from this page it does.
        let cross_site = tcp.with("GET", path, &[NAVIGATION, ("Sec-Fetch-Site", "cross-site")]);
        assert_eq!(cross_site.status, 401);
        assert!(cross_site.body.contains(&format!("url={path}\"")), "{}", cross_site.body);
        let on = [NAVIGATION, ("Sec-Fetch-Site", "same-origin"), ("Cookie", &cookie)];
        assert_eq!(tcp.with("GET", path, &on).body, "<p>the page</p>");
    }
    for (path, status) in [("/assets/app-1.js", 401), ("/v1/sessions", 401)] {
        let refused = tcp.with("GET", path, &[NAVIGATION]);
        assert_eq!(refused.status, status, "{path}");
        assert_eq!(refused.header("Content-Type"), Some("application/problem+json"), "{path}");
        let cross_site = tcp.with("GET", path, &[NAVIGATION, ("Sec-Fetch-Site", "cross-site")]);
        assert_eq!(cross_site.status, 403, "{path}");
    }
    scene.stop_daemon();
}

#[test]
fn a_binary_without_a_page_explains_why() {
    let Some((scene, tcp)) = open() else { return };
    let cookie = follow(&tcp, &link(&scene, &tcp, &[]));
    let front = tcp.with("GET", "/sessions/x", &[NAVIGATION, ("Cookie", &cookie)]);
    assert_eq!(front.status, 200, "{front:?}");
    if front.body.contains("<script") {
        let script_path = front.body.split("src=\"").nth(1).and_then(|rest| rest.split('"').next());
        let script_path = script_path.expect("a script");
        let script =
            tcp.with("GET", script_path, &[("Cookie", &cookie), ("Accept-Encoding", "gzip")]);
        assert_eq!(script.header("Content-Encoding"), Some("gzip"), "{script_path}");
        assert!(script.header("Cache-Control").is_some_and(|kept| kept.contains("immutable")));
    } else {
        assert!(front.body.contains("KENNEL_WEB=require cargo build"), "{}", front.body);
        assert!(front.body.contains(env!("CARGO_PKG_VERSION")), "{}", front.body);
    }
    scene.stop_daemon();
}

#[test]
fn a_page_needs_nothing_but_its_cookie() {
    let Some((scene, tcp)) = open() else { return };
    scene.launch_ready(&["--name", "x", "-t"], &["sleep"]);
    let cookie = follow(&tcp, &link(&scene, &tcp, &[]));
    let ours = format!("http://{}", tcp.host());
    // As browsers make them: a fetch, an event source, a WebSocket.
    let page = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let fetched = tcp.with("GET", "/v1/access/me", &page);
    let me: serde_json::Value = serde_json::from_str(&fetched.body).expect("JSON");
    assert_eq!((&me["scope"], &me["via"]), (&"full".into(), &"browser".into()), "{me:#}");
    assert_eq!(me["home"], scene.kennel_home().to_str().expect("a plain path"));
    assert_eq!(me["version"], env!("CARGO_PKG_VERSION"));
    assert!(me["host"].is_string() && me["name"] == "browser-1", "{me:#}");
    let changes = [&page[..], &[("Origin", &ours), ("Content-Length", "0")]].concat();
    assert_eq!(tcp.with("POST", "/v1/prune", &changes).status, 200);
    let events = [&page[..], &[("Accept", "text/event-stream")]].concat();
    for (path, more, status) in [
        ("/v1/events", &events[..], "200"),
        ("/v1/sessions/x/output?follow=true", &events[..], "200"),
        ("/v1/sessions/x/terminal", &socket(&cookie, &ours), "101"),
        ("/v1/sessions/x/terminal", &socket(&cookie, "http://evil.example"), "403"),
    ] {
        let host = tcp.host();
        let headers = [&[("Host", host.as_str())], more].concat();
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut stream = tcp.connect();
        let head = format!("GET {path} HTTP/1.1\r\n{lines}\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer begins");
        assert_eq!(&first[9..], status.as_bytes(), "{path}");
    }
    scene.call_ok(&["stop", "x"]);
    scene.stop_daemon();
}

/// The headers with which a browser opens a WebSocket.
fn socket<'a>(cookie: &'a str, origin: &'a str) -> [(&'static str, &'a str); 6] {
    [
        ("Cookie", cookie),
        ("Origin", origin),
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
}

#[test]
fn signing_out_is_final_for_read_only_browsers_too() {
    let Some((scene, tcp)) = open() else { return };
    let ours = format!("http://{}", tcp.host());
    let other = follow(&tcp, &link(&scene, &tcp, &[]));
    let read_only = follow(&tcp, &link(&scene, &tcp, &["--read-only"]));
    let me = tcp.with("GET", "/v1/access/me", &[("Cookie", &read_only)]);
    assert!(me.body.contains("\"scope\":\"read_only\""), "{}", me.body);
    let mut followed = tcp.connect();
    let head = request(
        "GET",
        "/v1/events?follow=true",
        &[("Host", &tcp.host()), ("Cookie", &read_only)],
        "",
    );
    followed.write_all(head.as_bytes()).expect("sent");
    followed.read_exact(&mut [0; 12]).expect("an answer begins");
    let sign_out = |cookie: &str| {
        tcp.with("POST", "/v1/access/logout", &[("Cookie", cookie), ("Origin", &ours)])
    };
    assert_eq!(
        tcp.with("POST", "/v1/access/logout", &[("Cookie", &read_only)]).status,
        403,
        "forged"
    );
    let left = sign_out(&read_only);
    assert_eq!(left.status, 204, "{left:?}");
    let cleared = left.header("Set-Cookie").expect("a cookie");
    assert!(cleared.contains("Max-Age=0") && cleared.contains("=; "), "{cleared}");
    assert!(ends(&mut followed), "its other connections are cut");
    assert_eq!(sign_out(&read_only).status, 401, "it is signed out");
    assert_eq!(tcp.with("GET", "/v1/sessions", &[("Cookie", &read_only)]).status, 401);
    assert_eq!(tcp.with("GET", "/v1/sessions", &[("Cookie", &other)]).status, 200);
    scene.call_ok(&["daemon", "restart", "--listen", &tcp.host()]);
    assert_eq!(
        tcp.with("GET", "/v1/sessions", &[("Cookie", &read_only)]).status,
        401,
        "permanently"
    );
    assert_eq!(tcp.ask("POST", "/v1/access/logout").status, 409, "a token is revoked");
    scene.stop_daemon();
}
