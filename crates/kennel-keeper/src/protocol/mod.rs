//! What keeper, yard, daemon and clients say to each other.
//!
//! Every connection begins with a hello from both sides that tells the version. Numbers of messages are never
//! used again for something else; `status`, `stop` and `kill` stay as they are for ever, so that a newer daemon
//! can always look after an older keeper. What is added to a message comes at its end: who is older does not read
//! it, and who is newer takes its absence for none.

mod order;
mod outcome;
mod report;
mod request;
mod terminal;
mod yard;

pub use order::{LaunchOrder, Stdin, TerminalOrder};
pub use outcome::{Cause, OUTCOME_FILE, Outcome, OutcomeFile};
pub(crate) use outcome::{OUTCOME_ROOM, UNTOLD_ROOM, checksum};
pub use report::{KeeperReport, KeeperState, LaunchStage};
pub use request::{KeeperRequest, PeerRole};
pub use terminal::TerminalSettings;
pub use yard::{YardReport, YardRequest};

/// The version that this program speaks.
pub const VERSION: u32 = 1;
/// The longest message of any kind.
pub const LONGEST: usize = 128 * 1024;
/// The longest request to a keeper, which must stay small: input comes in pieces of at most
/// [`LONGEST_INPUT`].
pub const LONGEST_REQUEST: usize = 8 * 1024;
/// The longest piece of input.
pub const LONGEST_INPUT: usize = 4 * 1024;
