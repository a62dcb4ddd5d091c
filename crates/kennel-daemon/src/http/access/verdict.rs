//! Whether a request over TCP is let in. Pure: what it says, against our names and who is known.
//!
//! ```text
//! Host ours? ── Origin ours? ── from our own page? ── secret known? ── may it do that? ── in
//! ```

use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderName, Method, Uri};
use kennel_types::api::Scope;

use super::identity::Identity;
use super::names::Names;
use super::own::LOGOUT;
use super::places::is_page;
use super::roll::Presented;
use super::secret::Sum;
use crate::http::BODY;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// What a link leads to.
const LOGIN: &str = "/login";

/// What is known of a request before its body is read.
#[derive(Debug)]
pub(super) struct Knock<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
}

/// Why it is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denial {
    #[error("this is not the host that is asked for")]
    WrongHost,
    #[error("this comes from a page of somebody else")]
    ForeignOrigin,
    #[error("there is more than one {0}, or it can't be read")]
    Unclear(&'static str),
    #[error("the body is longer than {BODY} bytes")]
    TooLarge,
    #[error("a token is needed")]
    NoSecret,
    #[error("this token is not known")]
    WrongSecret,
    #[error("a browser may do this only from a page of ours")]
    Forged,
    #[error("this token is for looking only, and this would change something")]
    ReadOnly,
    #[error("there are too many connections by this token")]
    Crowded,
}

/// Who it is; none if nobody need be known for this.
pub(super) fn judge(
    knock: &Knock<'_>,
    names: &Names,
    find: impl Fn(&Sum, Presented) -> Option<Identity>,
) -> Result<Option<Identity>, Denial> {
    let host = host(knock).ok_or(Denial::WrongHost)?;
    if !names.know(host) {
        return Err(Denial::WrongHost);
    }
    let origin = single(knock.headers, &ORIGIN, "Origin")?;
    if origin.is_some_and(|origin| !names.is_own_origin(origin, host)) {
        return Err(Denial::ForeignOrigin);
    }
    // Anybody may see how to get in, wherever they wanted to.
    let path = knock.uri.path();
    let public = is_look(knock) && (path == LOGIN || is_page(path, knock.headers));
    let site = single(knock.headers, &FETCH_SITE, "Sec-Fetch-Site")?;
    // A link may be followed from anywhere. All else that a browser fetches for another page is not for it; that page
    // may be on this very machine, at another port (`same-site`).
    if !public && matches!(site, Some("cross-site" | "same-site")) {
        return Err(Denial::ForeignOrigin);
    }
    let length = single(knock.headers, &CONTENT_LENGTH, "Content-Length")?;
    if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|it| it > BODY as u64) {
        return Err(Denial::TooLarge);
    }
    let known = match presented(knock, names)? {
        Some((sum, how)) => {
            find(&sum, how).map(|identity| (identity, how)).ok_or(Denial::WrongSecret)
        }
        None => Err(Denial::NoSecret),
    };
    let (identity, how) = match known {
        Ok(known) => known,
        // A cookie that is void, or none at all, is no reason not to tell how to get in.
        Err(Denial::NoSecret | Denial::WrongSecret) if public => return Ok(None),
        Err(denial) => return Err(denial),
    };
    let from_our_page = origin.is_some() || matches!(site, Some("same-origin" | "none"));
    if how == Presented::Cookie && !is_look(knock) && !from_our_page {
        return Err(Denial::Forged);
    }
    // What a socket is used for is for whoever serves it to say: it may be watched.
    let looks = matches!(*knock.method, Method::GET | Method::HEAD);
    let leaves = *knock.method == Method::POST && path == LOGOUT;
    if identity.scope == Scope::ReadOnly && !looks && !leaves {
        return Err(Denial::ReadOnly);
    }
    Ok(Some(identity))
}

/// Whether it changes nothing, and takes over no connection.
fn is_look(knock: &Knock<'_>) -> bool {
    let looks = matches!(*knock.method, Method::GET | Method::HEAD);
    looks && !knock.headers.contains_key(UPGRADE)
}

/// By which host it came; one, and only one.
fn host<'a>(knock: &'a Knock<'_>) -> Option<&'a str> {
    let mut hosts = knock.headers.get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let other = hosts.next().is_some();
    // Some write the host into the request line too.
    let differs = knock.uri.authority().is_some_and(|authority| authority.as_str() != host);
    (!other && !differs).then_some(host)
}

/// The only header of this name, if there is one.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    called: &'static str,
) -> Result<Option<&'a str>, Denial> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(Denial::Unclear(called)),
    }
}

/// The secret that is presented. One in `Authorization` goes before a cookie.
fn presented(knock: &Knock<'_>, names: &Names) -> Result<Option<(Sum, Presented)>, Denial> {
    if let Some(text) = single(knock.headers, &AUTHORIZATION, "Authorization")? {
        let (scheme, secret) = text.split_once(' ').unwrap_or((text, ""));
        return match scheme.eq_ignore_ascii_case("bearer") {
            true => Ok(Some((Sum::of(secret.trim().as_bytes()), Presented::Bearer))),
            false => Err(Denial::WrongSecret),
        };
    }
    let name = names.cookie();
    let lines = knock.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut ours = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name);
    match (ours.next(), ours.next()) {
        (Some((_, value)), None) => Ok(Some((Sum::of(value.as_bytes()), Presented::Cookie))),
        (None, _) => Ok(None),
        // Another port of this host may have set one beside ours.
        (Some(_), Some(_)) => Err(Denial::Unclear("cookie")),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::http::access::roll::tests_entry;

    const OURS: &str = "127.0.0.1:7380";

    /// A request with these headers; judged where `full` and `look` are known tokens, and cookies of the same values.
    fn judged(
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<Scope>, Denial> {
        let names = Names::new(OURS.parse().unwrap(), false, &[]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let uri: Uri = target.parse().unwrap();
        let knock = Knock { method: &method, uri: &uri, headers: &map };
        let find = |sum: &Sum, how| match how {
            Presented::Bearer if *sum == Sum::of(b"full") => Some(tests_entry(Scope::Full)),
            Presented::Bearer if *sum == Sum::of(b"look") => Some(tests_entry(Scope::ReadOnly)),
            Presented::Cookie if *sum == Sum::of(b"full") => Some(tests_entry(Scope::Full)),
            Presented::Cookie if *sum == Sum::of(b"look") => Some(tests_entry(Scope::ReadOnly)),
            _ => None,
        };
        judge(&knock, &names, find).map(|who| who.map(|who| who.scope))
    }

    /// The same with our own host and this token.
    fn bearing(token: &str, method: &str, more: &[(&str, &str)]) -> Result<Option<Scope>, Denial> {
        let bearer = format!("Bearer {token}");
        let headers = [&[("host", OURS), ("authorization", bearer.as_str())], more].concat();
        judged(method, "/v1/sessions", &headers)
    }

    /// The same with a cookie.
    fn browsing(
        cookie: &str,
        method: &str,
        more: &[(&str, &str)],
    ) -> Result<Option<Scope>, Denial> {
        let cookie = format!("theme=dark; kennel_7380={cookie}; kennel_1=x");
        let headers = [&[("host", OURS), ("cookie", cookie.as_str())], more].concat();
        judged(method, "/v1/sessions", &headers)
    }

    #[test]
    fn a_token_lets_in_and_none_or_a_wrong_one_does_not() {
        assert_eq!(bearing("full", "POST", &[]), Ok(Some(Scope::Full)));
        assert_eq!(bearing("look", "GET", &[]), Ok(Some(Scope::ReadOnly)));
        assert_eq!(bearing("", "GET", &[]), Err(Denial::WrongSecret));
        assert_eq!(bearing("other", "GET", &[]), Err(Denial::WrongSecret));
        assert_eq!(judged("GET", "/v1/sessions", &[("host", OURS)]), Err(Denial::NoSecret));
        let basic = [("host", OURS), ("authorization", "Basic full")];
        assert_eq!(judged("GET", "/v1/sessions", &basic), Err(Denial::WrongSecret));
        let lower = [("host", OURS), ("authorization", "bearer full")];
        assert_eq!(judged("GET", "/v1/sessions", &lower), Ok(Some(Scope::Full)));
    }

    #[test]
    fn two_tokens_are_none() {
        let twice = bearing("full", "GET", &[("authorization", "Bearer full")]);
        assert_eq!(twice, Err(Denial::Unclear("Authorization")));
        let beside = browsing("full", "GET", &[("cookie", "kennel_7380=full")]);
        assert_eq!(beside, Err(Denial::Unclear("cookie")));
        let both = bearing("other", "GET", &[("cookie", "kennel_7380=full")]);
        assert_eq!(both, Err(Denial::WrongSecret), "the cookie is not asked then");
    }

    #[test]
    fn a_read_only_token_may_look_and_no_more() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
            assert_eq!(bearing("look", method, &[]), Err(Denial::ReadOnly), "{method}");
        }
        assert_eq!(bearing("look", "HEAD", &[]), Ok(Some(Scope::ReadOnly)));
        let watch = bearing("look", "GET", &[("upgrade", "websocket")]);
        assert_eq!(watch, Ok(Some(Scope::ReadOnly)), "a terminal may be watched");
    }

    #[test]
    fn a_foreign_host_is_refused_before_anything_else() {
        for host in ["evil.example", "evil.example:7380", "127.0.0.1:7381", "localhost", ""] {
            let headers = [("host", host), ("authorization", "Bearer full")];
            assert_eq!(judged("GET", "/v1/daemon", &headers), Err(Denial::WrongHost), "{host}");
            assert_eq!(judged("GET", "/", &headers), Err(Denial::WrongHost), "{host}");
        }
        let none = [("authorization", "Bearer full")];
        assert_eq!(judged("GET", "/v1/daemon", &none), Err(Denial::WrongHost));
        let two = [("host", OURS), ("host", "evil.example"), ("authorization", "Bearer full")];
        assert_eq!(judged("GET", "/v1/daemon", &two), Err(Denial::WrongHost));
        let absolute = [("host", OURS), ("authorization", "Bearer full")];
        let target = "http://evil.example/v1/daemon";
        assert_eq!(judged("GET", target, &absolute), Err(Denial::WrongHost));
    }

    #[test]
    fn a_foreign_origin_is_refused_whoever_bears_it_and_however_it_asks() {
        for origin in
            ["null", "http://evil.example", "http://127.0.0.1:3000", "http://localhost:7380"]
        {
            for method in ["GET", "POST"] {
                let more = [("origin", origin)];
                assert_eq!(bearing("full", method, &more), Err(Denial::ForeignOrigin), "{origin}");
                assert_eq!(browsing("full", method, &more), Err(Denial::ForeignOrigin), "{origin}");
            }
            let socket = [("origin", origin), ("upgrade", "websocket")];
            assert_eq!(browsing("full", "GET", &socket), Err(Denial::ForeignOrigin), "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            let more = [("sec-fetch-site", site)];
            assert_eq!(browsing("full", "GET", &more), Err(Denial::ForeignOrigin), "{site}");
        }
    }

    #[test]
    fn a_cookie_changes_something_only_from_a_page_of_ours() {
        assert_eq!(browsing("full", "POST", &[]), Err(Denial::Forged));
        assert_eq!(browsing("full", "GET", &[("upgrade", "websocket")]), Err(Denial::Forged));
        assert_eq!(browsing("full", "GET", &[]), Ok(Some(Scope::Full)));
        let ours = [("origin", "http://127.0.0.1:7380")];
        assert_eq!(browsing("full", "POST", &ours), Ok(Some(Scope::Full)));
        for site in ["same-origin", "none"] {
            let more = [("sec-fetch-site", site)];
            assert_eq!(browsing("full", "DELETE", &more), Ok(Some(Scope::Full)), "{site}");
        }
        assert_eq!(browsing("look", "POST", &ours), Err(Denial::ReadOnly));
        let leaves = [("host", OURS), ("cookie", "kennel_7380=look"), ours[0]];
        assert_eq!(judged("POST", LOGOUT, &leaves), Ok(Some(Scope::ReadOnly)), "it may leave");
        assert_eq!(judged("POST", LOGOUT, &leaves[..2]), Err(Denial::Forged));
        assert_eq!(judged("DELETE", LOGOUT, &leaves), Err(Denial::ReadOnly));
        assert_eq!(browsing("other", "GET", &[]), Err(Denial::WrongSecret));
    }

    #[test]
    fn the_way_in_is_open_to_all_and_from_everywhere() {
        for target in ["/", "/login?once=x"] {
            let from_elsewhere = [("host", OURS), ("sec-fetch-site", "cross-site")];
            assert_eq!(judged("GET", target, &from_elsewhere), Ok(None));
            let void = [("host", OURS), ("cookie", "kennel_7380=other")];
            assert_eq!(judged("GET", target, &void), Ok(None));
            assert_eq!(judged("POST", target, &[("host", OURS)]), Err(Denial::NoSecret));
        }
        let page = [("host", OURS), ("accept", "text/html"), ("sec-fetch-site", "cross-site")];
        assert_eq!(judged("GET", "/sessions/x", &page), Ok(None), "it is told how to get in");
        assert_eq!(judged("GET", "/v1/sessions", &page), Err(Denial::ForeignOrigin));
        assert_eq!(judged("GET", "/assets/x.js", &page), Err(Denial::ForeignOrigin));
        assert_eq!(judged("GET", "/assets/x.js", &page[..2]), Err(Denial::NoSecret));
        assert_eq!(judged("GET", "/sessions/x", &page[..1]), Err(Denial::NoSecret));
        let known = [("host", OURS), ("cookie", "kennel_7380=look")];
        assert_eq!(judged("GET", "/", &known), Ok(Some(Scope::ReadOnly)));
        assert_eq!(judged("GET", "//", &[("host", OURS)]), Err(Denial::NoSecret));
    }

    #[test]
    fn a_body_that_says_it_is_too_long_is_not_read() {
        let long = (BODY + 1).to_string();
        assert_eq!(bearing("full", "POST", &[("content-length", &long)]), Err(Denial::TooLarge));
        let fits = BODY.to_string();
        assert_eq!(bearing("full", "POST", &[("content-length", &fits)]), Ok(Some(Scope::Full)));
    }
}
