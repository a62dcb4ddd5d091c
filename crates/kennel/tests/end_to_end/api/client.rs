//! The parts of an HTTP, server-sent events and WebSocket client that the tests need.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use kennel_testing::{Scene, eventually, signal};
use serde_json::Value;
use tungstenite::WebSocket;

/// The timeout for every wait.
const LONG: Duration = Duration::from_secs(30);

/// Connects to the daemon once it runs, however long the path of its home is.
pub(crate) fn connect(scene: &Scene) -> UnixStream {
    let mut connected = None;
    eventually("the daemon listens", || {
        connected = try_connect(scene).ok();
        connected.is_some()
    });
    connected.expect("it was there")
}

fn try_connect(scene: &Scene) -> io::Result<UnixStream> {
    let home = File::open(scene.kennel_home())?;
    let stream = UnixStream::connect(format!("/proc/self/fd/{}/kennel.sock", home.as_raw_fd()))?;
    stream.set_read_timeout(Some(LONG))?;
    Ok(stream)
}

/// A response that may not end.
pub(crate) struct Answer {
    stream: BufReader<UnixStream>,
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    /// The rest of the chunk or of the body.
    left: usize,
    chunked: bool,
    /// Whether the body ended properly.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) fn get(scene: &Scene, target: &str, headers: &[(&str, &str)]) -> Self {
        Self::try_get(scene, target, headers).expect("an answer")
    }

    /// Sends a request with a body and returns the response.
    pub(crate) fn post(
        scene: &Scene,
        target: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Self {
        let (body, length) = (body.to_string(), body.to_string().len().to_string());
        let headers = [headers, &[("Content-Length", &length)]].concat();
        Self::asked(scene, "POST", target, &headers, &body).expect("an answer")
    }

    /// Like [`Answer::get`], for a daemon that may be killed at any moment.
    pub(crate) fn try_get(
        scene: &Scene,
        target: &str,
        headers: &[(&str, &str)],
    ) -> io::Result<Self> {
        Self::asked(scene, "GET", target, headers, "")
    }

    fn asked(
        scene: &Scene,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> io::Result<Self> {
        let mut stream = connect(scene);
        let mut request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        stream.write_all((request + "\r\n" + body).as_bytes())?;
        let mut stream = BufReader::new(stream);
        let mut line = || -> io::Result<String> {
            let mut line = String::new();
            match stream.read_line(&mut line)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(line.trim_end().to_owned()),
            }
        };
        let status = line()?.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = BTreeMap::new();
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let chunked = headers.get("transfer-encoding").is_some_and(|how| how == "chunked");
        let length = headers.get("content-length").and_then(|length| length.parse().ok());
        let (status, left) = (status.expect("a status"), length.unwrap_or(0));
        Ok(Self { stream, status, headers, left, chunked, whole: !chunked })
    }

    /// All of it, as text.
    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.read_to_string(&mut text).expect("text");
        assert!(self.whole, "it was cut off after {} bytes", text.len());
        text
    }

    /// All of it as JSON lines.
    pub(crate) fn records(self) -> Vec<Value> {
        let text = self.text();
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.text()).expect("JSON")
    }

    pub(crate) fn events(self) -> Events {
        assert_eq!(self.headers["content-type"], "text/event-stream");
        Events(BufReader::new(self))
    }
}

impl Read for Answer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && self.chunked && !self.whole {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Ok(0);
            }
            self.left = usize::from_str_radix(line.trim_end(), 16).expect("a length");
            if self.left == 0 {
                self.whole = true;
            }
        }
        let most = self.left.min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let read = self.stream.read(&mut buffer[..most])?;
        self.left -= read;
        if self.left == 0 && self.chunked {
            let mut end = [0; 2];
            // A connection that was closed here has no more data.
            self.stream.read_exact(&mut end).ok();
        }
        Ok(read)
    }
}

/// Server-sent events without comments.
pub(crate) struct Events(BufReader<Answer>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("JSON")
    }
}

impl Iterator for Events {
    type Item = Event;

    /// Returns `None` at the end or when the connection is lost.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 || !line.ends_with('\n') {
                return None;
            }
            match line.trim_end_matches('\n').split_once(": ") {
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("event", name)) => event.event = name.to_owned(),
                Some(("data", data)) => event.data += data,
                _ if line == "\n" && event != Event::default() => return Some(event),
                _ => {}
            }
        }
    }
}

/// Follows as a browser does: it reconnects after each end with the last id that it has seen.
pub(crate) struct Returning<'a> {
    scene: &'a Scene,
    target: String,
    events: Option<Events>,
    pub(crate) last: Option<String>,
}

impl<'a> Returning<'a> {
    pub(crate) fn new(scene: &'a Scene, target: impl Into<String>) -> Self {
        Self { scene, target: target.into(), events: None, last: None }
    }

    /// The next event, from this daemon or its successor.
    pub(crate) fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.events.as_mut().and_then(Iterator::next) {
                self.last = Some(event.id.clone());
                return event;
            }
            let mut headers = vec![("Accept", "text/event-stream")];
            headers.extend(self.last.as_deref().map(|last| ("Last-Event-ID", last)));
            let answer = Answer::try_get(self.scene, &self.target, &headers);
            self.events = answer.ok().filter(|answer| answer.status == 200).map(Answer::events);
        }
    }
}

/// Kills the daemon; the yard starts the next one.
pub(crate) fn crash_daemon(scene: &Scene) {
    let before = scene.daemon().expect("a daemon");
    signal(before, "KILL");
    eventually("another daemon is there", || scene.daemon().is_some_and(|pid| pid != before));
}

/// How many descriptors the daemon has open.
pub(crate) fn descriptors(scene: &Scene) -> usize {
    let daemon = scene.daemon().expect("a daemon");
    std::fs::read_dir(format!("/proc/{daemon}/fd")).map_or(0, Iterator::count)
}

/// The CPU time that the daemon has used, in clock ticks: hundredths of a second.
pub(crate) fn ticks(scene: &Scene) -> u64 {
    let daemon = scene.daemon().expect("a daemon");
    let stat = std::fs::read_to_string(format!("/proc/{daemon}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    fields[11].parse::<u64>().expect("user") + fields[12].parse::<u64>().expect("system")
}

pub(crate) type Socket = WebSocket<UnixStream>;

/// Attaches to a session and reads the first message.
pub(crate) fn attach(scene: &Scene, reference: &str, query: &str) -> (Socket, Value) {
    let url = format!("ws://localhost/v1/sessions/{reference}/terminal{query}");
    let (mut socket, _) = tungstenite::client(url, connect(scene)).expect("an upgrade");
    let attached = next_text(&mut socket);
    assert_eq!(attached["type"], "attached", "{attached}");
    (socket, attached)
}

/// The next message except pings and pongs.
pub(crate) fn next_message(socket: &mut Socket) -> tungstenite::Message {
    loop {
        match socket.read().expect("a message") {
            tungstenite::Message::Ping(_) | tungstenite::Message::Pong(_) => {}
            message => return message,
        }
    }
}

/// The next message, which must be text.
pub(crate) fn next_text(socket: &mut Socket) -> Value {
    match next_message(socket) {
        tungstenite::Message::Text(text) => serde_json::from_str(&text).expect("JSON"),
        other => panic!("{other:?} is no text"),
    }
}

/// Reads bytes until they contain this.
pub(crate) fn wait_for(socket: &mut Socket, wanted: &str) -> String {
    let mut seen = Vec::new();
    loop {
        match next_message(socket) {
            tungstenite::Message::Binary(bytes) => seen.extend(bytes),
            other => panic!("{other:?} before {wanted:?}; seen {seen:?}"),
        }
        let text = String::from_utf8_lossy(&seen);
        if text.contains(wanted) {
            return text.into_owned();
        }
    }
}

/// Reads until the other side closes; returns the close code and all bytes.
pub(crate) fn wait_close(socket: &mut Socket) -> (u16, String) {
    let mut seen = Vec::new();
    loop {
        match next_message(socket) {
            tungstenite::Message::Close(frame) => {
                let code = frame.map_or(1005, |frame| frame.code.into());
                return (code, String::from_utf8_lossy(&seen).into_owned());
            }
            tungstenite::Message::Binary(bytes) => seen.extend(bytes),
            _ => {}
        }
    }
}

pub(crate) fn send_text(socket: &mut Socket, text: &str) {
    socket.send(tungstenite::Message::text(text)).expect("it is sent");
}

pub(crate) fn press(socket: &mut Socket, keys: &str) {
    socket.send(tungstenite::Message::binary(keys.as_bytes().to_vec())).expect("it is sent");
}
