//! Why a pen could not be removed.

use kennel_sys::fault::CallError;

use crate::pen::Pen;

/// A pen that could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("pen {} could not be removed", .pen.name)]
pub struct PenRemoveError {
    /// The pen, which this process still owns.
    pub pen: Box<Pen>,
    /// The reason.
    #[source]
    pub why: RemovalFailure,
}

/// The reason why a pen could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalFailure {
    /// Processes are in it.
    #[error("processes are still in it")]
    Occupied,
    /// A call failed.
    #[error(transparent)]
    Call(CallError),
}
