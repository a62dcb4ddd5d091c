//! What a daemon is started with, and how it goes.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use kennel_pen::HomeId;
use kennel_register::OpenRegisterError;
use rustix::fd::OwnedFd;

use crate::launch::limits::LaunchLimits;
use crate::os::home::LockHomeError;

/// Starts a yard, the way a client would.
pub type StartYard = Box<dyn Fn() -> io::Result<()> + Send>;

/// What a daemon is started with.
pub struct DaemonConfig {
    /// The home.
    pub home: PathBuf,
    /// Its id.
    pub home_id: HomeId,
    /// The socket to the yard.
    pub yard: OwnedFd,
    /// The program's version, for people to read.
    pub version: String,
    /// Called when the yard has died, just before the daemon leaves: a new yard starts a new daemon.
    pub start_yard: Option<StartYard>,
    /// How many ended sessions stay on record.
    pub ended_kept: usize,
    /// Where worktrees go; none: into the home.
    pub worktrees: Option<PathBuf>,
    /// The environment for git where no client's is known: for worktrees that a former daemon left.
    pub environment: Vec<(OsString, OsString)>,
    /// On what terms sessions are taken in.
    pub terms: LaunchLimits,
}

impl DaemonConfig {
    /// For this home, below the yard at the other end of `yard`.
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
            terms: LaunchLimits::default(),
        }
    }
}

impl fmt::Debug for DaemonConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DaemonConfig");
        out.field("home", &self.home).field("home_id", &self.home_id);
        out.field("version", &self.version).field("ended_kept", &self.ended_kept);
        out.field("worktrees", &self.worktrees);
        out.field("terms", &self.terms);
        out.finish_non_exhaustive()
    }
}

/// Why the daemon can't serve.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The home can't be had.
    #[error(transparent)]
    Home(#[from] LockHomeError),
    /// The register can't be opened.
    #[error(transparent)]
    Register(#[from] OpenRegisterError),
    /// The yard does not answer.
    #[error("the yard does not answer")]
    Yard(#[source] io::Error),
    /// A socket can't be made.
    #[error("can't listen at {path}")]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The runtime can't be made.
    #[error("can't start")]
    Runtime(#[source] io::Error),
}
