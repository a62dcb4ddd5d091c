//! The configuration of a daemon, and its errors.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use kennel_pen::HomeId;
use kennel_register::OpenRegisterError;
use rustix::fd::OwnedFd;

use crate::launch::admission::LaunchLimits;
use crate::os::home::LockHomeError;

/// Starts a yard, as a client would.
pub type StartYard = Box<dyn Fn() -> io::Result<()> + Send>;

pub struct DaemonConfig {
    pub home: PathBuf,
    pub home_id: HomeId,
    pub yard: OwnedFd,
    pub version: String,
    /// Called when the yard has died, just before the daemon exits: a new yard starts a new daemon.
    pub start_yard: Option<StartYard>,
    /// How many ended sessions stay on record.
    pub ended_kept: usize,
    /// The folder for worktrees; none: a folder in the home.
    pub worktrees: Option<PathBuf>,
    /// The environment for git where no client's is known: for worktrees of a former daemon.
    pub environment: Vec<(OsString, OsString)>,
    pub limits: LaunchLimits,
}

impl DaemonConfig {
    /// Returns the default configuration for a home whose yard is at the other end of `yard`.
    #[must_use]
    pub fn new(home: PathBuf, home_id: HomeId, yard: OwnedFd, version: String) -> Self {
        Self {
            home,
            home_id,
            yard,
            version,
            start_yard: None,
            ended_kept: 1000,
            worktrees: None,
            environment: Vec::new(),
            limits: LaunchLimits::default(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    #[error(transparent)]
    Home(#[from] LockHomeError),
    #[error(transparent)]
    Register(#[from] OpenRegisterError),
    #[error("the yard does not answer")]
    Yard(#[source] io::Error),
    #[error("can't listen at {path}")]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("can't start")]
    Runtime(#[source] io::Error),
}
