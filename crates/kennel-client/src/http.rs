//! As much HTTP/1.1 as a client of the daemon needs: one request a connection, JSON both ways.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;

use rustix::fd::{AsFd, BorrowedFd};
use serde::de::DeserializeOwned;

/// The longest line of a head, and the most lines: far more than our daemon sends.
const LONGEST_LINE: u64 = 16 * 1024;
const MOST_LINES: usize = 100;

/// A request that was sent; its answer is still to come.
#[derive(Debug)]
pub(crate) struct Sent<S> {
    stream: S,
}

/// Sends a request.
pub(crate) fn send<S: Read + Write>(
    mut stream: S,
    method: &str,
    target: &str,
    headers: &str,
    body: Option<&[u8]>,
) -> io::Result<Sent<S>> {
    let mut request = format!("{method} {target} HTTP/1.1\r\n{headers}Connection: close\r\n");
    if let Some(body) = body {
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    request += "\r\n";
    let mut bytes = request.into_bytes();
    bytes.extend(body.unwrap_or_default());
    match stream.write_all(&bytes).and_then(|()| stream.flush()) {
        // One who refuses may do so before it has read everything; the answer says why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Sent { stream }),
        other => other.map(|()| Sent { stream }),
    }
}

impl<S: Read> Sent<S> {
    /// Waits for the head of the answer.
    pub(crate) fn receive(self) -> io::Result<Response<S>> {
        let mut stream = BufReader::new(self.stream);
        let status = read_status(&mut stream)?;
        let framing = read_headers(&mut stream, status)?;
        Ok(Response { status, body: Body { stream, framing } })
    }
}

impl<S: AsFd> AsFd for Sent<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// An answer, of which the body may still be on its way.
#[derive(Debug)]
pub(crate) struct Response<S> {
    pub(crate) status: u16,
    pub(crate) body: Body<S>,
}

impl<S: Read> Response<S> {
    /// The whole body.
    pub(crate) fn bytes(mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The body as lines of JSON, each as it comes.
    pub(crate) fn lines<T: DeserializeOwned>(self) -> Lines<T, S> {
        Lines { body: BufReader::new(self.body), of: PhantomData }
    }
}

/// Lines of JSON. What comes after the last line break was cut off, and is an error.
#[derive(Debug)]
pub(crate) struct Lines<T, S> {
    body: BufReader<Body<S>>,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned, S: Read> Iterator for Lines<T, S> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        loop {
            let mut line = Vec::new();
            match self.body.read_until(b'\n', &mut line) {
                Err(error) => return Some(Err(error)),
                Ok(0) => return None,
                Ok(_) if !line.ends_with(b"\n") => {
                    return Some(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                // An empty line keeps the connection awake.
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => return Some(serde_json::from_slice(&line).map_err(io::Error::from)),
            }
        }
    }
}

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// In chunks, of which so much of the present one is left. None: the next begins.
    Chunked(Option<u64>),
    /// It was the last.
    Over,
    /// By the end of the connection.
    UntilClosed,
}

/// The body of an answer.
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
                Framing::Over | Framing::Length(0) => return Ok(0),
                Framing::UntilClosed => return self.stream.read(buffer),
                Framing::Length(left) => left,
                Framing::Chunked(None) => {
                    self.framing = match chunk_length(&read_line(&mut self.stream)?)? {
                        0 => {
                            skip_trailers(&mut self.stream)?;
                            Framing::Over
                        }
                        length => Framing::Chunked(Some(length)),
                    };
                    continue;
                }
                Framing::Chunked(Some(0)) => {
                    if !read_line(&mut self.stream)?.is_empty() {
                        return Err(garbled("a chunk does not end where it should"));
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

fn garbled(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer makes no sense: {what}"))
}

/// A line without its end.
fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = line.strip_suffix(b"\n").ok_or_else(|| garbled("a line without an end"))?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|_| garbled("a line that is no text"))
}

fn read_status(stream: &mut impl BufRead) -> io::Result<u16> {
    let line = read_line(stream)?;
    let mut words = line.split(' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    match status {
        Some(status @ 200..600) if version.starts_with("HTTP/1.") => Ok(status),
        _ => Err(garbled(&format!("{line:?}"))),
    }
}

fn read_headers(stream: &mut impl BufRead, status: u16) -> io::Result<Framing> {
    let mut framing = Framing::UntilClosed;
    for _ in 0..MOST_LINES {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok(if matches!(status, 204 | 304) { Framing::Over } else { framing });
        }
        let (name, value) = line.split_once(':').ok_or_else(|| garbled(&format!("{line:?}")))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case("chunked") {
                return Err(garbled(&format!("{line:?}")));
            }
            framing = Framing::Chunked(None);
        } else if name.eq_ignore_ascii_case("content-length") && framing == Framing::UntilClosed {
            framing = Framing::Length(value.parse().map_err(|_| garbled(&format!("{line:?}")))?);
        }
    }
    Err(garbled("too many headers"))
}

/// In hex; what follows a `;` is for nobody.
fn chunk_length(line: &str) -> io::Result<u64> {
    let digits = line.split(';').next().unwrap_or_default().trim();
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16)
        .ok()
        .filter(|_| plain)
        .ok_or_else(|| garbled(&format!("{line:?}")))
}

fn skip_trailers(stream: &mut impl BufRead) -> io::Result<()> {
    for _ in 0..MOST_LINES {
        if read_line(stream)?.is_empty() {
            return Ok(());
        }
    }
    Err(garbled("too many headers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its text in pieces of a few bytes, and takes whatever is written.
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
        send(Wire::new(text, piece), "GET", "/x", "Host: a\r\n", None)?.receive()
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        4;ext=1\r\n{\"a\"\r\nc\r\n: 1}\n\n{\"a\": \r\n3\r\n2}\n\r\n0\r\nTrailer: x\r\n\r\n";

    #[test]
    fn a_request_says_how_long_it_is() {
        let sent =
            send(Wire::new("", 1), "POST", "/v1/x", "Host: localhost\r\n", Some(b"{}")).unwrap();
        let text = String::from_utf8(sent.stream.written).unwrap();
        assert!(text.starts_with("POST /v1/x HTTP/1.1\r\nHost: localhost\r\n"), "{text}");
        assert!(text.ends_with("\r\nContent-Length: 2\r\n\r\n{}"), "{text}");
    }

    #[test]
    fn a_body_is_read_whole_however_it_is_framed_and_cut() {
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
    fn lines_come_one_by_one() {
        for piece in [1, 3, 1000] {
            let lines = ask(CHUNKED, piece).unwrap().lines::<serde_json::Value>();
            let values = lines.map(|line| line.unwrap()["a"].as_u64().unwrap()).collect::<Vec<_>>();
            assert_eq!(values, [1, 2]);
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error_and_not_an_end() {
        let short =
            ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", &CHUNKED[..CHUNKED.len() - 20]];
        for text in short {
            let error = ask(text, 100).unwrap().bytes().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{text}");
        }
        let text = "HTTP/1.1 200 OK\r\n\r\n{\"a\": 1}\n{\"a\"";
        let lines = ask(text, 100).unwrap().lines::<serde_json::Value>().collect::<Vec<_>>();
        assert_eq!((lines.len(), lines[0].is_ok(), lines[1].is_err()), (2, true, true));
        assert!(ask("", 100).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
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
