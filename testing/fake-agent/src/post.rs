//! `post`: a request over a socket, as a hook in an agent makes it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use crate::args::Args;
use crate::failure::{self, OrFail as _, Outcome};
use crate::output;

/// `post SOCKET PATH BODY`: prints `asked` when the request is sent, then the response.
pub(crate) fn post(mut args: Args) -> Outcome {
    let socket = args.path("SOCKET")?;
    let (path, body) = (args.text("PATH")?, args.text("BODY")?);
    args.finish()?;
    let (path, body) = (path.to_string_lossy(), body.to_string_lossy());
    let mut stream = UnixStream::connect(&socket)
        .or_fail(failure::SYSTEM, format_args!("connecting to {}", socket.display()))?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: kennel\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).or_fail(failure::SYSTEM, "sending the request")?;
    output::print(b"asked\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).or_fail(failure::SYSTEM, "reading the answer")?;
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or("no status");
    output::print(format!("{status} {text}\n").as_bytes())?;
    Ok(0)
}
