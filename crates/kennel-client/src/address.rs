//! Where a daemon is, and a connection to it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fd::{AsFd, BorrowedFd};

use crate::socket;

/// The daemon's socket in its home.
const SOCKET: &str = "kennel.sock";

/// See the module.
#[derive(Clone)]
pub(crate) enum Address {
    /// The socket in this home.
    Home(PathBuf),
    /// A port of this machine, with the token that it asks for.
    Port { address: SocketAddr, token: String },
}

impl std::fmt::Debug for Address {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Home(folder) => write!(f, "{}", folder.display()),
            Self::Port { address, .. } => write!(f, "{address}"),
        }
    }
}

impl Address {
    pub(crate) fn dial(&self) -> io::Result<Stream> {
        match self {
            Self::Home(folder) => socket::stream(folder, SOCKET).map(Stream::Unix),
            Self::Port { address, .. } => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }

    /// What a request says besides what it is about.
    pub(crate) fn headers(&self) -> String {
        match self {
            Self::Home(_) => "Host: localhost\r\n".to_owned(),
            Self::Port { address, token } => {
                format!("Host: {address}\r\nAuthorization: Bearer {token}\r\n")
            }
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.flush(),
            Self::Tcp(stream) => stream.flush(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}
