//! Clients that wait until a session has come to some point.
//!
//! A waiter is answered once and then dropped. Whether its client is still there changes nothing for the session.

use std::time::Instant;

use kennel_core::{Event, PenEnd, Session, Writing};
use kennel_types::api::{ShutdownLine, StopResponse, StopResult, Until};
use kennel_types::{Phase, ReadyState, RelaunchState, SessionView};
use tokio::sync::mpsc;

use crate::error::{Answer, ApiError};

/// The sender of the lines about a shutdown: one for each session.
pub(crate) type ShutdownLines = mpsc::UnboundedSender<ShutdownLine>;

/// A client that waits.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// Until it is on record, and queued or running, or will not be.
    Accepted(Answer<SessionView>),
    /// Until it runs, or will not.
    Started(Answer<SessionView>),
    /// Until it is ready, or will not be.
    Ready(Answer<SessionView>),
    /// Until it is over.
    Settled(Answer<SessionView>),
    /// Until it is over, or can't be ended for now.
    Stopped {
        answer: Answer<StopResponse>,
        since: Instant,
        /// When the client is answered at the latest; the stop goes on.
        until: Instant,
    },
}

/// How far a session has come, for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing is decided.
    Open,
    /// It is queued, and that is on record.
    InLine,
    /// The program runs.
    Running,
    /// It runs, and is ready if that was requested.
    Ready,
    /// It can't be ended for now.
    Stuck,
    /// This launch is over, and another one follows by itself.
    Resting,
    /// It is over.
    Over,
}

/// Returns how far a session has come after this event.
pub(crate) fn standing(session: &Session, event: Option<&Event>) -> Standing {
    let writing = matches!(session.underway.writing, Writing::UnderWay { .. });
    let stubborn = session.owed.iter().any(|owed| owed.failures > 0);
    match session.phase {
        Phase::Queued if !writing && !session.is_stop_wanted() => Standing::InLine,
        Phase::Cleaned if session.relaunch == RelaunchState::Pending => Standing::Resting,
        // A prompt is over with its verdict, even if something can't be removed.
        Phase::Reaped | Phase::Cleaned if session.is_asking() => Standing::Open,
        // The last record is being written.
        Phase::Cleaned if !writing => Standing::Over,
        // No client waits for what can't be removed for now.
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
    pub(crate) fn until(until: Until, answer: Answer<SessionView>) -> Self {
        match until {
            Until::Accepted => Self::Accepted(answer),
            Until::Started => Self::Started(answer),
            Until::Ready => Self::Ready(answer),
            Until::Over => Self::Settled(answer),
        }
    }

    /// Whether the session has come as far as this waiter wants.
    pub(crate) fn is_due(&self, standing: Standing) -> bool {
        match self {
            Self::Accepted(_) => standing != Standing::Open,
            Self::Started(_) => !matches!(standing, Standing::Open | Standing::InLine),
            // Not before it starts, nor during a pause before a relaunch: it may become ready then.
            Self::Ready(_) => {
                matches!(standing, Standing::Ready | Standing::Stuck | Standing::Over)
            }
            Self::Settled(_) => standing == Standing::Over,
            Self::Stopped { .. } => {
                matches!(standing, Standing::Over | Standing::Resting | Standing::Stuck)
            }
        }
    }

    /// Whether it is the client that has requested the session, and still there.
    pub(crate) fn awaits_begin(&self) -> bool {
        let asked = matches!(self, Self::Accepted(_) | Self::Started(_) | Self::Ready(_));
        asked && !self.is_abandoned()
    }

    /// Whether it has waited long enough.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        matches!(self, Self::Stopped { until, .. } if *until <= now)
    }

    /// Whether the client has gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        match self {
            Self::Accepted(answer)
            | Self::Started(answer)
            | Self::Ready(answer)
            | Self::Settled(answer) => answer.is_closed(),
            Self::Stopped { answer, .. } => answer.is_closed(),
        }
    }

    /// Answers with a refusal.
    pub(crate) fn refuse(self, refused: ApiError) {
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

    /// Answers with the session as it is now.
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

/// Returns the answer to a stop request.
pub(crate) fn stop_answer(result: StopResult, view: SessionView, since: Instant) -> StopResponse {
    StopResponse {
        result,
        survivors: view.survivors.clone(),
        session: view,
        took_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use kennel_core::StopIntent;
    use kennel_types::{Exit, IdMaker, LaunchToken, Survivor};

    use super::*;

    fn session() -> Session {
        let spec = crate::launch::request::tests::request(&["true"]).spec;
        Session::new(IdMaker::default().next(0, 1), spec, LaunchToken::new(1), Vec::new())
    }

    fn run(session: &mut Session, events: &[Event]) {
        for event in events {
            let _nobody_carries_them_out = session.step(event);
        }
    }

    #[test]
    fn a_session_is_over_once_its_last_record_was_written() {
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
    fn a_wait_for_readiness_lasts_through_queue_and_restarts_but_not_beyond_the_end() {
        let waiter = Waiter::Ready(tokio::sync::oneshot::channel().0);
        for waits in [Standing::Open, Standing::InLine, Standing::Running, Standing::Resting] {
            assert!(!waiter.is_due(waits), "{waits:?}");
        }
        for told in [Standing::Ready, Standing::Stuck, Standing::Over] {
            assert!(waiter.is_due(told), "{told:?}");
        }
    }

    #[test]
    fn a_stop_is_stuck_only_when_survivors_are_reported() {
        let mut session = session();
        let born = Event::Born { identity: "x".into(), pid: 1, pen: None };
        let reason = kennel_types::Reason::Stopped { by: "me".into() };
        let stop = Event::StopAsked(StopIntent { grace: None, reason });
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
