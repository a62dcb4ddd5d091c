//! The crash walk: a story is told up to a named point of daemon, keeper or yard, some of them are killed
//! there, and what comes of it is looked at from outside.

mod audit;
mod case;
mod part;
mod story;
mod victims;

pub(crate) use case::Case;
pub(crate) use victims::Victims;
