//! Whether a URL answers with 2xx, with a minimal HTTP/1.1 client.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LONGEST_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 128;

/// The server and the resource of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HttpTarget {
    host: String,
    port: u16,
    authority: String,
    target: String,
}

impl HttpTarget {
    /// Parses `http://HOST[:PORT][/PATH][?QUERY][#…]`.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| format!("{url:?} is not http://"))?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(
                "a URL with a user name or password is not supported, and would be shown".into()
            );
        }
        let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (host, port) = match (bracketed, authority.split_once(':')) {
            (Some((host, port)), _) => (host, port.strip_prefix(':')),
            (None, Some((host, port))) => (host, Some(port)),
            (None, None) => (authority, None),
        };
        if host.is_empty() {
            return Err(format!("{url:?} has no host"));
        }
        let port = match port {
            None => 80,
            Some(text) => {
                let number = text.parse().ok().filter(|port| *port != 0);
                number.ok_or_else(|| format!("invalid port {text:?}: expected 1 to 65535"))?
            }
        };
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        if !target.is_ascii() || target.contains(char::is_whitespace) {
            return Err(format!("{url:?} has characters that must be percent-encoded"));
        }
        Ok(Self { host: host.to_owned(), port, authority: authority.to_owned(), target })
    }
}

pub(super) async fn answers(url: &str) -> io::Result<()> {
    let address = HttpTarget::parse(url).map_err(io::Error::other)?;
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: kennel\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        address.target, address.authority
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    loop {
        match status(&head)? {
            Some(200..=299) => return Ok(()),
            Some(other) => {
                return Err(io::Error::other(format!("the last response was {other}")));
            }
            None if head.len() >= LONGEST_HEAD => {
                return Err(io::Error::other("a response without an end"));
            }
            None => {}
        }
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Returns the final status, once its line has arrived.
fn status(mut head: &[u8]) -> io::Result<Option<u16>> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(head);
        let parsed = parsed.map_err(|_| io::Error::other("the server does not speak HTTP/1"))?;
        match (response.code, parsed) {
            // An interim response: the final one follows.
            (Some(100..=199), httparse::Status::Complete(length)) => head = &head[length..],
            (Some(100..=199), httparse::Status::Partial) => return Ok(None),
            (code, _) => return Ok(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (String, u16, String, String) {
        let HttpTarget { host, port, authority, target } = HttpTarget::parse(url).unwrap();
        (host, port, authority, target)
    }

    #[test]
    fn parses_an_address() {
        let is = |host: &str, port, authority: &str, target: &str| {
            (host.to_owned(), port, authority.to_owned(), target.to_owned())
        };
        assert_eq!(parsed("http://a"), is("a", 80, "a", "/"));
        assert_eq!(parsed("http://a:81/x/y?z#w"), is("a", 81, "a:81", "/x/y?z"));
        assert_eq!(parsed("http://a?q=1"), is("a", 80, "a", "/?q=1"));
        assert_eq!(parsed("http://[::1]:8/"), is("::1", 8, "[::1]:8", "/"));
        for wrong in ["https://a", "http://", "http://:8", "http://a:b", "http://a/ü", "http://u@a"]
        {
            assert!(HttpTarget::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn decides_as_soon_as_the_status_line_is_complete() {
        let status = |text: &str| status(text.as_bytes()).ok();
        assert_eq!(status(""), Some(None));
        assert_eq!(status("HTTP/1.1 20"), Some(None));
        assert_eq!(status("HTTP/1.1 204\r\n"), Some(Some(204)));
        assert_eq!(status("HTTP/1.0 503 not yet\n"), Some(Some(503)));
        let early = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        assert_eq!(status(early), Some(None));
        assert_eq!(status(&format!("{early}HTTP/1.1 200 OK\r\n")), Some(Some(200)));
        assert_eq!(status("SSH-2.0-OpenSSH\r\n"), None);
        assert_eq!(status("HTTP/1.1 abc\r\n"), None);
    }

    #[tokio::test]
    async fn only_2xx_is_ready() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/health", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            for answer in ["HTTP/1.1 503 no\r\n\r\n", "nonsense\r\n", "", "HTTP/1.1 200 OK\r\n\r\n"]
            {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                let length = stream.read(&mut request).await.unwrap();
                assert!(request[..length].starts_with(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:"));
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        for _ in 0..3 {
            assert!(answers(&url).await.is_err());
        }
        answers(&url).await.unwrap();
        serving.await.unwrap();
        assert!(answers(&url).await.is_err(), "no server any more");
    }
}
