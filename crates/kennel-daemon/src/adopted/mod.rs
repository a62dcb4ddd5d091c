//! Processes that a user started and that a session follows.

pub(crate) mod candidate;
pub(crate) mod process;
