//! Finding what a former daemon or a dead keeper left behind, and ending it.

pub(crate) mod adoption;
pub(crate) mod census;
pub(crate) mod clean_up;
pub(crate) mod end_pen;
pub(crate) mod probe;
pub(crate) mod strays;
pub(crate) mod sweep;
pub(crate) mod yard_proof;
