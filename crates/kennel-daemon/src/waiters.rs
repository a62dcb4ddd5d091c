//! Those who wait for something to become of a session.
//!
//! A waiter is answered once and then forgotten; one whose client has gone is answered into the void. Neither
//! changes anything for the session.

use std::time::Instant;

use kennel_core::{Event, PenEnd, Session, Writing};
use kennel_types::api::{ShutdownLine, StopAnswer, StopResult};
use kennel_types::{Phase, ReadyState, RelaunchState, SessionView};
use tokio::sync::mpsc;

use crate::message::Answer;
use crate::refused::Refused;

/// Where the lines about a shutdown go. Few enough that none need wait: one a session.
pub(crate) type ShutdownLines = mpsc::UnboundedSender<ShutdownLine>;

/// Somebody who waits.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// Until it is on record, and in line or running, or will not.
    Accepted(Answer<SessionView>),
    /// Until it runs, or will not.
    Started(Answer<SessionView>),
    /// Until it is ready, or won't be.
    Ready(Answer<SessionView>),
    /// Until it is over.
    Settled(Answer<SessionView>),
    /// Until it is over, or can't be ended for now.
    Stopped {
        answer: Answer<StopAnswer>,
        since: Instant,
        /// Nobody waits longer than this; the stop goes on all the same.
        until: Instant,
    },
}

/// How a session stands, for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is decided.
    Open,
    /// It waits in line, and that is on record.
    InLine,
    /// The program runs.
    Running,
    /// It runs, and is ready as far as that was asked for.
    Ready,
    /// It can't be ended for now.
    Stuck,
    /// This launch is over, and another one follows by itself.
    Resting,
    /// It is over.
    Over,
}

/// How a session stands after this event.
pub(crate) fn standing(session: &Session, event: Option<&Event>) -> Standing {
    let writing = matches!(session.underway.writing, Writing::UnderWay { .. });
    let stubborn = session.owed.iter().any(|owed| owed.failures > 0);
    match session.phase {
        Phase::Queued if !writing && !session.is_stop_wanted() => Standing::InLine,
        Phase::Cleaned if session.relaunch == RelaunchState::Pending => Standing::Resting,
        // A prompt is over with its verdict, whatever of it can't be removed.
        Phase::Reaped | Phase::Cleaned if session.is_asking() => Standing::Open,
        // With the last record under way nobody can say yet whether it is safe.
        Phase::Cleaned if !writing => Standing::Over,
        // What can't be removed for now must not keep anybody waiting.
        Phase::Reaped if stubborn && !writing => Standing::Over,
        Phase::Lost => Standing::Stuck,
        Phase::Reaped | Phase::Cleaned => Standing::Open,
        Phase::Running if session.ready == ReadyState::Waiting => Standing::Running,
        Phase::Running => Standing::Ready,
        _ if session.is_stop_wanted() && event.is_some_and(tells_of_survivors) => Standing::Stuck,
        _ => Standing::Open,
    }
}

fn tells_of_survivors(event: &Event) -> bool {
    match event {
        Event::StillAlive { survivors } | Event::PenEnded(PenEnd::StillAlive { survivors }) => {
            !survivors.is_empty()
        }
        Event::PenEnded(PenEnd::Unobservable { .. }) => true,
        _ => false,
    }
}

impl Waiter {
    /// Whether this is what it waits for.
    pub(crate) fn is_due(&self, standing: Standing) -> bool {
        match self {
            Self::Accepted(_) => standing != Standing::Open,
            Self::Started(_) => !matches!(standing, Standing::Open | Standing::InLine),
            // Not while it has yet to start, or is to be launched again: it may be ready then.
            Self::Ready(_) => {
                matches!(standing, Standing::Ready | Standing::Stuck | Standing::Over)
            }
            Self::Settled(_) => standing == Standing::Over,
            Self::Stopped { .. } => {
                matches!(standing, Standing::Over | Standing::Resting | Standing::Stuck)
            }
        }
    }

    /// Whether it is whoever asked for the session, and still there.
    pub(crate) fn awaits_begin(&self) -> bool {
        let asked = matches!(self, Self::Accepted(_) | Self::Started(_) | Self::Ready(_));
        asked && !self.is_abandoned()
    }

    /// Whether it has waited long enough.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        matches!(self, Self::Stopped { until, .. } if *until <= now)
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        match self {
            Self::Accepted(answer)
            | Self::Started(answer)
            | Self::Ready(answer)
            | Self::Settled(answer) => answer.is_closed(),
            Self::Stopped { answer, .. } => answer.is_closed(),
        }
    }

    /// There is nothing to wait for.
    pub(crate) fn refuse(self, refused: Refused) {
        // Whoever has gone does not want to know.
        match self {
            Self::Accepted(answer)
            | Self::Started(answer)
            | Self::Ready(answer)
            | Self::Settled(answer) => {
                drop(answer.send(Err(refused)));
            }
            Self::Stopped { answer, .. } => drop(answer.send(Err(refused))),
        }
    }

    /// Tells it.
    pub(crate) fn tell(self, view: SessionView, standing: Standing) {
        match self {
            Self::Accepted(answer)
            | Self::Started(answer)
            | Self::Ready(answer)
            | Self::Settled(answer) => {
                drop(answer.send(Ok(view)));
            }
            Self::Stopped { answer, since, .. } => {
                let result = match standing {
                    Standing::Over | Standing::Resting => StopResult::Stopped,
                    _ => StopResult::StillAlive,
                };
                drop(answer.send(Ok(stop_answer(result, view, since))));
            }
        }
    }
}

/// What came of a stop.
pub(crate) fn stop_answer(result: StopResult, view: SessionView, since: Instant) -> StopAnswer {
    StopAnswer {
        result,
        survivors: view.survivors.clone(),
        session: view,
        took_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use kennel_core::StopWish;
    use kennel_types::{Exit, IdMaker, LaunchToken, Survivor};

    use super::*;

    fn session() -> Session {
        let spec = crate::order::tests::request(&["true"]).spec;
        Session::new(IdMaker::default().next(0, 1), spec, LaunchToken::new(1), Vec::new())
    }

    fn run(session: &mut Session, events: &[Event]) {
        for event in events {
            let _nobody_carries_them_out = session.step(event);
        }
    }

    #[test]
    fn a_session_is_over_once_its_last_record_was_answered() {
        let mut session = session();
        assert_eq!(standing(&session, None), Standing::Open);
        let born = Event::Born { identity: "x".into(), pid: 1, pen: None };
        run(&mut session, &[Event::Recorded, Event::KeeperReady, born, Event::Opened]);
        assert_eq!(standing(&session, None), Standing::Ready, "nobody asked for more");
        run(&mut session, &[Event::Gone { exit: Exit::Code { code: 0 }, reason: None }]);
        assert_eq!(session.phase, Phase::Cleaned);
        assert_eq!(standing(&session, None), Standing::Open);
        let failed = Event::RecordFailed { why: "full".into() };
        let mut unsafe_one = session.clone();
        run(&mut unsafe_one, &[failed]);
        assert_eq!(
            standing(&unsafe_one, None),
            Standing::Over,
            "and it says that it is unrecorded"
        );
        run(&mut session, &[Event::Recorded]);
        assert_eq!(standing(&session, None), Standing::Over);
    }

    #[test]
    fn who_waits_for_readiness_waits_in_line_and_over_restarts_but_not_over_the_end() {
        let waiter = Waiter::Ready(tokio::sync::oneshot::channel().0);
        for waits in [Standing::Open, Standing::InLine, Standing::Running, Standing::Resting] {
            assert!(!waiter.is_due(waits), "{waits:?}");
        }
        for told in [Standing::Ready, Standing::Stuck, Standing::Over] {
            assert!(waiter.is_due(told), "{told:?}");
        }
    }

    #[test]
    fn a_stop_is_stuck_only_by_news_of_survivors() {
        let mut session = session();
        let born = Event::Born { identity: "x".into(), pid: 1, pen: None };
        let reason = kennel_types::Reason::Stopped { by: "me".into() };
        let stop = Event::StopAsked(StopWish { grace: None, reason });
        run(
            &mut session,
            &[Event::Recorded, Event::KeeperReady, born, Event::Opened, stop.clone()],
        );
        assert_eq!(standing(&session, Some(&stop)), Standing::Open);
        let survivors = vec![Survivor { pid: 5, name: "x".into(), why: "frozen".into() }];
        let alive = Event::StillAlive { survivors };
        run(&mut session, std::slice::from_ref(&alive));
        assert_eq!(standing(&session, Some(&alive)), Standing::Stuck);
        assert_eq!(standing(&session, Some(&stop)), Standing::Open, "asked again: look again");
    }
}
