//! Requests to a keeper over a connection of their own.

use std::io;
use std::path::Path;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest, PeerRole, VERSION};
use kennel_keeper::{KeeperClient, KeeperClientError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::keeper::link::KeeperSocket;
use crate::os::async_fd;

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeeperRequestError {
    #[error("no keeper is listening")]
    NotListening,
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Client(#[from] KeeperClientError),
}

impl From<io::Error> for KeeperRequestError {
    fn from(error: io::Error) -> Self {
        Self::Client(error.into())
    }
}

/// A connection for requests and their answers. The caller must limit the time of every wait.
#[derive(Debug)]
pub(crate) struct KeeperConnection(KeeperSocket);

impl KeeperConnection {
    pub(crate) fn connect(folder: &Path) -> Result<Self, KeeperRequestError> {
        use io::ErrorKind::{ConnectionRefused, NotFound};
        match KeeperClient::connect(folder) {
            Ok(client) => Ok(Self(async_fd::watch(client)?)),
            Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => {
                Err(KeeperRequestError::NotListening)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Exchanges greetings. Returns the secret of the keeper's launch.
    pub(crate) async fn greet(&self, role: PeerRole) -> Result<String, KeeperRequestError> {
        self.send(&KeeperRequest::Hello { version: VERSION, role }).await?;
        self.wait_for(|report, _| match report {
            KeeperReport::Hello { token, .. } => Some(token),
            _ => None,
        })
        .await
    }

    pub(crate) async fn send(&self, request: &KeeperRequest) -> Result<(), KeeperRequestError> {
        loop {
            match self.0.get_ref().send(request) {
                Err(KeeperClientError::Full) => self.0.writable().await?.clear_ready(),
                sent => return Ok(sent?),
            }
        }
    }

    /// Waits for the report in which `pick` finds an answer; other reports are dropped.
    pub(crate) async fn wait_for<T>(
        &self,
        mut pick: impl FnMut(KeeperReport, Vec<OwnedFd>) -> Option<T>,
    ) -> Result<T, KeeperRequestError> {
        loop {
            match self.0.get_ref().receive()? {
                Some((KeeperReport::Refused(why), _)) => {
                    return Err(KeeperRequestError::Refused(why));
                }
                Some((report, descriptors)) => {
                    if let Some(answer) = pick(report, descriptors) {
                        return Ok(answer);
                    }
                }
                None => self.0.readable().await?.clear_ready(),
            }
        }
    }

    pub(crate) fn drop_pending(&self) -> Result<(), KeeperRequestError> {
        while self.0.get_ref().receive()?.is_some() {}
        Ok(())
    }

    pub(crate) fn into_socket(self) -> KeeperSocket {
        self.0
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }

    /// Returns the pid of the process that listens, as this process sees it.
    pub(crate) fn peer(&self) -> io::Result<i32> {
        Ok(rustix::net::sockopt::socket_peercred(self.0.get_ref())?.pid.as_raw_pid())
    }
}
