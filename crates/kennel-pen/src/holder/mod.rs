//! A small process between the caller and the agent.
//!
//! An owner that lives in the caller's own process is gone when that is killed. A holder is a process of
//! its own: parent of the agent, subreaper, owner of the pen. The caller holds one end of a socket; when
//! that closes, for whatever reason, the holder ends the tree and goes.
//!
//! The holder is the caller's own program in another role, so its `main` must begin with [`take_role`]:
//!
//! ```no_run
//! use std::time::{Duration, Instant};
//! use kennel_pen::holder::{HolderProgram, Order, take_role};
//! use kennel_pen::{Command, HomeId, PenName, Status};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     take_role(); // returns at once, unless this process was started as a holder
//!     let soon = || Instant::now() + Duration::from_secs(10);
//!
//!     let name = PenName::random(HomeId::random()?)?;
//!     let order = Order::new(name, Command::new("/bin/true"));
//!     let gated = HolderProgram::this_one().launch(order, soon())?;
//!     println!("on record before it runs: {}", gated.identity());
//!     let mut held = gated.open(soon())?;
//!     let gone = held.wait_gone(soon())?.expect("true is quick");
//!     assert_eq!(gone.status, Status::Code(0));
//!     Ok(())
//! }
//! ```

mod client;
mod message;
mod order;
mod role;
mod serve;
mod surroundings;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use client::{Event, Gated, Gone, Held, HeldError, HeldPen, HolderProgram, reap_holders};
pub use order::{HeldKind, Order};
pub use role::take_role;
