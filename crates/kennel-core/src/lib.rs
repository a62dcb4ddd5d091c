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
mod slip;
mod world;

pub use effect::Effect;
pub use event::{Event, PenEnd, Probe, StopWish};
pub use list::page;
pub use member::{LastVerdict, Member};
pub use report::Reported;
pub use restart::Restarts;
pub use session::{Launch, Look, LostBecause, Session, Underway, Wanted, Writing};
pub use world::{
    Admitted, Changes, FindError, Judgement, Keyed, MemberRemoveError, MemberTaken, Refusal,
    Relaunch, RelaunchBy, RelaunchRefusal, Relaunched, RemoveError, Revision, World,
};
