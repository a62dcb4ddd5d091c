//! From a request for a launch to the keeper that carries it out.

pub(crate) mod admission;
pub(crate) mod ids;
pub(crate) mod prepare;
pub(crate) mod request;
pub(crate) mod stdin_handoff;
