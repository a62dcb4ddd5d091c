//! The dashboard: which paths are its pages, and how its files are served.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use kennel_daemon::ApiError;
use kennel_web::{Asset, INDEX, ReadAssetError, Site};
use tokio::task::spawn_blocking;

use crate::stream::sse::accepts;

/// First segments of paths that are not pages: the API, monitoring, the dashboard's files, and sign-in.
const NOT_PAGES: [&str; 6] = ["v1", "metrics", "healthz", "readyz", "assets", "login"];

/// Whether a browser navigates to a page. The dashboard itself decides which pages exist.
pub(super) fn is_page(path: &str, headers: &HeaderMap) -> bool {
    path == "/" || (may_be_page(path) && accepts(headers, "text/html"))
}

fn may_be_page(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| !first.is_empty() && !NOT_PAGES.contains(&first))
}

/// Returns the file at this path, or the page if a browser navigates there, or `None`.
pub(super) async fn at(
    site: &Site,
    path: &str,
    headers: &HeaderMap,
) -> Result<Option<Response>, ApiError> {
    let found = match find(site, path).await? {
        None if is_page(path, headers) => find(site, INDEX).await?,
        found => found,
    };
    Ok(found.map(|asset| respond(asset, headers)))
}

async fn find(site: &Site, path: &str) -> Result<Option<Asset>, ApiError> {
    let failed = |error: ReadAssetError| ApiError::internal(&error);
    if !site.is_in_folder() {
        return site.find(path).map_err(failed);
    }
    let (site, path) = (site.clone(), path.to_owned());
    let found = spawn_blocking(move || site.find(&path)).await;
    found.map_err(ApiError::internal)?.map_err(failed)
}

fn respond(asset: Asset, asked: &HeaderMap) -> Response {
    // Weak, because the compressed file has different bytes.
    let tag = format!("W/\"{}\"", asset.hash);
    // The page is revalidated each time; the files that it refers to never change.
    let caching = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = match is_cached(&tag, asked) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => content(asset, asked),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

fn content(asset: Asset, asked: &HeaderMap) -> Response {
    let kind = [(CONTENT_TYPE, asset.content_type)];
    match asset.gzip.filter(|_| accepts_gzip(asked)) {
        Some(gzip) => (kind, [(CONTENT_ENCODING, "gzip")], body(gzip)).into_response(),
        None => (kind, body(asset.plain)).into_response(),
    }
}

/// Creates a body, without copying built-in files.
fn body(bytes: Cow<'static, [u8]>) -> Body {
    Body::from(match bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    })
}

fn is_cached(tag: &str, asked: &HeaderMap) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    values(asked, &IF_NONE_MATCH).any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

fn accepts_gzip(asked: &HeaderMap) -> bool {
    values(asked, &ACCEPT_ENCODING).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        named && weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)
    })
}

/// Returns the values of a header that is a list.
fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(','))
}

#[cfg(test)]
mod tests {
    use axum::http::header::ACCEPT;

    use super::*;

    fn asset(immutable: bool) -> Asset {
        Asset {
            content_type: "text/javascript; charset=utf-8",
            hash: "abc".into(),
            plain: b"plain"[..].into(),
            gzip: Some(b"gzip"[..].into()),
            immutable,
        }
    }

    /// Returns status, encoding and body of the response to a request with this header.
    async fn response_to(name: HeaderName, value: &'static str) -> (u16, Option<String>, Bytes) {
        let asked = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        let response = respond(asset(true), &asked);
        assert_eq!(response.headers()[ETAG], "W/\"abc\"");
        assert_eq!(response.headers()[VARY], "Accept-Encoding");
        let encoding = response.headers().get(CONTENT_ENCODING);
        let encoding = encoding.map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        (status, encoding, axum::body::to_bytes(response.into_body(), 100).await.unwrap())
    }

    #[tokio::test]
    async fn compresses_for_browsers_that_accept_gzip() {
        for value in ["gzip", "deflate, gzip;q=0.5, br", "GZIP; q=1"] {
            let (status, encoding, body) = response_to(ACCEPT_ENCODING, value).await;
            assert_eq!((status, encoding.as_deref(), &*body), (200, Some("gzip"), &b"gzip"[..]));
        }
        for value in ["", "br", "gzip;q=0", "gzip;q=0.0", "xgzip", "*;q=0"] {
            let (status, encoding, body) = response_to(ACCEPT_ENCODING, value).await;
            assert_eq!((status, encoding, &*body), (200, None, &b"plain"[..]), "{value}");
        }
    }

    #[tokio::test]
    async fn sends_no_content_that_the_browser_has() {
        for value in ["W/\"abc\"", "\"abc\"", "\"x\", W/\"abc\"", "*"] {
            let (status, _, body) = response_to(IF_NONE_MATCH, value).await;
            assert_eq!((status, body.len()), (304, 0), "{value}");
        }
        for value in ["", "\"ab\"", "abc"] {
            assert_eq!(response_to(IF_NONE_MATCH, value).await.0, 200, "{value}");
        }
    }

    #[test]
    fn only_immutable_files_are_cached_without_revalidation() {
        let kept = |immutable| {
            let response = respond(asset(immutable), &HeaderMap::new());
            response.headers()[CACHE_CONTROL].to_str().unwrap().to_owned()
        };
        assert_eq!(kept(false), "no-cache");
        assert!(kept(true).contains("immutable") && kept(true).contains("max-age=31536000"));
    }

    #[test]
    fn a_page_is_what_a_browser_navigates_to() {
        let with = |accept| HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        let browser = with("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
        for path in ["/", "/sessions/0sp2m5p09ddg", "/plans", "/v2", "/v1x", "/sessions/v1"] {
            assert!(is_page(path, &browser), "{path}");
        }
        for path in
            ["/v1", "/v1/sessions", "/metrics", "/healthz", "/assets/x.js", "/login", "//", "*"]
        {
            assert!(!is_page(path, &browser), "{path}");
        }
        for headers in [HeaderMap::new(), with("*/*"), with("text/htmlx")] {
            assert!(!is_page("/sessions/x", &headers), "{headers:?}");
            assert!(is_page("/", &headers));
        }
    }
}
