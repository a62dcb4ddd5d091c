//! Browsers sign in with a one-time link, get a cookie, and grant other pages nothing.

use super::client::Tcp;
use super::open;
use kennel_testing::Scene;

/// The part after the address in a new link.
pub(super) fn link(scene: &Scene, tcp: &Tcp, flags: &[&str]) -> String {
    let url = scene.call_ok(&[&["dashboard", "--no-open"], flags].concat());
    let start = format!("http://{}/login?once=kennel_", tcp.host());
    assert!(url.starts_with(&start), "{url}");
    url.trim_end().strip_prefix(&format!("http://{}", tcp.host())).expect("just seen").to_owned()
}

/// Follows a link and returns its cookie.
#[track_caller]
pub(super) fn follow(tcp: &Tcp, link: &str) -> String {
    let answer = tcp.with("GET", link, &[("Sec-Fetch-Site", "none")]);
    assert_eq!(answer.status, 303, "{answer:?}");
    assert_eq!(answer.header("Location"), Some("/"));
    assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"));
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    let cookie = answer.header("Set-Cookie").expect("a cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    cookie.split(';').next().expect("a pair").to_owned()
}

#[test]
fn a_link_signs_a_browser_in_once() {
    let Some((scene, tcp)) = open() else { return };
    let link = link(&scene, &tcp, &[]);
    // A prefetch does not use it up.
    assert_eq!(tcp.with("HEAD", &link, &[]).status, 204);
    assert_eq!(tcp.with("GET", &link, &[("Sec-Purpose", "prefetch")]).status, 204);
    let cookie = follow(&tcp, &link);
    let again = tcp.with("GET", &link, &[]);
    assert_eq!(again.status, 403);
    assert!(again.body.contains("kennel dashboard") && again.header("Set-Cookie").is_none());
    let front = tcp.with("GET", "/", &[("Cookie", &cookie)]);
    assert_eq!(front.status, 200);
    assert_eq!(tcp.with("GET", "/v1/sessions", &[("Cookie", &cookie)]).status, 200);
    // A cookie is not a token, and a token is not a cookie.
    let value = cookie.split_once('=').expect("a pair").1;
    assert_eq!(tcp.by(value, "GET", "/v1/sessions").status, 401);
    let name = cookie.split_once('=').expect("a pair").0;
    let token = format!("{name}={}", tcp.token);
    assert_eq!(tcp.with("GET", "/v1/sessions", &[("Cookie", &token)]).status, 401);
    let unauthenticated = tcp.with("GET", "/", &[]);
    assert_eq!(unauthenticated.status, 401);
    assert!(unauthenticated.body.contains("kennel dashboard"), "{}", unauthenticated.body);
    assert!(!unauthenticated.body.contains(env!("CARGO_PKG_VERSION")), "{}", unauthenticated.body);
    scene.stop_daemon();
}

#[test]
fn a_cookie_works_only_for_kennels_pages() {
    let Some((scene, tcp)) = open() else { return };
    let cookie = follow(&tcp, &link(&scene, &tcp, &[]));
    let ours = format!("http://{}", tcp.host());
    let ask = |method: &str, more: &[(&str, &str)]| {
        let headers = [&[("Cookie", cookie.as_str())], more].concat();
        tcp.with(method, "/v1/prune", &headers).status
    };
    assert_eq!(ask("POST", &[]), 403);
    assert_eq!(ask("POST", &[("Origin", "http://evil.example")]), 403);
    assert_eq!(ask("POST", &[("Origin", "null")]), 403);
    assert_eq!(ask("POST", &[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(ask("POST", &[("Sec-Fetch-Site", "same-site")]), 403, "another port is not ours");
    assert_eq!(ask("GET", &[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(ask("GET", &[("Upgrade", "websocket"), ("Origin", "http://evil.example")]), 403);
    assert_eq!(ask("GET", &[("Upgrade", "websocket")]), 403);
    assert_eq!(ask("POST", &[("Origin", &ours)]), 200);
    assert_eq!(ask("POST", &[("Sec-Fetch-Site", "same-origin")]), 200);
    assert_eq!(ask("GET", &[]), 200);
    // A page opened from a file signs in through one of Kennel's pages.
    let answer = tcp.with("GET", &link(&scene, &tcp, &[]), &[("Sec-Fetch-Site", "cross-site")]);
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("url=/") && answer.header("Set-Cookie").is_some(), "{answer:?}");
    scene.stop_daemon();
}

#[test]
fn a_browser_can_be_read_only_and_revoked() {
    let Some((scene, tcp)) = open() else { return };
    let read_only = follow(&tcp, &link(&scene, &tcp, &["--read-only"]));
    let full = follow(&tcp, &link(&scene, &tcp, &[]));
    let ours = format!("http://{}", tcp.host());
    let prune = |cookie: &str| {
        tcp.with("POST", "/v1/prune", &[("Cookie", cookie), ("Origin", &ours)]).status
    };
    let list = |cookie: &str| tcp.with("GET", "/v1/sessions", &[("Cookie", cookie)]).status;
    assert_eq!((prune(&read_only), list(&read_only)), (403, 200));
    assert_eq!((prune(&full), list(&full)), (200, 200));
    scene.call_ok(&["token", "revoke", "browser-1"]);
    assert_eq!((list(&read_only), list(&full)), (401, 200));
    scene.call_ok(&["token", "rotate"]);
    assert_eq!(list(&full), 401, "rotating the main token signs all browsers out");
    scene.stop_daemon();
}

#[test]
fn unused_links_expire() {
    let Some((scene, tcp)) = open() else { return };
    let first = link(&scene, &tcp, &[]);
    for _ in 0..16 {
        link(&scene, &tcp, &[]);
    }
    assert_eq!(tcp.with("GET", &first, &[]).status, 403, "too many newer links exist");
    let last = link(&scene, &tcp, &[]);
    scene.call_ok(&["daemon", "restart", "--listen", &tcp.host()]);
    let gone = tcp.with("GET", &last, &[]);
    assert_eq!(gone.status, 403, "links do not survive the daemon");
    assert!(gone.body.contains("kennel dashboard"), "{}", gone.body);
    for wrong in ["/login", "/login?once=", "/login?once=x", "/login?x=1&once=%00"] {
        assert_eq!(tcp.with("GET", wrong, &[]).status, 403, "{wrong}");
    }
    scene.stop_daemon();
}
