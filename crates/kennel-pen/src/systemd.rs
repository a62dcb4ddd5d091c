//! Asks a user's systemd whether it has delegated a unit.
//!
//! The system's manager marks the cgroups that it has delegated. A user's manager does not, so it
//! must be asked over its D-Bus socket. This implements only as much of D-Bus as that takes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::process::Uid;

/// The timeout for an answer, which comes from a process on the same machine.
const TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST: usize = 64 * 1024;
/// The alignment of D-Bus values.
const ALIGNED: usize = 8;

/// Asks the manager of the current user whether it has delegated one of its units, by the name of
/// its cgroup. Returns `None` if there is no answer.
pub(crate) fn is_delegated(unit: &str) -> Option<bool> {
    let socket = format!("/run/user/{}/systemd/private", rustix::process::geteuid().as_raw());
    UnixStream::connect(Path::new(&socket)).and_then(|stream| ask(stream, unit)).ok()
}

fn ask(stream: UnixStream, unit: &str) -> io::Result<bool> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut answers = BufReader::new((&stream).take(LONGEST as u64));
    (&stream).write_all(greeting(rustix::process::geteuid()).as_bytes())?;
    let mut line = String::new();
    answers.read_line(&mut line)?;
    if !line.starts_with("OK ") {
        return Err(unexpected());
    }
    let mut request = b"BEGIN\r\n".to_vec();
    request.extend(question(unit));
    (&stream).write_all(&request)?;
    answer(&mut answers)
}

/// Returns the user id, as decimal digits that are encoded in hexadecimal.
fn greeting(user: Uid) -> String {
    let digits: String = user.as_raw().to_string().bytes().map(|b| format!("{b:02x}")).collect();
    format!("\0AUTH EXTERNAL {digits}\r\n")
}

/// A call of `Properties.Get` for the unit's `Delegate`.
fn question(unit: &str) -> Vec<u8> {
    let kind = if unit.ends_with(".scope") { "Scope" } else { "Service" };
    let mut body = Vec::new();
    add_text(&mut body, &format!("org.freedesktop.systemd1.{kind}"));
    add_text(&mut body, "Delegate");
    let mut fields = Vec::new();
    for (code, signature, text) in [
        (1, b'o', format!("/org/freedesktop/systemd1/unit/{}", escaped(unit))),
        (2, b's', "org.freedesktop.DBus.Properties".to_owned()),
        (3, b's', "Get".to_owned()),
        (6, b's', "org.freedesktop.systemd1".to_owned()),
    ] {
        pad(&mut fields, ALIGNED);
        fields.extend([code, 1, signature, 0]);
        add_text(&mut fields, &text);
    }
    pad(&mut fields, ALIGNED);
    fields.extend([8, 1, b'g', 0, 2, b's', b's', 0]);
    // Little-endian, a call, no flags, version 1, and its serial number.
    let mut message = vec![b'l', 1, 0, 1];
    add_number(&mut message, body.len());
    add_number(&mut message, 1);
    add_number(&mut message, fields.len());
    message.extend(fields);
    pad(&mut message, ALIGNED);
    message.extend(body);
    message
}

/// Returns the name as a component of an object path.
fn escaped(unit: &str) -> String {
    let escape = |(at, byte): (usize, u8)| {
        let plain = byte.is_ascii_alphabetic() || (byte.is_ascii_digit() && at > 0);
        if plain { char::from(byte).to_string() } else { format!("_{byte:02x}") }
    };
    unit.bytes().enumerate().map(escape).collect()
}

/// Reads a message that is a reply with one boolean, as a variant.
fn answer(from: &mut impl Read) -> io::Result<bool> {
    const REPLY: u8 = 2;
    let mut head = [0; 16];
    loop {
        from.read_exact(&mut head)?;
        let number = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let (body_length, fields_length) = (number(4), number(12));
        if head[0] != b'l' || body_length > LONGEST || fields_length > LONGEST {
            return Err(unexpected());
        }
        let mut fields = vec![0; fields_length.next_multiple_of(ALIGNED)];
        from.read_exact(&mut fields)?;
        let mut body = vec![0; body_length];
        from.read_exact(&mut body)?;
        match (head[1], &body[..]) {
            (REPLY, [1, b'b', 0, 0, value @ ..]) => return Ok(*value == 1_u32.to_le_bytes()),
            (1 | 4, _) => {} // an unrelated signal or call
            _ => return Err(unexpected()),
        }
    }
}

fn unexpected() -> io::Error {
    io::Error::from(io::ErrorKind::InvalidData)
}

fn add_number(to: &mut Vec<u8>, number: usize) {
    to.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn add_text(to: &mut Vec<u8>, text: &str) {
    pad(to, 4);
    add_number(to, text.len());
    to.extend(text.bytes());
    to.push(0);
}

fn pad(to: &mut Vec<u8>, multiple: usize) {
    to.resize(to.len().next_multiple_of(multiple), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![b'l', kind, 1, 1];
        add_number(&mut message, body.len());
        add_number(&mut message, 7);
        let fields = [5, 1, b'u', 0, 1, 0, 0, 0, 8, 1, b'g', 0, 1, b'v', 0];
        add_number(&mut message, fields.len());
        message.extend(fields);
        pad(&mut message, ALIGNED);
        message.extend(body);
        message
    }

    /// Asks a manager that sends this answer. Returns the result, and the request that it got.
    fn asked_of(answer: Vec<u8>) -> (io::Result<bool>, Vec<u8>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let manager = std::thread::spawn(move || {
            let mut requests = BufReader::new(theirs.try_clone().unwrap());
            let mut line = String::new();
            requests.read_line(&mut line).unwrap();
            assert!(line.starts_with("\0AUTH EXTERNAL 3"), "{line:?}");
            theirs.write_all(b"OK 0123\r\n").unwrap();
            line.clear();
            requests.read_line(&mut line).unwrap();
            assert_eq!(line, "BEGIN\r\n");
            let mut message = vec![0; question("run-1.scope").len()];
            requests.read_exact(&mut message).unwrap();
            theirs.write_all(&answer).unwrap();
            message
        });
        let answer = ask(ours, "run-1.scope");
        (answer, manager.join().unwrap())
    }

    #[test]
    fn only_a_boolean_is_accepted_as_an_answer() {
        let boolean = |value: u8| [1, b'b', 0, 0, value, 0, 0, 0];
        assert!(asked_of(reply(2, &boolean(1))).0.unwrap());
        assert!(!asked_of(reply(2, &boolean(0))).0.unwrap());
        let signal_first = [reply(4, b"anything"), reply(2, &boolean(1))].concat();
        assert!(asked_of(signal_first).0.unwrap());
        assert!(asked_of(reply(3, b"no such unit")).0.is_err());
        assert!(asked_of(reply(2, b"\x01s\0\0yes")).0.is_err());
        assert!(asked_of(Vec::new()).0.is_err(), "a closed connection is not an answer");
        assert!(
            asked_of(vec![b'l', 2, 0, 1, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]).0.is_err()
        );
    }

    #[test]
    fn the_request_names_the_unit() {
        let sent = asked_of(Vec::new()).1;
        assert_eq!(sent, question("run-1.scope"));
        let text = String::from_utf8_lossy(&sent);
        assert!(text.contains("/org/freedesktop/systemd1/unit/run_2d1_2escope\0"), "{text}");
        assert!(text.contains("org.freedesktop.systemd1.Scope\0"), "{text}");
        assert!(String::from_utf8_lossy(&question("a.service")).contains("systemd1.Service\0"));
    }

    #[test]
    fn a_name_is_escaped_as_systemd_does() {
        assert_eq!(escaped("app-a@1.service"), "app_2da_401_2eservice");
        assert_eq!(escaped("1.scope"), "_31_2escope");
    }
}
