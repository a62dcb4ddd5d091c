//! Which paths are pages of the dashboard. Pure.

use axum::http::HeaderMap;

use crate::stream::sse::accepts;

/// First segments of paths that are no pages: the API, monitoring, the dashboard's files, and sign-in.
const NOT_PAGES: [&str; 6] = ["v1", "metrics", "healthz", "readyz", "assets", "login"];

/// Whether a browser navigates to a page. The dashboard itself knows which of them exist.
pub(super) fn is_page(path: &str, headers: &HeaderMap) -> bool {
    path == "/" || (may_be_page(path) && accepts(headers, "text/html"))
}

fn may_be_page(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next());
    first.is_some_and(|first| !first.is_empty() && !NOT_PAGES.contains(&first))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::ACCEPT;

    use super::*;

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
