//! What Kennel decides, apart from how it is carried out: no I/O, no clock, no runtime.
//!
//! A session is a value. Something happens to it (an [`Event`]), [`Session::step`] says what it is now and
//! what is to be done ([`Effect`]s); whoever carries those out reports back by further events.

pub mod admission;
mod agent;
pub mod api;
mod effect;
mod event;
pub mod headroom;
mod id;
mod lifecycle;
mod member;
mod millis;
pub mod plan;
mod ready;
pub mod report;
pub mod restart;
pub mod retry;
#[cfg(test)]
mod sample;
mod session;
mod slip;
mod spec;
mod time;
pub mod timestamp;
pub mod verdict;
mod view;
mod world;

pub use agent::{AgentSpec, Permissions, PlanSeat, Seat, Wish};
pub use effect::Effect;
pub use event::{Event, PenEnd, Probe, StopWish};
pub use id::{IdMaker, LaunchToken, ParseIdError, SessionId, looks_like_id};
pub use member::{LastVerdict, Member, MemberNameError, UsageScope};
pub use ready::{Readiness, ReadinessError, ReadyState};
pub use report::{Report, Reported};
pub use restart::{RelaunchState, Restart, RestartError, Restarts};
pub use session::{
    Exit, Kept, Launch, Look, LostBecause, Owed, OwedKind, Phase, Reason, Session, StartedBy,
    Survivor, Underway, Wanted, Writing,
};
pub use spec::{
    KeyError, PenKind, SessionSpec, Terminal, USUAL_LEASE, USUAL_LINGER, USUAL_OUTPUT,
    WorktreeSpec, check_key,
};
pub use time::{TimeError, parse_time};
pub use verdict::{Judged, Usage, Verdict, VerdictKind, Work};
pub use view::{EventView, LaunchView, SessionView, WorktreeState, WorktreeView};
pub use world::{
    Admitted, Changes, FindError, Judgement, Keyed, MemberRemoveError, MemberTaken, Refusal,
    Relaunch, RelaunchBy, RelaunchRefusal, Relaunched, RemoveError, Revision, World,
};
