//! Clients that wait until a session has reached some state.
//!
//! A waiter is answered once and then dropped. Whether its client is still connected changes
//! nothing for the session.

use std::time::Instant;

use kennel_core::{Event, PenEnd, Session, Writing};
use kennel_types::api::{ShutdownLine, StopResponse, StopResult, Until};
use kennel_types::{Phase, ReadyState, RelaunchState, SessionView};
use tokio::sync::mpsc;

use crate::error::{Answer, ApiError};

/// The sender of the lines about a shutdown: one for each session.
pub(crate) type ShutdownLines = mpsc::UnboundedSender<ShutdownLine>;

#[derive(Debug)]
pub(crate) enum Waiter {
    /// Waits until the session has reached this state, or never will.
    Until(Until, Answer<SessionView>),
    /// Waits until the session is over, or can't be ended for now.
    Stopped {
        answer: Answer<StopResponse>,
        since: Instant,
        /// When the client is answered at the latest; the stop continues.
        until: Instant,
    },
}

/// The progress of a session, for clients that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionProgress {
    Open,
    Queued,
    Running,
    /// It runs, and is ready if that was requested.
    Ready,
    /// It can't be ended for now.
    Stuck,
    /// This launch is over, and the restart policy starts another one.
    Relaunching,
    Over,
}

impl SessionProgress {
    /// Returns the result of a stop request, if that is decided.
    pub(super) fn stop_result(self) -> Option<StopResult> {
        match self {
            Self::Over | Self::Relaunching => Some(StopResult::Stopped),
            Self::Stuck => Some(StopResult::StillAlive),
            Self::Open | Self::Queued | Self::Running | Self::Ready => None,
        }
    }
}

pub(super) fn progress(session: &Session, event: Option<&Event>) -> SessionProgress {
    let writing = matches!(session.underway.writing, Writing::UnderWay { .. });
    let stubborn = session.owed.iter().any(|owed| owed.failures > 0);
    match session.phase {
        Phase::Queued if !writing && !session.is_stop_wanted() => SessionProgress::Queued,
        Phase::Cleaned if session.relaunch == RelaunchState::Pending => {
            SessionProgress::Relaunching
        }
        // A prompt is over with its verdict, even if something can't be removed.
        Phase::Reaped | Phase::Cleaned if session.is_asking() => SessionProgress::Open,
        // The last record is being written.
        Phase::Cleaned if !writing => SessionProgress::Over,
        // No client waits for what can't be removed for now.
        Phase::Reaped if stubborn && !writing => SessionProgress::Over,
        Phase::Lost => SessionProgress::Stuck,
        Phase::Reaped | Phase::Cleaned => SessionProgress::Open,
        Phase::Running if session.ready == ReadyState::Waiting => SessionProgress::Running,
        Phase::Running => SessionProgress::Ready,
        _ if session.is_stop_wanted() && event.is_some_and(reports_survivors) => {
            SessionProgress::Stuck
        }
        _ => SessionProgress::Open,
    }
}

fn reports_survivors(event: &Event) -> bool {
    match event {
        Event::StillAlive { survivors } | Event::PenEnded(PenEnd::StillAlive { survivors }) => {
            !survivors.is_empty()
        }
        Event::PenEnded(PenEnd::Unobservable { .. }) => true,
        _ => false,
    }
}

impl Waiter {
    /// Whether the session has reached the state that this waiter waits for.
    pub(super) fn is_due(&self, progress: SessionProgress) -> bool {
        use SessionProgress::{Open, Over, Queued, Ready, Relaunching, Stuck};
        match self {
            Self::Until(Until::Accepted, _) => progress != Open,
            Self::Until(Until::Started, _) => !matches!(progress, Open | Queued),
            // Not before it starts, nor during a pause before a relaunch: it may become ready then.
            Self::Until(Until::Ready, _) => matches!(progress, Ready | Stuck | Over),
            Self::Until(Until::Over, _) => progress == Over,
            Self::Stopped { .. } => matches!(progress, Over | Relaunching | Stuck),
        }
    }

    /// Whether this waiter belongs to the client that requested the session, still connected.
    pub(super) fn awaits_begin(&self) -> bool {
        matches!(self, Self::Until(until, answer) if *until != Until::Over && !answer.is_closed())
    }

    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        matches!(self, Self::Stopped { until, .. } if *until <= now)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Until(_, answer) => answer.is_closed(),
            Self::Stopped { answer, .. } => answer.is_closed(),
        }
    }

    pub(super) fn refuse(self, refused: ApiError) {
        match self {
            Self::Until(_, answer) => drop(answer.send(Err(refused))),
            Self::Stopped { answer, .. } => drop(answer.send(Err(refused))),
        }
    }

    /// Answers with the session as it is now.
    pub(super) fn answer(self, view: SessionView, progress: SessionProgress) {
        match self {
            Self::Until(_, answer) => drop(answer.send(Ok(view))),
            Self::Stopped { answer, since, .. } => {
                let result = progress.stop_result().unwrap_or(StopResult::StillAlive);
                drop(answer.send(Ok(stop_answer(result, view, since))));
            }
        }
    }
}

pub(super) fn stop_answer(result: StopResult, view: SessionView, since: Instant) -> StopResponse {
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
            let _effects = session.step(event);
        }
    }

    #[test]
    fn a_session_is_over_once_its_last_record_was_written() {
        let mut session = session();
        assert_eq!(progress(&session, None), SessionProgress::Open);
        let born = Event::Born { identity: "x".into(), pid: 1, pen: None };
        run(&mut session, &[Event::Recorded, Event::KeeperReady, born, Event::Opened]);
        assert_eq!(progress(&session, None), SessionProgress::Ready, "readiness is not checked");
        run(&mut session, &[Event::Gone { exit: Exit::Code { code: 0 }, reason: None }]);
        assert_eq!(session.phase, Phase::Cleaned);
        assert_eq!(progress(&session, None), SessionProgress::Open);
        let failed = Event::RecordFailed { why: "full".into() };
        let mut unsafe_one = session.clone();
        run(&mut unsafe_one, &[failed]);
        assert_eq!(
            progress(&unsafe_one, None),
            SessionProgress::Over,
            "and the view shows that it is unrecorded"
        );
        run(&mut session, &[Event::Recorded]);
        assert_eq!(progress(&session, None), SessionProgress::Over);
    }

    #[test]
    fn a_wait_for_readiness_lasts_through_queue_and_restarts_but_not_beyond_the_end() {
        let waiter = Waiter::Until(Until::Ready, tokio::sync::oneshot::channel().0);
        for waits in [
            SessionProgress::Open,
            SessionProgress::Queued,
            SessionProgress::Running,
            SessionProgress::Relaunching,
        ] {
            assert!(!waiter.is_due(waits), "{waits:?}");
        }
        for due in [SessionProgress::Ready, SessionProgress::Stuck, SessionProgress::Over] {
            assert!(waiter.is_due(due), "{due:?}");
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
        assert_eq!(progress(&session, Some(&stop)), SessionProgress::Open);
        let survivors = vec![Survivor { pid: 5, name: "x".into(), why: "frozen".into() }];
        let alive = Event::StillAlive { survivors };
        run(&mut session, std::slice::from_ref(&alive));
        assert_eq!(progress(&session, Some(&alive)), SessionProgress::Stuck);
        assert_eq!(progress(&session, Some(&stop)), SessionProgress::Open, "requested again");
    }
}
