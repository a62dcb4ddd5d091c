//! Server-sent events: their encoding, and where a client resumes.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CACHE_CONTROL, HeaderName, HeaderValue};
use axum::response::Response;
use kennel_daemon::DaemonHandle;
use tokio::sync::watch;
use tokio::time::sleep;

use super::ChunkSource;

/// How often an idle stream sends a comment, so that proxies and the client know that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
pub(crate) const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");
/// The beginning of every stream: how many milliseconds a client waits before it reconnects.
pub(crate) const RETRY: &str = "retry: 1000\n\n";

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Appends one event. Every line break in the data reaches the client as `\n`; line breaks in the id or the name, which
/// would end it, are left out.
pub(crate) fn write(to: &mut Vec<u8>, id: &str, event: &str, data: &str) {
    for (field, value) in [("id: ", id), ("event: ", event)] {
        if !value.is_empty() {
            to.extend(field.as_bytes());
            to.extend(value.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n' | 0)));
            to.push(b'\n');
        }
    }
    for line in lines(data) {
        to.extend(b"data: ");
        to.extend(line.as_bytes());
        to.push(b'\n');
    }
    to.push(b'\n');
}

/// Returns the lines of a text with any kind of line ends, at least one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = text.find(['\r', '\n']) else { return rest.take() };
        let end = if text[at..].starts_with("\r\n") { at + 2 } else { at + 1 };
        rest = Some(&text[end..]);
        Some(&text[..at])
    })
}

pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    accepts(headers, EVENT_STREAM)
}

/// Whether the client names this media type in `Accept`.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let all = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let mut types = all.flat_map(|value| value.split(','));
    types.any(|accepted| {
        let named = accepted.split(';').next().unwrap_or_default();
        named.trim().eq_ignore_ascii_case(kind)
    })
}

/// Returns the id of the last event that the client received, if it sends one.
pub(crate) fn last_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty())
}

/// Returns a response of events, which no proxy may buffer.
pub(crate) fn respond(source: impl ChunkSource) -> Response {
    let mut response = super::respond(EVENT_STREAM, source);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wake {
    Changed,
    /// Nothing has changed: send [`ALIVE`].
    KeepAlive,
    /// Nothing will change any more, or the daemon is shutting down.
    Over,
}

pub(crate) async fn wait<T>(watched: &mut watch::Receiver<T>, daemon: &DaemonHandle) -> Wake {
    tokio::select! {
        changed = watched.changed() => if changed.is_ok() { Wake::Changed } else { Wake::Over },
        () = daemon.shutting_down() => Wake::Over,
        () = sleep(KEEP_ALIVE) => Wake::KeepAlive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(id: &str, event: &str, data: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, id, event, data);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prefixes_every_line_of_the_data() {
        assert_eq!(written("7", "text", "a"), "id: 7\nevent: text\ndata: a\n\n");
        assert_eq!(written("", "", "a\nb\r\nc\rd"), "data: a\ndata: b\ndata: c\ndata: d\n\n");
        assert_eq!(written("", "", ""), "data: \n\n");
        assert_eq!(written("", "", "a\n"), "data: a\ndata: \n\n");
        assert_eq!(written("", "", "\r\n\n\r"), "data: \ndata: \ndata: \ndata: \n\n");
        assert_eq!(written("", "", "id: 9"), "data: id: 9\n\n", "data stays data");
    }

    #[test]
    fn line_breaks_do_not_end_an_id_or_a_name() {
        let event = written("1\ndata: x", "a\r\nb\0", "c");
        assert_eq!(event, "id: 1data: x\nevent: ab\ndata: c\n\n");
    }

    #[test]
    fn finds_the_accepted_type_in_a_list() {
        let mut headers = HeaderMap::new();
        assert!(!is_accepted(&headers));
        headers.insert(ACCEPT, HeaderValue::from_static("text/html, Text/Event-Stream;q=0.9"));
        assert!(is_accepted(&headers));
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        assert!(!is_accepted(&headers), "the client did not request a stream");
    }

    #[test]
    fn an_empty_id_counts_as_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_id(&headers), None);
        headers.insert(LAST_EVENT_ID, HeaderValue::from_static(""));
        assert_eq!(last_id(&headers), None);
        headers.insert(LAST_EVENT_ID, HeaderValue::from_static("12"));
        assert_eq!(last_id(&headers), Some("12"));
    }
}
