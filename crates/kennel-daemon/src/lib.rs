//! The daemon: carries out what the core decides, keeps the register, and serves the API.
//!
//! ```text
//! clients ──HTTP──> http ──┐
//! keepers <─sockets─> links ─┼──messages──> owner (one task, the core's World) ──> effects ──> messages
//! yard <───socket──> link ──┘                     └──> register (one writer)
//! ```
//! One task owns the state and waits for nothing; everything slow is done around it and comes back as a
//! message. The daemon may die at any instant: what it knows is in the register, in the sessions' folders and
//! with the keepers, and the next one takes over from there.

mod adoptee;
mod caller;
pub mod clock;
mod config;
mod conversation;
mod convert;
mod deadline;
mod deposit;
mod effects;
mod gauge;
mod home;
mod http;
mod inspect;
mod keeper_link;
mod keeper_note;
mod keeper_process;
mod launch_lock;
mod listing;
pub mod log;
mod message;
mod metrics;
mod order;
mod owner;
mod points;
mod processes;
mod prompt;
mod readiness;
mod ready;
mod refused;
mod serve;
mod sockets;
mod strays;
mod sweep;
mod terms;
pub mod transcript;
mod view;
mod waiters;
mod yard_link;

pub use config::{DaemonConfig, DaemonError, ExitReason, StartYard};
pub use home::LockHomeError;
#[cfg(feature = "schema")]
pub use http::description::document as description;
pub use http::{ListenError, ListenSettings};
pub use points::POINTS;
pub use serve::serve;
pub use terms::Terms;
