//! As much of HTTP/1.1 as the clients of a model API use.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

use crate::wire::{Event, id};

/// A limit that no line and no number of headers of a real request reaches.
const MAX_LINE: u64 = 64 * 1024;
const MAX_HEADERS: usize = 200;

/// A limit that no real body reaches.
const MAX_BODY: u64 = 64 * 1024 * 1024;

/// A request without its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) target: String,
    version: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads up to the empty line.
    pub(crate) fn read(reader: &mut impl BufRead) -> io::Result<Head> {
        let first = read_line(reader)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(bad("no request line"));
        };
        let mut head = Head {
            method: method.to_owned(),
            target: target.to_owned(),
            version: version.to_owned(),
            headers: Vec::new(),
        };
        loop {
            let line = read_line(reader)?;
            if line.is_empty() {
                return Ok(head);
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad("no header"))?;
            head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            if head.headers.len() > MAX_HEADERS {
                return Err(bad("too many headers"));
            }
        }
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(key, _)| key == name);
        header.map(|(_, value)| value.as_str())
    }

    /// Returns whether a header has this value, ignoring case.
    fn has_value(&self, name: &str, what: &str) -> bool {
        let value = self.header(name);
        value.is_some_and(|value| value.to_ascii_lowercase().contains(what))
    }

    /// Returns whether the client waits for `100 Continue` before it sends the body.
    pub(crate) fn expects_continue(&self) -> bool {
        self.has_value("expect", "100-continue")
    }

    /// Whether the client has no further request for this connection.
    pub(crate) fn is_last(&self) -> bool {
        self.version != "HTTP/1.1" || self.has_value("connection", "close")
    }

    /// The encoding of the body, if it has one.
    pub(crate) fn encoding(&self) -> Option<&str> {
        let encoding = self.header("content-encoding");
        encoding.filter(|name| !name.eq_ignore_ascii_case("identity"))
    }

    /// Reads the body that belongs to this head.
    pub(crate) fn read_body(&self, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.has_value("transfer-encoding", "chunked") {
            loop {
                let line = read_line(reader)?;
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = u64::from_str_radix(size, 16).map_err(|_| bad("no chunk size"))?;
                if size == 0 {
                    // What may follow the last chunk are more headers.
                    while !read_line(reader)?.is_empty() {}
                    return Ok(body);
                }
                read_exactly(reader, size, &mut body)?;
                if !read_line(reader)?.is_empty() {
                    return Err(bad("a chunk is too long"));
                }
            }
        }
        if let Some(length) = self.header("content-length") {
            let length = length.parse().map_err(|_| bad("no length"))?;
            read_exactly(reader, length, &mut body)?;
        }
        Ok(body)
    }
}

/// Reads a line and takes its end off.
fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(MAX_LINE).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.strip_suffix('\r').unwrap_or(line).to_owned()),
        None => Err(bad("a line does not end")),
    }
}

/// Reads `size` more bytes into `body`.
fn read_exactly(reader: &mut impl BufRead, size: u64, body: &mut Vec<u8>) -> io::Result<()> {
    if body.len() as u64 + size > MAX_BODY {
        return Err(bad("too long a body"));
    }
    let read = reader.take(size).read_to_end(body)?;
    if read as u64 == size { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Sends `100 Continue`, after which the client sends the body.
pub(crate) fn write_continue(mut out: impl Write) -> io::Result<()> {
    out.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
}

/// Writes an answer without a body.
pub(crate) fn write_empty(mut out: impl Write) -> io::Result<()> {
    out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
}

/// Writes an answer in one piece.
pub(crate) fn write_json(
    mut out: impl Write,
    status: u16,
    retry_after: Option<u32>,
    body: &Value,
) -> io::Result<()> {
    let body = body.to_string();
    let retry_after =
        retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} {}\r\n\
         content-type: application/json\r\n\
         content-length: {}\r\n\
         request-id: {}\r\n\
         {retry_after}\r\n",
        reason(status),
        body.len(),
        id("req"),
    );
    out.write_all((head + &body).as_bytes())
}

/// Begins an answer of server-sent events.
pub(crate) fn write_stream_head(mut out: impl Write) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n\
         content-type: text/event-stream; charset=utf-8\r\n\
         cache-control: no-cache\r\n\
         request-id: {}\r\n\
         transfer-encoding: chunked\r\n\r\n",
        id("req"),
    );
    out.write_all(head.as_bytes())
}

/// Writes one event as a chunk.
pub(crate) fn write_event(mut out: impl Write, event: &Event) -> io::Result<()> {
    let text = event.text();
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Ends an answer of server-sent events.
pub(crate) fn write_stream_end(mut out: impl Write) -> io::Result<()> {
    out.write_all(b"0\r\n\r\n")
}

/// The reason phrase of a status.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Mock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a request that is all of `text`.
    fn read(text: &str) -> io::Result<(Head, Vec<u8>)> {
        let mut left = text.as_bytes();
        let head = Head::read(&mut left)?;
        let body = head.read_body(&mut left)?;
        assert_eq!(left, b"", "something is left over");
        Ok((head, body))
    }

    #[test]
    fn a_body_with_a_length() {
        let (head, body) =
            read("POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc").unwrap();
        assert_eq!((&*head.method, &*head.target), ("POST", "/a?b"));
        assert_eq!(head.header("host"), Some("x"));
        assert_eq!(body, b"abc");
        assert!(!head.is_last());
    }

    #[test]
    fn a_body_in_chunks() {
        let (_, body) = read(
            "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n\
             3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n",
        )
        .unwrap();
        assert_eq!(body, b"abc0123456789");
    }

    #[test]
    fn a_request_cut_short_or_out_of_shape() {
        for text in [
            "",
            "GET /\r\n\r\n",
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nab",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
