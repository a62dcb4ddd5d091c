//! The decisions of Kennel, without I/O, a clock or a runtime.
//!
//! A session is a value. [`Session::step`] applies an [`Event`] to it and returns the [`Effect`]s
//! to carry out. The daemon carries them out and reports the results as further events.

pub mod admission;
mod effect;
mod event;
pub mod headroom;
mod lifecycle;
mod list;
mod member;
pub mod plan;
pub mod report;
pub mod restart;
pub mod retry;
mod session;
#[cfg(test)]
mod tests;
mod world;

pub use effect::Effect;
pub use event::{Event, PenEnd, Probe, StopIntent};
pub use list::page;
pub use member::{LastVerdict, Member};
pub use report::Reported;
pub use restart::Restarts;
pub use session::{DesiredState, Launch, LostBecause, ProbeState, Session, Underway, Writing};
pub use world::{
    AdmitError, FindError, Judgement, Keyed, MemberRemoveError, MemberTaken, Relaunch, RelaunchBy,
    RelaunchChanges, RelaunchRefusal, Relaunched, RemoveSessionError, Revision, World,
};
