//! A small blocking HTTP client for tests and benchmarks: many requests over one connection.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fd::AsRawFd as _;
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;

/// The daemon's socket in its home.
const SOCKET: &str = "kennel.sock";
/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to a daemon, which stays open.
#[derive(Debug)]
pub struct HttpClient {
    stream: BufReader<HttpTransport>,
    /// The headers of every request.
    headers: String,
}

#[derive(Debug)]
enum HttpTransport {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Read for HttpTransport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for HttpTransport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A complete response.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The body, without transfer encoding.
    pub body: Vec<u8>,
}

impl HttpClient {
    /// Connects to the daemon of a home, through a descriptor of the home: its path may be too long
    /// for a socket address.
    ///
    /// # Errors
    /// If no daemon listens.
    pub fn connect(home: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(home, flags, Mode::empty())?;
        Self::connect_to(Path::new(&format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
    }

    /// Connects to a Unix socket.
    ///
    /// # Errors
    /// If no server listens.
    pub fn connect_to(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).context("can't connect to the socket")?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let headers = "Host: localhost\r\n".to_owned();
        Ok(Self { stream: BufReader::new(HttpTransport::Unix(stream)), headers })
    }

    /// Connects to a TCP address, with a token.
    ///
    /// # Errors
    /// If no server listens.
    pub fn connect_tcp(address: &str, token: &str) -> Result<Self> {
        let stream =
            TcpStream::connect(address).with_context(|| format!("can't connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let headers = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n");
        Ok(Self { stream: BufReader::new(HttpTransport::Tcp(stream)), headers })
    }

    /// Returns the Unix socket itself, for a response without end. It has no timeout.
    ///
    /// # Errors
    /// If the connection uses TCP.
    pub fn into_stream(self) -> Result<UnixStream> {
        match self.stream.into_inner() {
            HttpTransport::Unix(stream) => {
                stream.set_read_timeout(None)?;
                Ok(stream)
            }
            HttpTransport::Tcp(_) => bail!("not a Unix socket"),
        }
    }

    /// Sends a request with a JSON body, and reads the whole response.
    ///
    /// # Errors
    /// If the connection fails, or the response is not HTTP.
    pub fn request(&mut self, method: &str, target: &str, body: &[u8]) -> Result<HttpResponse> {
        self.request_with_type(method, target, "application/json", body)
    }

    /// Sends a request with a body of this content type, and reads the whole response.
    ///
    /// # Errors
    /// If the connection fails, or the response is not HTTP.
    pub fn request_with_type(
        &mut self,
        method: &str,
        target: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<HttpResponse> {
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\n{}Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
            self.headers,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)?;
        self.read_response()
    }

    /// Gets JSON.
    ///
    /// # Errors
    /// If the request fails, is refused, or the response has another shape.
    pub fn get<T: DeserializeOwned>(&mut self, target: &str) -> Result<T> {
        self.request("GET", target, b"")?.json(target)
    }

    /// Posts JSON, and parses the JSON of the response.
    ///
    /// # Errors
    /// If the request fails, is refused, or the response has another shape.
    pub fn post<T: DeserializeOwned>(&mut self, target: &str, body: &[u8]) -> Result<T> {
        self.request("POST", target, body)?.json(target)
    }

    /// Sends a request whose response does not matter, except that it must succeed.
    ///
    /// # Errors
    /// If the request fails or is refused.
    pub fn send(&mut self, method: &str, target: &str, body: &[u8]) -> Result<()> {
        self.request(method, target, body)?.check(target)
    }

    fn read_response(&mut self) -> Result<HttpResponse> {
        let status = self.read_line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.context("the response has no status")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.read_line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
        }
        let body = if chunked { self.read_chunks()? } else { self.read_bytes(length)? };
        Ok(HttpResponse { status, body })
    }

    fn read_chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(self.read_line()?.trim(), 16)?;
            body.extend(self.read_bytes(length)?);
            self.read_line()?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn read_bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

impl HttpResponse {
    fn check(&self, target: &str) -> Result<()> {
        if !(200..300).contains(&self.status) {
            bail!("{target}: {self:?}");
        }
        Ok(())
    }

    fn json<T: DeserializeOwned>(&self, target: &str) -> Result<T> {
        self.check(target)?;
        serde_json::from_slice(&self.body).with_context(|| format!("{target}: unexpected response"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn reads_several_responses_over_one_connection() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs
            .write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]\
                  HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[2\r\n1\r\n]\r\n0\r\n\r\n\
                  HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\nno",
            )
            .unwrap();
        let stream = BufReader::new(HttpTransport::Unix(ours));
        let mut client = HttpClient { stream, headers: String::new() };
        assert_eq!(client.get::<Vec<u8>>("/a").unwrap(), [1]);
        assert_eq!(client.post::<Vec<u8>>("/b", b"{}").unwrap(), [2]);
        let refused = client.send("DELETE", "/c", b"").unwrap_err().to_string();
        assert!(refused.contains("409 no"), "{refused}");
        drop(client);
        let mut requests = String::new();
        theirs.read_to_string(&mut requests).unwrap();
        assert!(requests.starts_with("GET /a HTTP/1.1\r\n"), "{requests}");
    }

    #[test]
    fn refuses_half_a_response() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"HTTP/1.1 200 OK\r\nA").unwrap();
        drop(theirs);
        let stream = BufReader::new(HttpTransport::Unix(ours));
        let mut client = HttpClient { stream, headers: String::new() };
        assert!(client.read_response().is_err());
    }
}
