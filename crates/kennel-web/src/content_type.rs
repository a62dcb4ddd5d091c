//! What a browser is told that a file is.

/// By the end of its name.
pub(crate) fn of(address: &str) -> &'static str {
    let (_, end) = address.rsplit_once('.').unwrap_or_default();
    match end {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
