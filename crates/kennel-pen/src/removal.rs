//! Why a pen is still there.

use kennel_sys::fault::CallError;

use crate::pen::Pen;

/// A pen that could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("pen {} could not be removed", .pen.name)]
pub struct PenRemoveError {
    /// The pen, still owned.
    pub pen: Box<Pen>,
    /// Why.
    #[source]
    pub why: RemovalFailure,
}

/// Why a pen could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalFailure {
    /// Somebody is in it.
    #[error("somebody is in it")]
    Occupied,
    /// A call failed.
    #[error(transparent)]
    Call(CallError),
}
