//! Which addresses are the dashboard's. Pure.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// What is never a page: the API, what those who watch ask for, files of the page, and the way in.
const OTHERS: [&str; 6] = ["v1", "metrics", "healthz", "readyz", "assets", "login"];

/// Whether a page is wanted, that a browser shows: at any address of the dashboard, which knows them itself.
pub(super) fn is_page(path: &str, headers: &HeaderMap) -> bool {
    path == "/" || (is_of_the_app(path) && wants_html(headers))
}

fn is_of_the_app(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| !first.is_empty() && !OTHERS.contains(&first))
}

fn wants_html(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(ACCEPT).iter().filter_map(|kinds| kinds.to_str().ok());
    let mut kinds = kinds.flat_map(|kinds| kinds.split(','));
    kinds.any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_page_is_what_a_browser_goes_to_and_nobody_else_has() {
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
