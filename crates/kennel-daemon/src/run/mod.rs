//! Start and shutdown of the daemon process.

pub(crate) mod config;
pub(crate) mod fault_points;
pub(crate) mod listen;
pub mod log;
pub(crate) mod serve;
pub(crate) mod server;
