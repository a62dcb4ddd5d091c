//! The part of HTTP/1.1 that a client of the daemon needs: one request per connection, JSON both ways.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::de::DeserializeOwned;

/// The maximum length and number of lines in a head: far more than the daemon sends.
const MAX_LINE: u64 = 16 * 1024;
const MAX_LINES: usize = 100;

/// Sends a request.
pub(crate) fn send(
    stream: &mut impl Write,
    method: &str,
    target: &str,
    headers: &str,
    body: Option<&[u8]>,
) -> io::Result<()> {
    let mut request = format!("{method} {target} HTTP/1.1\r\n{headers}Connection: close\r\n");
    if let Some(body) = body {
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    request += "\r\n";
    let mut bytes = request.into_bytes();
    bytes.extend(body.unwrap_or_default());
    match stream.write_all(&bytes).and_then(|()| stream.flush()) {
        // The daemon may refuse a request before it has read all of it. Its response has the reason.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Waits for the head of the response.
pub(crate) fn receive<S: Read>(stream: S) -> io::Result<Response<S>> {
    let mut stream = BufReader::new(stream);
    let status = read_status(&mut stream)?;
    let framing = read_headers(&mut stream, status)?;
    Ok(Response { status, body: Body { stream, framing } })
}

/// A response whose body may not have arrived yet.
#[derive(Debug)]
pub(crate) struct Response<S> {
    pub(crate) status: u16,
    pub(crate) body: Body<S>,
}

impl<S: Read> Response<S> {
    /// Reads the whole body.
    pub(crate) fn bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns the next line of a body of JSON lines. An incomplete last line is an error.
pub(crate) fn next_line<T: DeserializeOwned>(body: &mut impl BufRead) -> Option<io::Result<T>> {
    loop {
        let mut line = Vec::new();
        match body.read_until(b'\n', &mut line) {
            Err(error) => return Some(Err(error)),
            Ok(0) => return None,
            Ok(_) if !line.ends_with(b"\n") => {
                return Some(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            // An empty line keeps the connection alive.
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => return Some(serde_json::from_slice(&line).map_err(io::Error::from)),
        }
    }
}

/// How to find the end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// This many bytes are left.
    Length(u64),
    /// In chunks, with this many bytes left of the current chunk. `None`: the next chunk begins.
    Chunked(Option<u64>),
    /// By the end of the connection.
    UntilClosed,
}

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Body<S> {
    stream: BufReader<S>,
    framing: Framing,
}

impl<S: Read> Read for Body<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let left = match self.framing {
                Framing::Length(0) => return Ok(0),
                Framing::UntilClosed => return self.stream.read(buffer),
                Framing::Length(left) => left,
                Framing::Chunked(None) => {
                    self.framing = match chunk_length(&read_line(&mut self.stream)?)? {
                        0 => {
                            // Trailers.
                            while !read_line(&mut self.stream)?.is_empty() {}
                            Framing::Length(0)
                        }
                        length => Framing::Chunked(Some(length)),
                    };
                    continue;
                }
                Framing::Chunked(Some(0)) => {
                    if !read_line(&mut self.stream)?.is_empty() {
                        return Err(malformed("a chunk is longer than its length"));
                    }
                    self.framing = Framing::Chunked(None);
                    continue;
                }
                Framing::Chunked(Some(left)) => left,
            };
            let room = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let length = self.stream.read(&mut buffer[..room])?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let left = left - length as u64;
            self.framing = match self.framing {
                Framing::Chunked(_) => Framing::Chunked(Some(left)),
                _ => Framing::Length(left),
            };
            return Ok(length);
        }
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed response: {what}"))
}

/// Reads a line, without its end.
fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = line.strip_suffix(b"\n").ok_or_else(|| malformed("a line without an end"))?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|_| malformed("a line is not UTF-8"))
}

fn read_status(stream: &mut impl BufRead) -> io::Result<u16> {
    let line = read_line(stream)?;
    let mut words = line.split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    match status {
        Some(status @ 200..600) if version.starts_with("HTTP/1.") => Ok(status),
        _ => Err(malformed(&format!("{line:?}"))),
    }
}

fn read_headers(stream: &mut impl BufRead, status: u16) -> io::Result<Framing> {
    let mut framing = Framing::UntilClosed;
    for _ in 0..MAX_LINES {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok(if matches!(status, 204 | 304) { Framing::Length(0) } else { framing });
        }
        let invalid = || malformed(&format!("{line:?}"));
        let (name, value) = line.split_once(':').ok_or_else(invalid)?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(invalid());
            }
            framing = Framing::Chunked(None);
        } else if name.eq_ignore_ascii_case("content-length") && framing == Framing::UntilClosed {
            framing = Framing::Length(value.parse().map_err(|_| invalid())?);
        }
    }
    Err(malformed("too many headers"))
}

/// Parses the length of a chunk, in hexadecimal digits. Ignores extensions after a `;`.
fn chunk_length(line: &str) -> io::Result<u64> {
    let digits = line.split(';').next().unwrap_or_default().trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let length = u64::from_str_radix(digits, 16).ok().filter(|_| plain);
    length.ok_or_else(|| malformed(&format!("{line:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that returns its text in pieces of a few bytes and collects the written bytes.
    struct Wire {
        text: io::Cursor<Vec<u8>>,
        piece: usize,
        written: Vec<u8>,
    }

    impl Wire {
        fn new(text: &str, piece: usize) -> Self {
            Self { text: io::Cursor::new(text.into()), piece, written: Vec::new() }
        }
    }

    impl Read for Wire {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let room = buffer.len().min(self.piece);
            self.text.read(&mut buffer[..room])
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ask(text: &str, piece: usize) -> io::Result<Response<Wire>> {
        let mut wire = Wire::new(text, piece);
        send(&mut wire, "GET", "/x", "Host: a\r\n", None)?;
        receive(wire)
    }

    fn lines(response: Response<Wire>) -> impl Iterator<Item = io::Result<serde_json::Value>> {
        let mut body = BufReader::new(response.body);
        std::iter::from_fn(move || next_line(&mut body))
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        4;ext=1\r\n{\"a\"\r\nc\r\n: 1}\n\n{\"a\": \r\n3\r\n2}\n\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn a_request_has_its_length() {
        let mut wire = Wire::new("", 1);
        send(&mut wire, "POST", "/v1/x", "Host: localhost\r\n", Some(b"{}")).unwrap();
        let text = String::from_utf8(wire.written).unwrap();
        assert!(text.starts_with("POST /v1/x HTTP/1.1\r\nHost: localhost\r\n"), "{text}");
        assert!(text.ends_with("\r\nContent-Length: 2\r\n\r\n{}"), "{text}");
    }

    #[test]
    fn reads_the_whole_body_with_any_framing() {
        let texts = [
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\nX: y\r\n\r\nhello and more", "hello"),
            ("HTTP/1.1 404 Not Found\r\n\r\nhello", "hello"),
            ("HTTP/1.1 404 Not Found\nContent-Length: 0\n\n", ""),
            (CHUNKED, "{\"a\": 1}\n\n{\"a\": 2}\n"),
        ];
        for piece in [1, 2, 7, 1000] {
            for (text, body) in texts {
                let response = ask(text, piece).unwrap();
                assert_eq!(response.status, if body.contains('a') { 200 } else { 404 });
                assert_eq!(response.bytes().unwrap(), body.as_bytes());
            }
        }
    }

    #[test]
    fn reads_line_by_line() {
        for piece in [1, 3, 1000] {
            let lines = lines(ask(CHUNKED, piece).unwrap());
            let values = lines.map(|line| line.unwrap()["a"].as_u64().unwrap()).collect::<Vec<_>>();
            assert_eq!(values, [1, 2]);
        }
    }

    #[test]
    fn an_incomplete_response_is_an_error() {
        let short =
            ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", &CHUNKED[..CHUNKED.len() - 20]];
        for text in short {
            let error = ask(text, 100).unwrap().bytes().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{text}");
        }
        let text = "HTTP/1.1 200 OK\r\n\r\n{\"a\": 1}\n{\"a\"";
        let lines = lines(ask(text, 100).unwrap()).collect::<Vec<_>>();
        assert_eq!((lines.len(), lines[0].is_ok(), lines[1].is_err()), (2, true, true));
        assert!(ask("", 100).is_err());
    }

    #[test]
    fn refuses_malformed_responses() {
        for text in [
            "hello\r\n\r\n",
            "HTTP/1.1 OK 200\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        ] {
            assert!(ask(text, 100).is_err(), "{text}");
        }
        for chunk in ["zz\r\n", "+5\r\nhello\r\n", "5\r\nhelloo\r\n"] {
            let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
            assert!(ask(&text, 100).unwrap().bytes().is_err(), "{chunk}");
        }
    }
}
