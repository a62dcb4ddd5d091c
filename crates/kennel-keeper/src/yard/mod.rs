//! The yard: one tiny process for each home. A subreaper, the parent of the daemon and of every keeper.
//!
//! It forks keepers when the daemon asks for them, reaps them, and starts a daemon that crashed again. Who
//! falls to it and is neither is an orphan of a dead keeper or a dead daemon, and is ended.
//!
//! It has one thread and no runtime. A keeper is a fork of it: [`run`] does not come back in one.

mod begin;
mod daemon;
mod orphans;
mod resume;
mod serve;
mod yard_store;

use std::io;
use std::path::PathBuf;

use kennel_pen::HomeId;

pub use daemon::{DAEMON, DaemonExit};
pub use resume::{KEPT_VARIABLE, RESUME_VARIABLE, YardResume};

use crate::keeper::reuse;
use serve::{ForkSide, YardServer};

/// The names of the points at which a yard can be stopped by a test.
pub const POINTS: &[&str] =
    &["yard.fork", "yard.forked", "yard.reaped", "yard.daemon", "yard.kept"];

/// What a yard needs to know.
#[derive(Debug)]
pub struct YardConfig {
    /// The home.
    pub home: PathBuf,
    /// Its id.
    pub home_id: HomeId,
    /// What a former program of this process left, if there was one.
    pub resumed: Option<YardResume>,
}

/// The name of the lock that a yard holds in its home.
pub const YARD_LOCK: &str = "yard.lock";

/// How it went.
#[derive(Debug)]
pub enum YardEnd {
    /// Told to leave, and nobody is left.
    Left,
    /// Another yard holds the home.
    Occupied,
}

/// Serves as the yard, until told to leave and nobody is left.
///
/// It does not come back in forks of this process, the keepers.
///
/// # Errors
/// The home could not be taken, or the kernel failed us.
pub fn run(config: YardConfig) -> io::Result<YardEnd> {
    let Some(yard) = YardServer::take(config)? else { return Ok(YardEnd::Occupied) };
    match yard.serve()? {
        ForkSide::Left => Ok(YardEnd::Left),
        // All that was the yard's is closed by now.
        ForkSide::IsKeeper(descriptors, inherited) => {
            reuse::serve(descriptors, &inherited, |error| {
                serve::complain(&format!("a keeper gives up: {error}"));
            })
        }
    }
}
