//! What anybody needs who sits in front of a session: what its screen shows by now, and how what is typed goes to its
//! keeper.

mod input;
mod screen;
mod sequence;

pub use input::TypedInput;
pub use screen::{Modes, QueryFilter, ScreenReplay, ScreenTracker, screen_of};
