//! Start a command inside something that holds its whole process tree, know it before it runs, end all
//! of it, and *see* that it is gone.
//!
//! A plain `kill` reaches one process; a process group, those that did not leave it. Agents, build tools and
//! servers start others in sessions of their own, fork twice, clear their environment. A **pen** holds them
//! all: a cgroup where the machine offers one, and always the subtree below the pen's owner, to which
//! orphans fall. It is empty when *both* say so.
//!
//! There are two ways to own a pen:
//!
//! - From any program, through a small process of its own, a [`holder`]. It survives you and ends the tree
//!   when you vanish. Start as many as you like, from any thread, blocking or async (feature `tokio`).
//! - In a process that is itself nothing but an owner, directly, as below. Such a process has one pen at a
//!   time, and all its children belong to it.
//!
//! ```standalone_crate
//! use std::time::{Duration, Instant};
//! use kennel_pen::{Command, End, Ground, HomeId, Kind, Pen, PenName, Status};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let soon = || Instant::now() + Duration::from_secs(10);
//! let home = HomeId::random()?;
//! let ground = Ground::survey(&home); // what this machine offers, found out by trying
//! let name = PenName::random(home)?;
//! let mut pen = Pen::create(&ground, name, Kind::Auto)?;
//!
//! let mut command = Command::new("/bin/sh");
//! command.args(["-c", "sleep 1000 & exit 7"]);
//! let gated = pen.launch(command)?; // the process exists, and waits behind its gate
//! println!("for the record: {}", gated.identity());
//! gated.open(soon())?; // now it becomes the program
//!
//! assert_eq!(pen.wait_agent(soon())?, Some(Status::Code(7)));
//! assert!(!pen.is_empty()?, "it left something behind");
//! assert_eq!(pen.end(soon())?, End::Empty);
//! pen.remove()?;
//! # Ok(())
//! # }
//! ```
//!
//! What can't be ended is told by [`EndOutcome::StillAlive`], with why, and is still owned. Every wait takes a
//! deadline. A launch that fails leaves nothing, and its error names the call or the file.

mod cgroup;
mod command;
mod controllers;
mod end;
pub mod end_policy;
pub mod holder;
mod host_support;
mod launch;
mod leftover;
mod limits;
mod name;
pub mod namespace;
pub mod oom;
mod pen;
mod process;
mod program;
mod removal;
mod slot;
mod status;
mod subtree;
mod systemd;
mod usage;
pub mod wire;

pub use cgroup::CgroupBase;
pub use command::{CallerEnds, Command, StdStream, StdStreams};
pub use end::EndOutcome;
pub use host_support::{HostSupport, LimitOffer, NoCgroup, cgroup_mount};
pub use kennel_sys::clone::ResourceLimit;
pub use kennel_sys::fault::CallError;
pub use kennel_sys::identity::{Birth, ProcessIdentity};
pub use kennel_sys::terminal::Size;
pub use launch::{GatedAgent, HOME_COOKIE, LaunchError, SESSION_COOKIE};
pub use leftover::{Claim, Leftover, LeftoverEnd};
pub use limits::{Controller, NoController, PenLimitError, PenLimits};
pub use name::{HomeId, ParseNameError, PenName, SessionId};
pub use pen::{CreateError, OtherChildren, Pen, PenKind, Woken};
pub use process::{ActivitySample, Generation, PenProcess, PenUsage, SurvivalReason, Survivor};
pub use program::ExecError;
pub use removal::{PenRemoveError, RemovalFailure};
pub use status::Status;
