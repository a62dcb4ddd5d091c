//! Pens in helper processes, for programs that need more than one pen.
//!
//! A process owns at most one pen, and a pen dies with its owner. A program that wants many pens
//! starts a helper process for each: it is the parent of the agent, a subreaper, and owns the pen.
//! When the program closes its end of their socket or dies, the helper ends the pen and exits.
//!
//! The helper is the program itself in another role, so `main` must begin with
//! [`run_if_supervisor`]. The example `many_pens` of this crate runs several pens at once:
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//! use kennel_pen::supervisor::{PenLaunch, SupervisorProgram, run_if_supervisor};
//! use kennel_pen::{Command, HomeId, PenName, Status};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     run_if_supervisor(); // returns at once, unless this process was started as a supervisor
//!     let soon = || Instant::now() + Duration::from_secs(10);
//!
//!     let name = PenName::random(HomeId::random()?)?;
//!     let launch = PenLaunch::new(name, Command::new("/bin/true"));
//!     let gated = SupervisorProgram::this_one().launch(launch, soon())?;
//!     println!("recorded before it runs: {}", gated.identity());
//!     let mut pen = gated.open(soon())?;
//!     let end = pen.wait_gone(soon())?.expect("true exits quickly");
//!     assert_eq!(end.status, Some(Status::Code(0)));
//!     Ok(())
//! }
//! ```

#[cfg(feature = "tokio")]
pub mod asynchronous;
mod client;
mod message;
mod process;
mod role;

use std::time::Duration;

pub use client::{
    GatedLaunch, SupervisorError, SupervisorHandle, SupervisorProgram, reap_supervisors,
};
pub use message::{PenLaunch, SupervisorEvent};
pub use role::run_if_supervisor;

/// How long an exec may take: enough for a slow network file system.
const EXEC: Duration = Duration::from_secs(30);
