//! The messages that keeper, yard, daemon and clients exchange.
//!
//! Every connection begins with a hello from both sides that contains the version. A daemon must be
//! able to end the sessions of keepers of any version, so the hello, `Status`, `Stop` and `Kill`
//! never change. For all messages the rules of [`kennel_pen::wire::WireMessage`] hold: a variant
//! keeps its position, and new variants are added at the end.

mod order;
mod outcome;
mod report;
mod request;
mod terminal;
mod yard;

pub use order::{LaunchOrder, Stdin, TerminalOrder};
pub use outcome::{Cause, OUTCOME_FILE, Outcome, OutcomeFile};
pub(crate) use outcome::{LOST_OUTPUT_ROOM, OUTCOME_ROOM, seal, unseal};
pub use report::{KeeperReport, KeeperState, LaunchStage};
pub use request::{KeeperRequest, PeerRole};
pub(crate) use terminal::apply_settings;
pub use terminal::terminal_settings;
pub use yard::{YardReport, YardRequest};

/// The version of the protocol that this program speaks.
pub const VERSION: u32 = 1;
/// The maximum length of any message.
pub const LONGEST: usize = 128 * 1024;
/// The maximum length of a request to a keeper. A keeper must stay small, so input comes in pieces
/// of at most [`LONGEST_INPUT`].
pub const LONGEST_REQUEST: usize = 8 * 1024;
/// The maximum length of one piece of input.
pub const LONGEST_INPUT: usize = 4 * 1024;
