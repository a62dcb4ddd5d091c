//! A client that sends exactly the given bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use kennel_testing::{DEADLINE, Scene};

use super::token;

/// A complete response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Answer {
    /// Parses a response.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|number| number.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {head:?}"));
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The API of a scene over TCP.
#[derive(Debug, Clone)]
pub(super) struct Tcp {
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

impl Tcp {
    pub(super) fn of(scene: &Scene) -> Self {
        Self { address: address(scene), token: token(scene) }
    }

    pub(super) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the daemon listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        stream
    }

    /// Sends this on a new connection and returns the response, if any.
    pub(super) fn try_raw(&self, bytes: &[u8]) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        // The daemon may refuse before it has read everything.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if answer.is_empty() => Err(error),
            _ if answer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(Answer::parse(&answer)),
        }
    }

    #[track_caller]
    pub(super) fn raw(&self, bytes: &[u8]) -> Answer {
        self.try_raw(bytes).expect("an answer")
    }

    /// Sends a request with these headers and `Connection: close`.
    #[track_caller]
    pub(super) fn bare(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
        self.raw(request(method, target, headers, "").as_bytes())
    }

    /// Sends a request with the right host.
    #[track_caller]
    pub(super) fn with(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
        let host = self.host();
        self.bare(method, target, &[&[("Host", host.as_str())], headers].concat())
    }

    /// Sends a request with this token.
    #[track_caller]
    pub(super) fn by(&self, token: &str, method: &str, target: &str) -> Answer {
        self.with(method, target, &[("Authorization", &format!("Bearer {token}"))])
    }

    /// Sends a request with the main token.
    #[track_caller]
    pub(super) fn ask(&self, method: &str, target: &str) -> Answer {
        self.by(&self.token, method, target)
    }

    /// The head of a request with the main token; more may follow.
    pub(super) fn head(&self, method: &str, target: &str, more: &[(&str, &str)]) -> String {
        let (host, bearer) = (self.host(), format!("Bearer {}", self.token));
        let ours = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
        request(method, target, &[&ours, more].concat(), "")
    }

    /// Opens an event stream with this token and waits for its first bytes.
    #[track_caller]
    pub(super) fn follow(&self, token: &str) -> TcpStream {
        let tcp = Self { token: token.to_owned(), ..self.clone() };
        let mut stream = self.connect();
        let head = tcp.head("GET", "/v1/events?follow=true", &[]);
        stream.write_all(head.as_bytes()).expect("sent");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("an answer begins");
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    }
}

/// The address of a scene's API.
pub(super) fn address(scene: &Scene) -> SocketAddr {
    let text = std::fs::read_to_string(scene.kennel_home().join("api.addr")).expect("an address");
    text.trim_end().parse().expect("an address and a port")
}

pub(super) fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> String {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n{body}")
}

/// Whether the other side has closed it, after reading the rest.
pub(super) fn ends(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}
