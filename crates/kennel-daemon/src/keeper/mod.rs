//! Keepers and the yard: connections, locks, and the translation of their reports.

pub(crate) mod deadline;
pub(crate) mod keepers;
pub(crate) mod link;
pub(crate) mod lock;
pub(crate) mod process;
pub(crate) mod request;
pub(crate) mod spares;
pub(crate) mod translate;
pub(crate) mod yard;
