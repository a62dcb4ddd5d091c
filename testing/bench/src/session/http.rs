//! As much of HTTP as is needed to ask a daemon many times over one connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fd::AsRawFd as _;
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;

/// The daemon's socket in its home.
const SOCKET: &str = "kennel.sock";

/// A connection that stays open.
pub(crate) struct Client {
    stream: BufReader<UnixStream>,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Client {
    /// Connects to the daemon of this home, however long the home's path is: through a descriptor of it.
    pub(crate) fn connect(home: &Path) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(home, flags, Mode::empty())?;
        Self::connect_to(Path::new(&format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())))
    }

    /// Connects to a socket.
    pub(crate) fn connect_to(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).context("nobody listens")?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// The connection itself, for an answer without end.
    pub(crate) fn into_stream(self) -> UnixStream {
        self.stream.into_inner()
    }

    /// Asks, and reads the whole answer.
    pub(crate) fn ask(&mut self, method: &str, target: &str, body: &[u8]) -> Result<Answer> {
        self.ask_with(method, target, "application/json", body)
    }

    /// The same with another kind of body.
    pub(crate) fn ask_with(
        &mut self,
        method: &str,
        target: &str,
        kind: &str,
        body: &[u8],
    ) -> Result<Answer> {
        let length = body.len();
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             Content-Length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)?;
        self.answer()
    }

    /// Asks for JSON.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, target: &str) -> Result<T> {
        parse(target, &self.ask("GET", target, b"")?)
    }

    /// Sends JSON for JSON.
    pub(crate) fn post<T: DeserializeOwned>(&mut self, target: &str, body: &[u8]) -> Result<T> {
        parse(target, &self.ask("POST", target, body)?)
    }

    /// Asks for something to be done, of which the answer is of no interest.
    pub(crate) fn tell(&mut self, method: &str, target: &str, body: &[u8]) -> Result<()> {
        let answer = self.ask(method, target, body)?;
        answer.accepted(target)
    }

    fn answer(&mut self) -> Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.context("the answer makes no sense")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
        }
        let body = if chunked { self.chunks()? } else { self.bytes(length)? };
        Ok(Answer { status, body })
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(self.line()?.trim(), 16)?;
            body.extend(self.bytes(length)?);
            self.line()?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the connection was closed");
        Ok(line.trim_end().to_owned())
    }
}

impl Answer {
    fn accepted(&self, target: &str) -> Result<()> {
        if !(200..300).contains(&self.status) {
            bail!("{target}: {} {}", self.status, String::from_utf8_lossy(&self.body));
        }
        Ok(())
    }
}

fn parse<T: DeserializeOwned>(target: &str, answer: &Answer) -> Result<T> {
    answer.accepted(target)?;
    serde_json::from_slice(&answer.body).with_context(|| format!("{target}: the answer"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn several_answers_come_over_one_connection() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs
            .write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]\
                  HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[2\r\n1\r\n]\r\n0\r\n\r\n\
                  HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\nno",
            )
            .unwrap();
        let mut client = Client { stream: BufReader::new(ours) };
        assert_eq!(client.get::<Vec<u8>>("/a").unwrap(), [1]);
        assert_eq!(client.post::<Vec<u8>>("/b", b"{}").unwrap(), [2]);
        let refused = client.tell("DELETE", "/c", b"").unwrap_err().to_string();
        assert!(refused.contains("409 no"), "{refused}");
        drop(client);
        let mut asked = String::new();
        theirs.read_to_string(&mut asked).unwrap();
        assert!(asked.starts_with("GET /a HTTP/1.1\r\n"), "{asked}");
    }
}
