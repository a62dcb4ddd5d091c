//! The server: a thread per connection, a log of requests, and the shutdown.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::commands::Commands;
use crate::http::{self, Head};
use crate::scenario::Scenario;
use crate::wire::{Kind, Reply, Stream, Turn, tool_names};

/// How long a client may keep a connection without a request. Longer than any tool takes, so that
/// no client uses a connection that is just being closed.
const IDLE_LIMIT: Duration = Duration::from_secs(600);

/// How long a client may pause in the middle of a request, or in reading an answer.
const BUSY_LIMIT: Duration = Duration::from_secs(30);

/// How long a request is left hanging if the client never goes away.
const HANG_LIMIT: Duration = Duration::from_secs(3600);

/// A running mock on loopback. It ends, with all its connections and threads, when it is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

/// A request that the mock has received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The path and the query, without the scenario.
    pub path: String,
    /// The scenario as it was written, tag included; `ok` if there was none.
    pub scenario: String,
    /// Which call of which API it was, if any.
    pub kind: Option<Kind>,
    /// The HTTP status of the response; `None` if the scenario never responds.
    pub status: Option<u16>,
    /// The names of the tools the request offered.
    pub tools: Vec<String>,
    /// The whole body: the conversation, as the agent sends it.
    pub body: String,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1, with these commands besides the built-in ones.
    pub fn start(commands: impl Into<Commands>) -> io::Result<Server> {
        Server::start_at(0, commands, io::sink())
    }

    /// Starts a server on this port of 127.0.0.1, which writes each request to `log` as a line of
    /// JSON. Port 0 is any free one.
    pub fn start_at(
        port: u16,
        commands: impl Into<Commands>,
        log: impl Write + Send + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            commands: commands.into(),
            state: Mutex::new(State {
                stopping: false,
                connections: HashMap::new(),
                accepted: 0,
                counts: HashMap::new(),
                requests: Vec::new(),
                log: Box::new(log),
            }),
            stop: Condvar::new(),
        });
        let acceptor = thread::Builder::new().name("mock-llm".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        })?;
        Ok(Server { shared, address, acceptor: Some(acceptor) })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The base URL for a client that is to have this [scenario](Scenario). Clients that want the
    /// version of an API in their base URL have to add it: `/v1`.
    pub fn base_url(&self, scenario: &str) -> String {
        format!("http://{}/s/{scenario}", self.address)
    }

    /// The requests so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The commands that the server knows.
    pub fn commands(&self) -> &Commands {
        &self.shared.commands
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopping = true;
        for connection in state.connections.values() {
            // A closed connection is fine.
            connection.shutdown(Shutdown::Both).ok();
        }
        drop(state);
        self.shared.stop.notify_all();

        // The acceptor waits for a connection: here is one.
        let woken = TcpStream::connect_timeout(&self.address, Duration::from_secs(5)).is_ok();
        if let Some(acceptor) = self.acceptor.take().filter(|_| woken) {
            // The message of a panic is on stderr already.
            acceptor.join().ok();
        }
    }
}

/// The state that all threads of a server share.
#[derive(Debug)]
struct Shared {
    commands: Commands,
    state: Mutex<State>,
    stop: Condvar,
}

struct State {
    stopping: bool,
    /// The open connections, to close them at the end.
    connections: HashMap<u64, TcpStream>,
    accepted: u64,
    /// How many requests each scenario has received that fails the first few.
    counts: HashMap<String, u32>,
    requests: Vec<Request>,
    log: Box<dyn Write + Send>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("stopping", &self.stopping)
            .field("connections", &self.connections.len())
            .field("requests", &self.requests.len())
            .finish_non_exhaustive()
    }
}

/// What to do about a request.
enum Answer {
    /// Answer with nothing.
    Empty,
    /// Answer in one piece.
    Whole { status: u16, body: Value, retry_after: Option<u32> },
    /// Answer with a stream.
    Stream(Stream, Ending),
    /// Do not answer.
    Never,
}

/// What to do with a stream that has begun.
enum Ending {
    Finish,
    Stall,
    Break,
}

impl Answer {
    fn ok(body: Value) -> Self {
        Answer::error(200, body)
    }

    fn error(status: u16, body: Value) -> Self {
        Answer::Whole { status, body, retry_after: None }
    }

    /// An error of the mock itself, not of a provider.
    fn mock_error(status: u16, message: &str) -> Self {
        let message = format!("mock: {message}");
        // Each client finds its message somewhere in here.
        let error = json!({ "message": message, "code": status, "type": "invalid_request_error" });
        Answer::error(status, json!({ "type": "error", "error": error }))
    }

    fn status(&self) -> Option<u16> {
        match self {
            Answer::Empty | Answer::Stream(..) => Some(200),
            Answer::Whole { status, .. } => Some(*status),
            Answer::Never => None,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes connections until the server stops, then waits until the last one has ended.
    fn accept(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            loop {
                let accepted = listener.accept();
                if self.lock().stopping {
                    return;
                }
                let Ok((stream, _)) = accepted else {
                    // Too many open files, or a client that has left again.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                // Without a thread the connection is closed; the client will try again.
                thread::Builder::new()
                    .name("mock-llm connection".to_owned())
                    .spawn_scoped(scope, move || self.connection(&stream))
                    .ok();
            }
        });
    }

    /// Serves one connection until either side closes it.
    fn connection(&self, stream: &TcpStream) {
        let Some(number) = self.register(stream) else {
            return;
        };
        // A client that disconnects, or sends nothing for too long, is an ordinary end.
        self.serve(stream).ok();
        stream.shutdown(Shutdown::Both).ok();
        self.lock().connections.remove(&number);
    }

    /// Registers a connection to be closed at the end, unless the server is stopping.
    fn register(&self, stream: &TcpStream) -> Option<u64> {
        let other = stream.try_clone().ok()?;
        let mut state = self.lock();
        if state.stopping {
            return None;
        }
        state.accepted += 1;
        let number = state.accepted;
        state.connections.insert(number, other);
        Some(number)
    }

    /// Answers the requests of one connection.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(BUSY_LIMIT))?;
        let mut reader = BufReader::new(stream);
        loop {
            stream.set_read_timeout(Some(IDLE_LIMIT))?;
            if reader.fill_buf()?.is_empty() {
                return Ok(());
            }
            stream.set_read_timeout(Some(BUSY_LIMIT))?;
            let head = Head::read(&mut reader)?;
            if head.expects_continue() {
                http::write_continue(stream)?;
            }
            let body = head.read_body(&mut reader)?;
            let (answer, delay) = self.take(&head, &body);
            if !delay.is_zero() && self.stops_within(delay) {
                return Ok(());
            }
            if !perform(answer, stream)? || head.is_last() {
                return Ok(());
            }
        }
    }

    /// Decides about a request and logs it.
    fn take(&self, head: &Head, body: &[u8]) -> (Answer, Duration) {
        let (name, path) = split_target(&head.target);
        let post = head.method == "POST";
        let kind = Kind::of(path).filter(|_| post);
        let text = String::from_utf8_lossy(body).into_owned();
        let body: Option<Value> = serde_json::from_slice(body).ok();
        let scenario = name.parse::<Scenario>();
        let delay = match &scenario {
            Ok(Scenario::Slow(delay)) if kind.is_some() => *delay,
            _ => Duration::ZERO,
        };

        let answer = match (head.method.as_str(), kind) {
            ("HEAD", _) => Answer::Empty,
            ("GET", _) if path.split('?').next().is_some_and(|p| p.ends_with("/models")) => {
                Answer::ok(json!({ "object": "list", "data": [], "models": [] }))
            }
            ("POST", Some(kind)) => match (&scenario, &body) {
                _ if head.encoding().is_some() => {
                    Answer::mock_error(415, "a body must not be compressed")
                }
                (_, None) => Answer::mock_error(400, "the body is not JSON"),
                (Err(error), _) => Answer::mock_error(400, &error.to_string()),
                (Ok(scenario), Some(body)) => self.decide(kind, name, scenario, path, body),
            },
            (method, _) => Answer::mock_error(404, &format!("there is no {method} {path}")),
        };

        let tools = body.as_ref().map(tool_names).unwrap_or_default();
        self.log(Request {
            method: head.method.clone(),
            path: path.to_owned(),
            scenario: name.to_owned(),
            kind,
            status: answer.status(),
            tools: tools.into_iter().map(str::to_owned).collect(),
            body: text,
        });
        (answer, delay)
    }

    /// Decides about a request of a known kind.
    fn decide(
        &self,
        kind: Kind,
        name: &str,
        scenario: &Scenario,
        path: &str,
        body: &Value,
    ) -> Answer {
        match scenario {
            _ if kind.is_count() => {}
            Scenario::Error { status, retry_after } => {
                return Answer::Whole {
                    status: *status,
                    body: kind.error(*status),
                    retry_after: *retry_after,
                };
            }
            Scenario::FailFirst { times, status } if self.count(name) <= *times => {
                return Answer::error(*status, kind.error(*status));
            }
            Scenario::Hang => return Answer::Never,
            _ => {}
        }
        let numbered;
        let turn = match Turn::next(scenario, &self.commands, kind.has_tool_result(body)) {
            Ok(Turn::Text(_)) if *scenario == Scenario::Numbered => {
                numbered = format!("answer number {}.", self.count(name));
                Turn::Text(&numbered)
            }
            Ok(turn) => turn,
            Err(name) => return Answer::mock_error(400, &format!("unknown command {name}")),
        };
        match kind.reply(path, body, turn) {
            Reply::Whole(body) => Answer::ok(body),
            Reply::Stream(stream) => Answer::Stream(
                stream,
                match scenario {
                    Scenario::Stall => Ending::Stall,
                    Scenario::Drop => Ending::Break,
                    _ => Ending::Finish,
                },
            ),
        }
    }

    /// Returns how often this name was requested, including this request.
    fn count(&self, name: &str) -> u32 {
        let mut state = self.lock();
        let had = state.counts.entry(name.to_owned()).or_insert(0);
        *had += 1;
        *had
    }

    fn log(&self, request: Request) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let line = json!({
            "time": since.unwrap_or_default().as_secs_f64(),
            "method": request.method,
            "path": request.path,
            "scenario": request.scenario,
            "kind": request.kind.map(Kind::name),
            "status": request.status,
            "tools": request.tools,
        });
        let mut state = self.lock();
        state.requests.push(request);
        // The log is for people to read: nothing depends on it.
        writeln!(state.log, "{line}").and_then(|()| state.log.flush()).ok();
    }

    /// Waits; returns whether the server stopped meanwhile.
    fn stops_within(&self, delay: Duration) -> bool {
        let state = self.lock();
        let waited = self.stop.wait_timeout_while(state, delay, |state| !state.stopping);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.stopping
    }
}

/// The scenario and the rest of a request's target.
fn split_target(target: &str) -> (&str, &str) {
    match target.strip_prefix("/s/") {
        None => ("ok", target),
        Some(rest) => match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/"),
        },
    }
}

/// Sends a response; returns whether the connection can be used for another one.
fn perform(answer: Answer, stream: &TcpStream) -> io::Result<bool> {
    match answer {
        Answer::Empty => http::write_empty(stream)?,
        Answer::Whole { status, body, retry_after } => {
            http::write_json(stream, status, retry_after, &body)?
        }
        Answer::Stream(events, ending) => {
            http::write_stream_head(stream)?;
            for event in &events.begin {
                http::write_event(stream, event)?;
            }
            match ending {
                Ending::Finish => {}
                Ending::Stall => return wait_for_end(stream).map(|()| false),
                Ending::Break => return Ok(false),
            }
            for event in &events.rest {
                http::write_event(stream, event)?;
            }
            http::write_stream_end(stream)?;
        }
        Answer::Never => return wait_for_end(stream).map(|()| false),
    }
    Ok(true)
}

/// Waits until the client has closed the connection, or the server stops.
fn wait_for_end(mut stream: &TcpStream) -> io::Result<()> {
    let deadline = Instant::now() + HANG_LIMIT;
    let mut ignored = [0; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        if stream.read(&mut ignored)? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_is_the_first_part_of_the_path() {
        assert_eq!(split_target("/v1/messages"), ("ok", "/v1/messages"));
        assert_eq!(split_target("/s/err:500@a/v1/messages?b"), ("err:500@a", "/v1/messages?b"));
        assert_eq!(split_target("/s/ok"), ("ok", "/"));
        assert_eq!(split_target("/s/ok/"), ("ok", "/"));
    }

    #[test]
    fn dropping_the_server_ends_its_threads() {
        let server = Server::start(Commands::default()).unwrap();
        let shared = Arc::downgrade(&server.shared);
        let mut slow = TcpStream::connect(server.address).unwrap();
        let idle = TcpStream::connect(server.address).unwrap();
        slow.write_all(b"POST /s/slow:500/v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            .unwrap();
        while server.requests().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        drop(server);
        assert_eq!(shared.strong_count(), 0);
        drop(idle);
    }
}
