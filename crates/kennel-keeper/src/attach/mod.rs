//! Attaching to a session's terminal: what its screen shows, and how input is sent to its keeper.

mod input;
mod screen;
mod sequence;

pub use input::TypedInput;
pub use screen::{Modes, QueryFilter, ScreenTracker, screen_of};
