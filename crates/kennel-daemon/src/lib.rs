//! The daemon carries out what the core decides, and keeps the register. It knows no HTTP: servers
//! use a [`DaemonHandle`].
//!
//! ```text
//! kennel-http ──> handle ────┐
//! keepers <─sockets─> links ─┼─ calls ──> owner (one task, the core's World) ──> effects ──> calls
//! yard <───socket──> link ───┘                     └──> register (one writer)
//! ```
//! One task owns the state and never blocks; other tasks do the slow work and report to it. The
//! daemon may die at any instant: what it knows is in the register, in the sessions' folders and
//! with the keepers, and the next daemon takes over from there.

mod adopted;
mod error;
mod event_sender;
mod handle;
mod keeper;
mod launch;
mod metrics;
mod os;
mod owner;
mod plan;
mod prompt;
mod readiness;
mod recover;
mod run;
mod worktree;

pub use error::{ApiError, ApiErrorKind};
pub use handle::{
    CancelOnDrop, DaemonHandle, InputEvent, LaunchEnd, LaunchWatch, TerminalInput, exact_reference,
    has_ended, journal_folder,
};
pub use launch::admission::LaunchLimits;
pub use os::clock;
pub use os::home::LockHomeError;
pub use owner::ExitReason;
pub use prompt::transcript;
pub use run::config::{DaemonConfig, DaemonError, StartYard};
pub use run::fault_points::fault_points;
pub use run::log;
pub use run::serve::serve;
pub use run::server::{ApiServer, CreateServer, ServerSetup, ServerTask};
