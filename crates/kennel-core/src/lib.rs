//! What Kennel decides, apart from how it is carried out: no I/O, no clock, no runtime.
//!
//! A session is a value. Something happens to it (an [`Event`]), [`Session::step`] says what it is now and
//! what is to be done ([`Effect`]s); whoever carries those out reports back by further events.

pub mod api;
mod effect;
mod event;
mod id;
mod lifecycle;
#[cfg(test)]
mod sample;
mod session;
mod spec;
mod view;
mod world;

pub use effect::Effect;
pub use event::{Event, PenEnd, Probe, StopWish};
pub use id::{IdMaker, LaunchToken, ParseIdError, SessionId};
pub use session::{
    Exit, Launch, Look, LostBecause, Owed, OwedKind, Phase, Reason, Session, Survivor, Underway,
    Wanted, Writing,
};
pub use spec::{PenKind, SessionSpec, Terminal};
pub use view::{EventView, LaunchView, SessionView};
pub use world::{Admitted, FindError, Refusal, RemoveError, World};
