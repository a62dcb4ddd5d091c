//! Server-sent events: how they are written, and where a client says it has got to.

use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::Response;

/// How often a stream that has nothing to say says so: whoever is in between, and the client, know then that it lives.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What it says.
pub(super) const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");
/// The first words: how long a client that lost us waits before it comes back, in milliseconds.
pub(super) const HELLO: &str = "retry: 1000\n\n";

pub(super) const EVENT_STREAM: &str = "text/event-stream";
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Adds one event. Whatever line breaks are in the data, the client sees `\n`; those in the id or the name, which
/// would end it, are left out.
pub(super) fn write(to: &mut Vec<u8>, id: &str, event: &str, data: &str) {
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

/// The lines of a text, by any of the ends that a client knows; at least one.
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

/// Whether the client wants events.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    accepts(headers, EVENT_STREAM)
}

/// Whether the client names this type among those that it takes.
pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let all = headers.get_all(ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let mut types = all.flat_map(|value| value.split(','));
    types.any(|accepted| {
        let named = accepted.split(';').next().unwrap_or_default();
        named.trim().eq_ignore_ascii_case(kind)
    })
}

/// What the client has seen last, if it says so.
pub(super) fn last_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty())
}

/// Marks a response as one of events, which nobody in between may hold back.
pub(super) fn mark(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
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
    fn every_line_of_the_data_is_a_line_of_data() {
        assert_eq!(written("7", "text", "a"), "id: 7\nevent: text\ndata: a\n\n");
        assert_eq!(written("", "", "a\nb\r\nc\rd"), "data: a\ndata: b\ndata: c\ndata: d\n\n");
        assert_eq!(written("", "", ""), "data: \n\n");
        assert_eq!(written("", "", "a\n"), "data: a\ndata: \n\n");
        assert_eq!(written("", "", "\r\n\n\r"), "data: \ndata: \ndata: \ndata: \n\n");
        assert_eq!(written("", "", "id: 9"), "data: id: 9\n\n", "data stays data");
    }

    #[test]
    fn nothing_in_an_id_or_a_name_can_end_it() {
        let event = written("1\ndata: x", "a\r\nb\0", "c");
        assert_eq!(event, "id: 1data: x\nevent: ab\ndata: c\n\n");
    }

    #[test]
    fn what_a_client_takes_is_found_in_its_list() {
        let mut headers = HeaderMap::new();
        assert!(!is_accepted(&headers));
        headers.insert(ACCEPT, HeaderValue::from_static("text/html, Text/Event-Stream;q=0.9"));
        assert!(is_accepted(&headers));
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        assert!(!is_accepted(&headers), "it did not ask for a stream");
    }

    #[test]
    fn an_empty_id_is_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_id(&headers), None);
        headers.insert(LAST_EVENT_ID, HeaderValue::from_static(""));
        assert_eq!(last_id(&headers), None);
        headers.insert(LAST_EVENT_ID, HeaderValue::from_static("12"));
        assert_eq!(last_id(&headers), Some("12"));
    }
}
