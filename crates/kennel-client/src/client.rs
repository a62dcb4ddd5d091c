//! Requests and answers.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kennel_types::api::ProblemDetails;
use rustix::fd::{AsFd, BorrowedFd};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::{Address, Stream};
use crate::error::ClientError;
use crate::http;

/// How long an answer may take that waits for nothing but the daemon.
pub(crate) const SHORTLY: Duration = Duration::from_secs(30);

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As long as a daemon in good health may take.
    Short,
    /// Until it comes: the daemon waits for something itself.
    Endless,
}

/// A daemon, which need not run just now.
#[derive(Debug, Clone)]
pub struct Client {
    address: Address,
}

/// A request on its way. Who drops it is seen to go.
#[derive(Debug)]
pub struct Sent(http::Sent<Stream>);

/// Lines of an answer, each a value, as they come. What comes after the last line break was cut off, and is an error.
#[derive(Debug)]
pub struct Lines<T>(http::Lines<T, Stream>);

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        self.0.next()
    }
}

impl Client {
    /// The daemon of this home, by its socket.
    pub fn of_home(folder: impl Into<PathBuf>) -> Self {
        Self { address: Address::Home(folder.into()) }
    }

    /// The daemon at this port of our own machine, with a token of its.
    #[must_use]
    pub fn at_port(address: SocketAddr, token: impl Into<String>) -> Self {
        Self { address: Address::Port { address, token: token.into() } }
    }

    /// Whether somebody listens there.
    ///
    /// # Errors
    /// Nobody does.
    pub fn dial(&self) -> Result<(), ClientError> {
        self.address.dial().map(drop).map_err(ClientError::dialling)
    }

    /// Sends a request, and does not wait for the answer.
    ///
    /// # Errors
    /// It can't be sent.
    pub fn send(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
        patience: Patience,
    ) -> Result<Sent, ClientError> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| ClientError::Call(error.into()))?;
        let stream = self.address.dial().map_err(ClientError::dialling)?;
        let limit = (patience == Patience::Short).then_some(SHORTLY);
        stream.set_read_timeout(limit).map_err(ClientError::Call)?;
        let headers = self.address.headers();
        let sent = http::send(stream, method, target, &headers, body.as_deref());
        sent.map(Sent).map_err(ClientError::Call)
    }

    /// Asks for something that the daemon knows.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, ClientError> {
        self.send("GET", target, None::<&()>, Patience::Short)?.receive()
    }

    /// Asks for something to be done.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.send("POST", target, Some(body), Patience::Short)?.receive()
    }

    /// The same, if the answer is of no interest.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn execute(&self, target: &str, body: &impl Serialize) -> Result<(), ClientError> {
        self.send("POST", target, Some(body), Patience::Short)?.accepted()
    }

    /// Removes something.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn delete(&self, target: &str) -> Result<(), ClientError> {
        self.send("DELETE", target, None::<&()>, Patience::Short)?.accepted()
    }

    /// Lines as they come.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn lines<T: DeserializeOwned>(
        &self,
        method: &str,
        target: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Lines<T>, ClientError> {
        let granted = self.send(method, target, body, Patience::Endless)?.granted()?;
        Ok(Lines(granted.lines()))
    }
}

impl Sent {
    /// Waits for an answer that is no refusal.
    fn granted(self) -> Result<http::Response<Stream>, ClientError> {
        let response = self.0.receive().map_err(ClientError::reading)?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let status = response.status;
        let text = response.bytes().map_err(ClientError::reading)?;
        let problem = serde_json::from_slice(&text).unwrap_or_else(|_| ProblemDetails {
            code: "internal".to_owned(),
            status,
            detail: format!("the daemon answered with HTTP status {status}"),
            hint: Some(
                "if it is an older one, `kennel daemon restart` brings this version".to_owned(),
            ),
            ..ProblemDetails::default()
        });
        Err(ClientError::Problem(Box::new(problem)))
    }

    /// Waits for an answer that is no refusal; what is in it is of no interest.
    ///
    /// # Errors
    /// There is no answer, or a refusal.
    pub fn accepted(self) -> Result<(), ClientError> {
        self.granted().map(drop)
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// There is none, or a refusal.
    pub fn receive<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let text = self.granted()?.bytes().map_err(ClientError::reading)?;
        serde_json::from_slice(&text).map_err(|error| ClientError::Garbled(error.into()))
    }
}

impl AsFd for Sent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
