//! Decides whether a request over TCP is authorized, from its head, the host names and the tokens. Pure.
//!
//! ```text
//! own Host? ── own Origin? ── from an own page? ── valid secret? ── sufficient scope? ── authorized
//! ```

use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderName, Method, Request};
use kennel_types::api::Scope;

use super::dashboard::is_page;
use super::endpoints::LOGOUT;
use super::host_names::HostNames;
use super::identity::Identity;
use super::secret::SecretHash;
use super::tokens::CredentialKind;
use crate::extract::MAX_BODY;

pub(super) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const LOGIN: &str = "/login";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denial {
    #[error("unexpected Host header")]
    WrongHost,
    #[error("this request comes from a page of another origin")]
    ForeignOrigin,
    #[error("duplicate or malformed {0}")]
    Ambiguous(&'static str),
    #[error("the body is larger than {MAX_BODY} bytes")]
    TooLarge,
    #[error("authentication required")]
    NoSecret,
    #[error("unknown token")]
    WrongSecret,
    #[error("a browser can do this only from the dashboard")]
    Forged,
    #[error("this token is read-only")]
    ReadOnly,
    #[error("too many connections with this token")]
    TooManyConnections,
}

/// Returns the client's identity, or `None` for a public page that needs no authentication.
pub(super) fn authorize<B>(
    request: &Request<B>,
    names: &HostNames,
    find: impl Fn(&SecretHash, CredentialKind) -> Option<Identity>,
) -> Result<Option<Identity>, Denial> {
    let host = host(request).ok_or(Denial::WrongHost)?;
    if !names.include(host) {
        return Err(Denial::WrongHost);
    }
    let origin = single(request.headers(), &ORIGIN, "Origin")?;
    if origin.is_some_and(|origin| !names.is_own_origin(origin, host)) {
        return Err(Denial::ForeignOrigin);
    }
    // The sign-in page is public, at every path of the dashboard.
    let path = request.uri().path();
    let public = is_read(request) && (path == LOGIN || is_page(path, request.headers()));
    let site = single(request.headers(), &FETCH_SITE, "Sec-Fetch-Site")?;
    // A user may follow a link from anywhere. Pages of other origins may do nothing else, even on this machine at another
    // port (`same-site`).
    if !public && matches!(site, Some("cross-site" | "same-site")) {
        return Err(Denial::ForeignOrigin);
    }
    let length = single(request.headers(), &CONTENT_LENGTH, "Content-Length")?;
    if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|it| it > MAX_BODY as u64) {
        return Err(Denial::TooLarge);
    }
    let known = match credential(request, names)? {
        Some((hash, kind)) => {
            find(&hash, kind).map(|identity| (identity, kind)).ok_or(Denial::WrongSecret)
        }
        None => Err(Denial::NoSecret),
    };
    let (identity, kind) = match known {
        Ok(known) => known,
        // Without a valid cookie, the page shows how to sign in.
        Err(Denial::NoSecret | Denial::WrongSecret) if public => return Ok(None),
        Err(denial) => return Err(denial),
    };
    let from_own_page = origin.is_some() || matches!(site, Some("same-origin" | "none"));
    if kind == CredentialKind::Cookie && !is_read(request) && !from_own_page {
        return Err(Denial::Forged);
    }
    // A WebSocket may be opened read-only: its handler decides.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let signs_out = *request.method() == Method::POST && path == LOGOUT;
    if identity.scope == Scope::ReadOnly && !reads && !signs_out {
        return Err(Denial::ReadOnly);
    }
    Ok(Some(identity))
}

/// Whether the request changes nothing and upgrades nothing.
fn is_read<B>(request: &Request<B>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && !request.headers().contains_key(UPGRADE)
}

/// Returns the host of the request, if there is exactly one.
fn host<B>(request: &Request<B>) -> Option<&str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    let other = hosts.next().is_some();
    // The request line may also contain the host.
    let differs = request.uri().authority().is_some_and(|authority| authority.as_str() != host);
    (!other && !differs).then_some(host)
}

/// Returns the value of a header that must not be repeated.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    label: &'static str,
) -> Result<Option<&'a str>, Denial> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match (value.to_str(), values.next()) {
        (Ok(text), None) => Ok(Some(text)),
        _ => Err(Denial::Ambiguous(label)),
    }
}

/// Returns the secret of the request. `Authorization` takes precedence over a cookie.
fn credential<B>(
    request: &Request<B>,
    names: &HostNames,
) -> Result<Option<(SecretHash, CredentialKind)>, Denial> {
    if let Some(text) = single(request.headers(), &AUTHORIZATION, "Authorization")? {
        let (scheme, secret) = text.split_once(' ').unwrap_or((text, ""));
        return match scheme.eq_ignore_ascii_case("bearer") {
            true => Ok(Some((SecretHash::of(secret.trim().as_bytes()), CredentialKind::Bearer))),
            false => Err(Denial::WrongSecret),
        };
    }
    let name = names.cookie();
    let lines = request.headers().get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name);
    match (cookies.next(), cookies.next()) {
        (Some((_, value)), None) => {
            Ok(Some((SecretHash::of(value.as_bytes()), CredentialKind::Cookie)))
        }
        (None, _) => Ok(None),
        // Another server on this host may have set a cookie of the same name.
        (Some(_), Some(_)) => Err(Denial::Ambiguous("cookie")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::tokens::test_identity;

    const HOST_NAME: &str = "127.0.0.1:7380";

    /// Authorizes a request with these headers, where `full` and `look` are the known tokens and cookies.
    fn authorized(
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<Scope>, Denial> {
        let names = HostNames::new(HOST_NAME.parse().unwrap(), false, &[]);
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        let find = |hash: &SecretHash, kind| match kind {
            CredentialKind::Bearer if *hash == SecretHash::of(b"full") => {
                Some(test_identity(Scope::Full))
            }
            CredentialKind::Bearer if *hash == SecretHash::of(b"look") => {
                Some(test_identity(Scope::ReadOnly))
            }
            CredentialKind::Cookie if *hash == SecretHash::of(b"full") => {
                Some(test_identity(Scope::Full))
            }
            CredentialKind::Cookie if *hash == SecretHash::of(b"look") => {
                Some(test_identity(Scope::ReadOnly))
            }
            _ => None,
        };
        authorize(&request, &names, find).map(|identity| identity.map(|identity| identity.scope))
    }

    /// Authorizes a request with this token.
    fn bearing(token: &str, method: &str, more: &[(&str, &str)]) -> Result<Option<Scope>, Denial> {
        let bearer = format!("Bearer {token}");
        let headers = [&[("host", HOST_NAME), ("authorization", bearer.as_str())], more].concat();
        authorized(method, "/v1/sessions", &headers)
    }

    /// Authorizes a request with this cookie.
    fn browsing(
        cookie: &str,
        method: &str,
        more: &[(&str, &str)],
    ) -> Result<Option<Scope>, Denial> {
        let cookie = format!("theme=dark; kennel_7380={cookie}; kennel_1=x");
        let headers = [&[("host", HOST_NAME), ("cookie", cookie.as_str())], more].concat();
        authorized(method, "/v1/sessions", &headers)
    }

    #[test]
    fn a_valid_token_is_required() {
        assert_eq!(bearing("full", "POST", &[]), Ok(Some(Scope::Full)));
        assert_eq!(bearing("look", "GET", &[]), Ok(Some(Scope::ReadOnly)));
        assert_eq!(bearing("", "GET", &[]), Err(Denial::WrongSecret));
        assert_eq!(bearing("other", "GET", &[]), Err(Denial::WrongSecret));
        assert_eq!(
            authorized("GET", "/v1/sessions", &[("host", HOST_NAME)]),
            Err(Denial::NoSecret)
        );
        let basic = [("host", HOST_NAME), ("authorization", "Basic full")];
        assert_eq!(authorized("GET", "/v1/sessions", &basic), Err(Denial::WrongSecret));
        let lower = [("host", HOST_NAME), ("authorization", "bearer full")];
        assert_eq!(authorized("GET", "/v1/sessions", &lower), Ok(Some(Scope::Full)));
    }

    #[test]
    fn refuses_ambiguous_credentials() {
        let twice = bearing("full", "GET", &[("authorization", "Bearer full")]);
        assert_eq!(twice, Err(Denial::Ambiguous("Authorization")));
        let beside = browsing("full", "GET", &[("cookie", "kennel_7380=full")]);
        assert_eq!(beside, Err(Denial::Ambiguous("cookie")));
        let both = bearing("other", "GET", &[("cookie", "kennel_7380=full")]);
        assert_eq!(both, Err(Denial::WrongSecret), "the cookie is ignored then");
    }

    #[test]
    fn a_read_only_token_can_only_read() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
            assert_eq!(bearing("look", method, &[]), Err(Denial::ReadOnly), "{method}");
        }
        assert_eq!(bearing("look", "HEAD", &[]), Ok(Some(Scope::ReadOnly)));
        let watch = bearing("look", "GET", &[("upgrade", "websocket")]);
        assert_eq!(watch, Ok(Some(Scope::ReadOnly)), "a terminal may be watched");
    }

    #[test]
    fn refuses_a_foreign_host_first() {
        for host in ["evil.example", "evil.example:7380", "127.0.0.1:7381", "localhost", ""] {
            let headers = [("host", host), ("authorization", "Bearer full")];
            assert_eq!(authorized("GET", "/v1/daemon", &headers), Err(Denial::WrongHost), "{host}");
            assert_eq!(authorized("GET", "/", &headers), Err(Denial::WrongHost), "{host}");
        }
        let none = [("authorization", "Bearer full")];
        assert_eq!(authorized("GET", "/v1/daemon", &none), Err(Denial::WrongHost));
        let two = [("host", HOST_NAME), ("host", "evil.example"), ("authorization", "Bearer full")];
        assert_eq!(authorized("GET", "/v1/daemon", &two), Err(Denial::WrongHost));
        let absolute = [("host", HOST_NAME), ("authorization", "Bearer full")];
        let target = "http://evil.example/v1/daemon";
        assert_eq!(authorized("GET", target, &absolute), Err(Denial::WrongHost));
    }

    #[test]
    fn refuses_a_foreign_origin_with_any_credential() {
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
    fn a_cookie_can_change_something_only_from_an_own_page() {
        assert_eq!(browsing("full", "POST", &[]), Err(Denial::Forged));
        assert_eq!(browsing("full", "GET", &[("upgrade", "websocket")]), Err(Denial::Forged));
        assert_eq!(browsing("full", "GET", &[]), Ok(Some(Scope::Full)));
        let own = [("origin", "http://127.0.0.1:7380")];
        assert_eq!(browsing("full", "POST", &own), Ok(Some(Scope::Full)));
        for site in ["same-origin", "none"] {
            let more = [("sec-fetch-site", site)];
            assert_eq!(browsing("full", "DELETE", &more), Ok(Some(Scope::Full)), "{site}");
        }
        assert_eq!(browsing("look", "POST", &own), Err(Denial::ReadOnly));
        let signs_out = [("host", HOST_NAME), ("cookie", "kennel_7380=look"), own[0]];
        assert_eq!(
            authorized("POST", LOGOUT, &signs_out),
            Ok(Some(Scope::ReadOnly)),
            "it may sign out"
        );
        assert_eq!(authorized("POST", LOGOUT, &signs_out[..2]), Err(Denial::Forged));
        assert_eq!(authorized("DELETE", LOGOUT, &signs_out), Err(Denial::ReadOnly));
        assert_eq!(browsing("other", "GET", &[]), Err(Denial::WrongSecret));
    }

    #[test]
    fn the_sign_in_page_is_public() {
        for target in ["/", "/login?once=x"] {
            let from_elsewhere = [("host", HOST_NAME), ("sec-fetch-site", "cross-site")];
            assert_eq!(authorized("GET", target, &from_elsewhere), Ok(None));
            let void = [("host", HOST_NAME), ("cookie", "kennel_7380=other")];
            assert_eq!(authorized("GET", target, &void), Ok(None));
            assert_eq!(authorized("POST", target, &[("host", HOST_NAME)]), Err(Denial::NoSecret));
        }
        let page = [("host", HOST_NAME), ("accept", "text/html"), ("sec-fetch-site", "cross-site")];
        assert_eq!(authorized("GET", "/sessions/x", &page), Ok(None), "it shows how to sign in");
        assert_eq!(authorized("GET", "/v1/sessions", &page), Err(Denial::ForeignOrigin));
        assert_eq!(authorized("GET", "/assets/x.js", &page), Err(Denial::ForeignOrigin));
        assert_eq!(authorized("GET", "/assets/x.js", &page[..2]), Err(Denial::NoSecret));
        assert_eq!(authorized("GET", "/sessions/x", &page[..1]), Err(Denial::NoSecret));
        let known = [("host", HOST_NAME), ("cookie", "kennel_7380=look")];
        assert_eq!(authorized("GET", "/", &known), Ok(Some(Scope::ReadOnly)));
        assert_eq!(authorized("GET", "//", &[("host", HOST_NAME)]), Err(Denial::NoSecret));
    }

    #[test]
    fn refuses_a_body_by_its_content_length() {
        let long = (MAX_BODY + 1).to_string();
        assert_eq!(bearing("full", "POST", &[("content-length", &long)]), Err(Denial::TooLarge));
        let fits = MAX_BODY.to_string();
        assert_eq!(bearing("full", "POST", &[("content-length", &fits)]), Ok(Some(Scope::Full)));
    }
}
