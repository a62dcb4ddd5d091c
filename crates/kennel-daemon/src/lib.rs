//! The daemon.

pub mod clock;
pub mod log;
pub mod register;
