//! The yard: one small process for each home. It is a subreaper, and the parent of the daemon and
//! of every keeper.
//!
//! It forks keepers when the daemon requests them, reaps them, and restarts a daemon that crashed.
//! Any other child is an orphan of a dead keeper or a dead daemon, and is ended.
//!
//! It has one thread and no runtime. A keeper is a fork of it, in which [`run`] does not return.

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
use serve::YardServer;

/// The fault points of a yard.
pub const POINTS: &[&str] =
    &["yard.fork", "yard.forked", "yard.reaped", "yard.daemon", "yard.kept"];

/// The home of a yard.
#[derive(Debug)]
pub struct YardConfig {
    /// Its folder.
    pub home: PathBuf,
    pub home_id: HomeId,
    /// The state of the previous program of this process, if there was one.
    pub resumed: Option<YardResume>,
}

/// The name of a yard's lock file in its home.
pub const YARD_LOCK: &str = "yard.lock";

/// Why a yard exits.
#[derive(Debug)]
pub enum YardEnd {
    /// The daemon requested it, and no child is left.
    Left,
    /// Another yard serves the home.
    Occupied,
}

/// Serves as the yard, until the daemon requests the end and no child is left. This does not return
/// in forks of this process, the keepers.
pub fn run(config: YardConfig) -> io::Result<YardEnd> {
    let Some(yard) = YardServer::take(config)? else { return Ok(YardEnd::Occupied) };
    let Some((descriptors, inherited)) = yard.serve() else { return Ok(YardEnd::Left) };
    // This is a keeper, and everything of the yard is closed.
    reuse::serve(descriptors, &inherited, |error| {
        serve::log(&format!("a keeper has failed: {error}"));
    })
}
