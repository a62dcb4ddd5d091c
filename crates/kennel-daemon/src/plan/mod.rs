//! Plans: several agents in stages that are cancelled together.
//!
//! An agent of a plan is a prompt like any other. The plan's record states that it is about to be
//! asked before its session is on record, so that the plan knows of all its sessions.

pub(crate) mod agents;
pub(crate) mod request;
pub(crate) mod runs;
pub(crate) mod time;
