//! Tests of each transition.

mod adoption;
mod clean_up;
mod launching;
mod laws;
mod loss;
mod preparing;
mod readiness;
mod rows;
mod stopping;

use kennel_types::{Exit, Phase};

use crate::effect::Effect;
use crate::event::Event;
use crate::session::Session;
use crate::tests::{born, session};

const RECORD: Effect = Effect::Record { durable: true };
const NOTE: Effect = Effect::Record { durable: false };
const CODE: Exit = Exit::Code { code: 0 };

/// Applies the events, and ignores the effects.
fn after(mut session: Session, events: &[Event]) -> Session {
    for event in events {
        drop(session.step(event));
    }
    session
}

fn launching() -> Session {
    after(session(), &[Event::Recorded, Event::KeeperReady])
}

fn starting() -> Session {
    after(launching(), &[born()])
}

fn running() -> Session {
    after(starting(), &[Event::Opened])
}

fn stopping() -> Session {
    after(running(), &[crate::tests::stop(None), Event::Recorded])
}

/// A session that ended by itself and whose files are being removed.
fn reaped() -> Session {
    after(running(), &[gone(CODE)])
}

fn gone(exit: Exit) -> Event {
    Event::Gone { exit, reason: None }
}

/// One session of each phase in which a stop has an effect, with a connected keeper.
fn stoppable() -> [Session; 5] {
    let sessions = [session(), launching(), starting(), running(), stopping()];
    let phases =
        [Phase::Reserved, Phase::Launching, Phase::Starting, Phase::Running, Phase::Stopping];
    assert_eq!(sessions.each_ref().map(|session| session.phase), phases);
    sessions
}

fn failed(why: &str) -> Event {
    Event::RecordFailed { why: why.into() }
}
