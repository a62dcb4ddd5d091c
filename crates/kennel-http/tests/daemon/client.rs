//! A client of the API with just enough HTTP for the tests.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// Returns the values of a response of JSON lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8_lossy(&self.body);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Sends a request and waits for the whole response.
pub(crate) fn ask(
    socket: &Path,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> std::io::Result<Answer> {
    let mut stream = send(socket, method, path, body)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| std::io::Error::other("incomplete response"))
}

/// Sends a request without reading the response.
pub(crate) fn send(
    socket: &Path,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> std::io::Result<UnixStream> {
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let mut stream = UnixStream::connect(socket)?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: kennel\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len())?;
    Ok(stream)
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = &bytes[end + 4..];
    let chunked = head.contains("transfer-encoding: chunked");
    let body = if chunked { unchunk(body)? } else { body.to_vec() };
    Some(Answer { status, body })
}

fn unchunk(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        bytes = &bytes[end + 2..];
        if length == 0 {
            return Some(whole);
        }
        whole.extend(bytes.get(..length)?);
        bytes = bytes.get(length + 2..)?;
    }
}
