//! What Kennel decides, apart from how it is carried out: no I/O, no clock, no runtime.
//!
//! A session is a value. Something happens to it (an [`Event`]), [`Session::step`] says what it is now and
//! what is to be done ([`Effect`]s); whoever carries those out reports back by further events.

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
#[cfg(test)]
mod sample;
mod session;
mod world;

pub use effect::Effect;
pub use event::{Event, PenEnd, Probe, StopIntent};
pub use list::page;
pub use member::{LastVerdict, Member};
pub use report::Reported;
pub use restart::Restarts;
pub use session::{DesiredState, Launch, LostBecause, ProbeState, Session, Underway, Writing};
pub use world::{
    AdmitError, Admitted, FindError, Judgement, Keyed, MemberRemoveError, MemberTaken, Relaunch,
    RelaunchBy, RelaunchChanges, RelaunchRefusal, Relaunched, RemoveSessionError, Revision, World,
};
