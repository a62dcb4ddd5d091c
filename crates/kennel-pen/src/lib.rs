//! Starts a command in a pen that holds its whole process tree, identifies the process before it
//! runs, ends all of the tree, and observes that it is gone.
//!
//! `kill` reaches one process, and a process group only the processes that did not leave it.
//! Agents, build tools and servers start processes in sessions of their own, fork twice, and clear
//! their environment. A **pen** holds them all: a cgroup if the host supports one, and always the
//! subtree below the pen's owner, to which orphans are reparented. A pen is empty when *both* are.
//!
//! There are two ways to own a pen:
//!
//! - Any program can own pens through small helper processes, one for each pen: see [`supervisor`].
//!   A helper outlives the program and ends the tree when the program dies. Start as many as you
//!   like, from any thread, blocking or async (feature `tokio`).
//! - A process that does nothing else owns a pen directly, as below. Such a process has one pen at
//!   a time, and all its children belong to it. [`supervise`] has the loop for such a process.
//!
//! ```standalone_crate
//! use std::time::{Duration, Instant};
//! use kennel_pen::{Command, EndOutcome, HomeId, HostSupport, Pen, PenKind, PenName, Status};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let soon = || Instant::now() + Duration::from_secs(10);
//! let home = HomeId::random()?;
//! let support = HostSupport::survey(&home); // tries out what this host supports
//! let name = PenName::random(home)?;
//! let mut pen = Pen::create(&support, name, PenKind::Auto)?;
//!
//! let mut command = Command::new("/bin/sh");
//! command.args(["-c", "sleep 1000 & exit 7"]);
//! let gated = pen.launch(command)?; // the process exists and waits behind its gate
//! println!("recorded before it runs: {}", gated.identity());
//! gated.open(soon())?; // now it becomes the program
//!
//! assert_eq!(pen.wait_agent(soon())?, Some(Status::Code(7)));
//! assert!(!pen.is_empty()?, "it left a process behind");
//! assert_eq!(pen.end(soon())?, EndOutcome::Empty);
//! pen.remove()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`EndOutcome::StillAlive`] lists the processes that can't be ended, and why; the pen still owns
//! them. Every wait has a deadline. A failed launch leaves nothing; its error names the call.

#![warn(missing_docs)]

mod cgroup;
mod command;
mod controllers;
mod end;
mod end_policy;
mod host_support;
mod launch;
mod leftover;
mod limits;
mod name;
pub mod oom;
mod pen;
mod process;
mod program;
mod slot;
mod status;
mod subtree;
pub mod supervise;
pub mod supervisor;
mod systemd;
pub mod wire;

pub use cgroup::CgroupBase;
pub use command::{CallerEnds, Command, StdStream, StdStreams};
pub use end::EndOutcome;
pub use host_support::{HostSupport, LimitOffer, NoCgroup, cgroup_mount};
pub use kennel_sys::clone::ResourceLimit;
pub use kennel_sys::fault::CallError;
pub use kennel_sys::identity::{Birth, ProcessIdentity};
pub use kennel_sys::terminal::Size;
pub use kennel_types::{PenKind, Survivor};
pub use launch::{GatedAgent, HOME_COOKIE, LaunchError, SESSION_COOKIE};
pub use leftover::{Claim, Leftover, LeftoverEnd};
pub use limits::{Controller, NoController, PenLimitError, PenLimits};
pub use name::{HomeId, ParseNameError, PenId, PenName};
pub use pen::{CreateError, OtherChildren, Pen, PenRemoveError, RemovalFailure, Woken, poll};
pub use process::{ActivitySample, Generation, PenProcess, PenUsage};
pub use program::ExecError;
pub use status::Status;
