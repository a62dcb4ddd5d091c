//! Shutdown: bounded, awaited, reported.
//!
//! ```text
//! stop:    nothing new ── end all at once ── a line for each as it settles ── exit, with the yard
//! keep:    nothing new ── launches under way settle ── exit; keepers stay
//! replace: as keep, and the yard starts the next daemon
//! ```

use std::collections::HashSet;
use std::time::{Duration, Instant};

use kennel_core::{DesiredState, Event, Session, StopIntent};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::YardRequest;
use kennel_types::api::{ShutdownLine, StopResponse};
use kennel_types::{Phase, Reason, SessionId, StartedBy};

use super::Owner;
use super::launches::Before;
use crate::owner::waiters::{SessionProgress, ShutdownLines, stop_answer};

/// How long ending all sessions may take beyond the longest grace.
const BEYOND_GRACE: Duration = Duration::from_secs(15);
const SETTLING_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum ExitReason {
    /// A client or a signal ended all sessions; the yard exits too.
    Stopped,
    /// A client requested an exit that keeps the sessions; the yard stays and starts no new daemon.
    Kept,
    /// The yard starts the next daemon at once.
    Replaced,
    /// The yard has died; a new one was started if that was possible.
    YardGone,
}

impl ExitReason {
    /// The exit code by which the yard recognizes the reason.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Stopped => 0,
            Self::Kept => 10,
            Self::Replaced => 11,
            Self::YardGone => 12,
        }
    }
}

/// Whether the daemon is shutting down, and the stage of the shutdown.
#[derive(Debug, Default)]
pub(super) struct Shutdown {
    stage: Option<ShutdownStage>,
    /// The number of the deadline that counts; an earlier one is ignored.
    deadline: u64,
    exit: Option<ExitReason>,
}

#[derive(Debug)]
enum ShutdownStage {
    /// All sessions are being ended; the pending ones have not settled.
    Stopping { since: Instant, pending: HashSet<SessionId>, lines: Vec<ShutdownLines> },
    /// Launches under way are settling.
    Draining { reason: ExitReason, program: Option<String>, lines: Vec<ShutdownLines> },
}

/// What is left to do when a shutdown is complete.
#[derive(Debug)]
struct LastSteps {
    reason: ExitReason,
    request: Option<YardRequest>,
    lines: Vec<ShutdownLines>,
}

impl Shutdown {
    pub(super) fn is_under_way(&self) -> bool {
        self.stage.is_some()
    }

    pub(super) fn exit(&self) -> Option<ExitReason> {
        self.exit
    }

    /// The yard is gone: without a shutdown under way the daemon exits at once.
    pub(super) fn yard_gone(&mut self) {
        if self.stage.is_none() {
            self.exit = Some(ExitReason::YardGone);
        }
    }

    /// Begins to end these sessions, or ends them sooner. Clients that already follow the shutdown
    /// still get their lines.
    fn begin_stop(&mut self, pending: HashSet<SessionId>, line: Option<ShutdownLines>) {
        let mut lines = match self.stage.take() {
            Some(ShutdownStage::Stopping { lines, .. } | ShutdownStage::Draining { lines, .. }) => {
                lines
            }
            None => Vec::new(),
        };
        lines.extend(line);
        self.stage = Some(ShutdownStage::Stopping { since: Instant::now(), pending, lines });
    }

    /// Begins to wait for launches under way. Returns false if all sessions are being ended
    /// already.
    fn begin_drain(
        &mut self,
        reason: ExitReason,
        program: Option<String>,
        line: Option<ShutdownLines>,
    ) -> bool {
        if let Some(ShutdownStage::Stopping { lines, .. }) = &mut self.stage {
            lines.extend(line);
            return false;
        }
        let lines = line.into_iter().collect();
        self.stage = Some(ShutdownStage::Draining { reason, program, lines });
        true
    }

    fn pending(&self) -> Option<&HashSet<SessionId>> {
        match &self.stage {
            Some(ShutdownStage::Stopping { pending, .. }) => Some(pending),
            _ => None,
        }
    }

    /// Reports what became of a session to the clients that follow the shutdown, once per session.
    fn settled(&mut self, id: &SessionId, answer: impl FnOnce(Instant) -> StopResponse) {
        let Some(ShutdownStage::Stopping { since, pending, lines }) = &mut self.stage else {
            return;
        };
        if pending.remove(id) {
            let answer = Box::new(answer(*since));
            for line in lines {
                line.send(ShutdownLine::Session(answer.clone())).ok();
            }
        }
    }

    fn is_complete(&self, is_launch_under_way: impl FnOnce() -> bool) -> bool {
        match &self.stage {
            None => false,
            Some(ShutdownStage::Stopping { pending, .. }) => pending.is_empty(),
            Some(ShutdownStage::Draining { .. }) => !is_launch_under_way(),
        }
    }

    /// Ends the shutdown, once.
    fn complete(&mut self) -> Option<LastSteps> {
        if self.exit.is_some() {
            return None;
        }
        let steps = match self.stage.take()? {
            ShutdownStage::Stopping { lines, .. } => {
                let request = Some(YardRequest::Leave);
                LastSteps { reason: ExitReason::Stopped, request, lines }
            }
            ShutdownStage::Draining { reason, program, lines } => {
                let request = program.map(|program| YardRequest::Replace { program });
                LastSteps { reason, request, lines }
            }
        };
        self.exit = Some(steps.reason);
        Some(steps)
    }
}

impl Owner {
    /// Ends all sessions. May be repeated: with less grace, or by another client that wants to
    /// follow.
    pub(crate) fn begin_stop(&mut self, grace: Option<Duration>, line: Option<ShutdownLines>) {
        point("daemon.shutdown.stop");
        self.note(None, "daemon_stopping", "all sessions are being ended".to_owned());
        // Processes that a user started continue to run.
        let ends =
            |session: &&Session| session.is_live() && session.started_by == StartedBy::Kennel;
        let live: HashSet<SessionId> =
            self.world.sessions().filter(ends).map(|s| s.id.clone()).collect();
        self.shutdown.begin_stop(live.clone(), line);
        let watched =
            self.world.sessions().map(|s| (s.id.clone(), Before::from(s))).collect::<Vec<_>>();
        let effects = self.world.drain(grace);
        let event = Event::StopAsked(StopIntent { grace, reason: Reason::Shutdown });
        self.follow_up(&event, watched, effects);
        for id in live {
            self.retry_now(&id);
        }
        let longest = self.world.sessions().filter(ends).map(|s| match s.wanted {
            DesiredState::Stopped { grace } => grace,
            DesiredState::Running => s.spec.grace,
        });
        let limit = longest.max().unwrap_or_default().saturating_add(BEYOND_GRACE);
        self.arm_shutdown(limit);
    }

    /// Exits without ending the sessions. With `program`, the yard starts that as the next daemon.
    pub(crate) fn begin_drain(
        &mut self,
        reason: ExitReason,
        program: Option<String>,
        line: Option<ShutdownLines>,
    ) {
        if !self.shutdown.begin_drain(reason, program, line) {
            return; // too late to keep anything
        }
        point("daemon.shutdown.drain");
        self.note(None, "daemon_leaving", "sessions keep running".to_owned());
        self.arm_shutdown(SETTLING_TIMEOUT);
        self.exit_if_done();
    }

    /// Sets the deadline; an earlier one no longer counts.
    fn arm_shutdown(&mut self, limit: Duration) {
        let number = self.keepers.next_number();
        self.shutdown.deadline = number;
        self.bus.call_later(limit, move |owner| owner.shutdown_overdue(number));
    }

    /// A session's state has changed during a shutdown.
    pub(super) fn report_shutdown_progress(&mut self, id: &SessionId, progress: SessionProgress) {
        let Some(result) = progress.stop_result() else { return };
        if !self.shutdown.pending().is_some_and(|pending| pending.contains(id)) {
            return;
        }
        let Some(view) = self.view(id) else { return };
        self.shutdown.settled(id, |since| stop_answer(result, view, since));
    }

    pub(super) fn exit_if_done(&mut self) {
        // A queued session can wait for the next daemon.
        let under_way = |phase| phase != Phase::Queued && phase < Phase::Running;
        let world = &self.world;
        let any = || world.sessions().any(|session| under_way(session.phase));
        if self.shutdown.is_complete(any) {
            self.exit_now();
        }
    }

    fn shutdown_overdue(&mut self, number: u64) {
        if self.shutdown.deadline != number {
            return;
        }
        for id in self.shutdown.pending().cloned().unwrap_or_default() {
            tracing::warn!(session = %id, "still alive at the end of the shutdown");
            self.report_shutdown_progress(&id, SessionProgress::Stuck);
        }
        self.exit_now();
    }

    fn exit_now(&mut self) {
        let Some(LastSteps { reason, request, lines }) = self.shutdown.complete() else { return };
        point("daemon.shutdown.now");
        if let Some(request) = request {
            self.keepers.send(request);
        }
        self.note(None, "daemon_stopped", format!("{reason:?}").to_lowercase());
        for line in lines {
            line.send(ShutdownLine::Done { done: true }).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use kennel_register::SessionTimes;
    use kennel_types::{IdMaker, LaunchToken};
    use tokio::sync::mpsc;

    use kennel_types::api::StopResult;

    use super::*;
    use crate::launch::request::tests::request;
    use crate::owner::view;

    fn answer(id: &SessionId) -> impl FnOnce(Instant) -> StopResponse {
        let spec = request(&["true"]).spec;
        let session = Session::new(id.clone(), spec, LaunchToken::new(1), Vec::new());
        let view =
            view::session(&session, SessionTimes::default(), std::path::Path::new("/h"), false);
        |since| stop_answer(StopResult::Stopped, view, since)
    }

    #[test]
    fn a_stop_ends_when_every_session_has_settled_and_reports_each_once() {
        let mut ids = IdMaker::default();
        let (first, second) = (ids.next(1, 1), ids.next(2, 2));
        let (lines, mut reported) = mpsc::unbounded_channel();
        let mut shutdown = Shutdown::default();
        shutdown.begin_stop(HashSet::from([first.clone(), second.clone()]), Some(lines));
        assert!(shutdown.is_under_way() && !shutdown.is_complete(|| false));
        shutdown.settled(&first, answer(&first));
        shutdown.settled(&first, answer(&first));
        assert!(!shutdown.is_complete(|| false));
        shutdown.settled(&second, answer(&second));
        assert!(shutdown.is_complete(|| true), "launches are ended, not awaited");
        assert_eq!(std::iter::from_fn(|| reported.try_recv().ok()).count(), 2);
        let steps = shutdown.complete().unwrap();
        assert_eq!((steps.reason, steps.lines.len()), (ExitReason::Stopped, 1));
        assert_eq!(steps.request, Some(YardRequest::Leave));
        assert!(shutdown.complete().is_none(), "once");
    }

    #[test]
    fn a_drain_waits_for_launches_and_gives_way_to_a_stop() {
        let mut shutdown = Shutdown::default();
        assert!(shutdown.begin_drain(ExitReason::Kept, None, None));
        assert!(!shutdown.is_complete(|| true) && shutdown.is_complete(|| false));
        shutdown.begin_stop(HashSet::new(), None);
        assert!(!shutdown.begin_drain(ExitReason::Kept, None, None), "too late");
        assert_eq!(shutdown.complete().unwrap().reason, ExitReason::Stopped);
    }

    #[test]
    fn the_loss_of_the_yard_ends_the_daemon_unless_it_is_shutting_down() {
        let mut shutdown = Shutdown::default();
        shutdown.yard_gone();
        assert_eq!(shutdown.exit(), Some(ExitReason::YardGone));
        let mut shutdown = Shutdown::default();
        assert!(shutdown.begin_drain(ExitReason::Replaced, Some("new".into()), None));
        shutdown.yard_gone();
        assert_eq!(shutdown.exit(), None);
        let request = shutdown.complete().unwrap().request;
        assert_eq!(request, Some(YardRequest::Replace { program: "new".into() }));
    }
}
