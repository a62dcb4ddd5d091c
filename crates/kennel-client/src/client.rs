//! Sends requests to a daemon and reads its responses.

use std::fmt::Debug;
use std::io::{self, BufReader, Read, Write};
use std::marker::PhantomData;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use kennel_types::api::ProblemDetails;
use rustix::fd::{AsFd, BorrowedFd};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ClientError;
use crate::{http, socket};

/// The daemon's socket in its home.
const SOCKET: &str = "kennel.sock";
/// The timeout of [`Timeout::Short`].
pub(crate) const SHORT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the client waits for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// As long as a healthy daemon may take.
    Short,
    /// Without a timeout: the daemon itself waits for something.
    None,
}

/// A client of one daemon, which may not be running yet.
#[derive(Debug, Clone)]
pub struct Client {
    address: DaemonAddress,
}

#[derive(Clone)]
enum DaemonAddress {
    /// The socket in this home.
    Home(PathBuf),
    /// A port of this machine, with a token.
    Port { address: SocketAddr, token: String },
}

impl std::fmt::Debug for DaemonAddress {
    /// Leaves out the token, which is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Home(folder) => write!(f, "{}", folder.display()),
            Self::Port { address, .. } => write!(f, "{address}"),
        }
    }
}

/// A connection to a daemon: a Unix or a TCP socket.
trait DaemonStream: Read + Write + AsFd + Debug + Send + Sync {}
impl DaemonStream for UnixStream {}
impl DaemonStream for TcpStream {}
type Connection = Box<dyn DaemonStream>;

impl DaemonAddress {
    fn connect(&self, read_timeout: Option<Duration>) -> io::Result<Connection> {
        match self {
            Self::Home(folder) => {
                let stream = socket::stream(folder, SOCKET)?;
                stream.set_read_timeout(read_timeout)?;
                Ok(Box::new(stream))
            }
            Self::Port { address, .. } => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(read_timeout)?;
                Ok(Box::new(stream))
            }
        }
    }

    fn headers(&self) -> String {
        match self {
            Self::Home(_) => "Host: localhost\r\n".to_owned(),
            Self::Port { address, token } => {
                format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n")
            }
        }
    }
}

/// A request that was sent. Dropping it closes the connection, which the daemon notices.
#[derive(Debug)]
pub struct Sent(Connection);

/// A response of JSON values, one on each line, as they arrive. An incomplete last line is an error.
#[derive(Debug)]
pub struct Lines<T> {
    body: BufReader<http::Body<Connection>>,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        http::next_line(&mut self.body)
    }
}

/// # Errors
/// A request fails if it can't be sent, if the daemon does not respond, or if it responds with an error.
impl Client {
    /// Creates a client of the daemon of this home, which uses its Unix socket.
    pub fn of_home(folder: impl Into<PathBuf>) -> Self {
        Self { address: DaemonAddress::Home(folder.into()) }
    }

    /// Creates a client of the daemon at a TCP port of this machine, with one of its tokens.
    #[must_use]
    pub fn at_port(address: SocketAddr, token: impl Into<String>) -> Self {
        Self { address: DaemonAddress::Port { address, token: token.into() } }
    }

    /// Checks whether a daemon accepts connections.
    pub fn dial(&self) -> Result<(), ClientError> {
        self.connect(None).map(drop)
    }

    fn connect(&self, read_timeout: Option<Duration>) -> Result<Connection, ClientError> {
        self.address.connect(read_timeout).map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => ClientError::NoDaemon,
            _ => ClientError::Call(error),
        })
    }

    /// Sends a request without waiting for the response.
    pub fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
        timeout: Timeout,
    ) -> Result<Sent, ClientError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| ClientError::Call(error.into()))?;
        let mut stream = self.connect((timeout == Timeout::Short).then_some(SHORT_TIMEOUT))?;
        let sent =
            http::send(&mut stream, method, target, &self.address.headers(), body.as_deref());
        sent.map(|()| Sent(stream)).map_err(ClientError::Call)
    }

    /// Fetches the resource at a path.
    pub fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        self.send("GET", target, None::<&()>, Timeout::Short)?.receive()
    }

    /// Posts a request and returns the response.
    pub fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.send("POST", target, Some(body), Timeout::Short)?.receive()
    }

    /// Posts a request whose response has no content.
    pub fn execute(&self, target: &str, body: &impl Serialize) -> Result<(), ClientError> {
        self.send("POST", target, Some(body), Timeout::Short)?.accepted()
    }

    /// Deletes the resource at a path.
    pub fn delete(&self, target: &str) -> Result<(), ClientError> {
        self.send("DELETE", target, None::<&()>, Timeout::Short)?.accepted()
    }

    /// Reads a response of JSON lines as they arrive.
    pub fn lines<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Lines<T>, ClientError> {
        let response = self.send(method, target, body, Timeout::None)?.success()?;
        Ok(Lines { body: BufReader::new(response.body), of: PhantomData })
    }
}

/// # Errors
/// The daemon does not respond, or responds with an error.
impl Sent {
    /// Waits for the head of a response that is not an error.
    fn success(self) -> Result<http::Response<Connection>, ClientError> {
        let response = http::receive(self.0).map_err(ClientError::reading)?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let status = response.status;
        let text = response.bytes().map_err(ClientError::reading)?;
        let problem = serde_json::from_slice(&text).unwrap_or_else(|_| ProblemDetails {
            code: "internal".to_owned(),
            status,
            detail: format!("the daemon responded with HTTP status {status}"),
            hint: Some("if it is an older version, run `kennel daemon restart`".to_owned()),
            ..ProblemDetails::default()
        });
        Err(ClientError::Problem(Box::new(problem)))
    }

    /// Waits for the response, and ignores its content.
    pub fn accepted(self) -> Result<(), ClientError> {
        self.success().map(drop)
    }

    /// Waits for the response.
    pub fn receive<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let text = self.success()?.bytes().map_err(ClientError::reading)?;
        serde_json::from_slice(&text).map_err(|error| ClientError::Garbled(error.into()))
    }
}

impl AsFd for Sent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
