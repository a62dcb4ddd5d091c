//! The API as a program uses it that is not the command: one request, one answer.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Asks the daemon of this home.
pub(crate) fn ask(home: &Path, method: &str, path: &str, body: &str) -> io::Result<Answer> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: kennel\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = UnixStream::connect(home.join("kennel.sock"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    parse(&String::from_utf8_lossy(&text))
        .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "half an answer"))
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_none() {
        let whole = "HTTP/1.1 404 Not SceneProcess\r\nA: b\r\n\r\n{}";
        assert_eq!(parse(whole), Some(Answer { status: 404, body: "{}".into() }));
        assert_eq!(parse("HTTP/1.1 200 OK\r\nA"), None);
        assert_eq!(parse(""), None);
    }
}
