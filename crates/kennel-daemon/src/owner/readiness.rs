//! Readiness of sessions, and reports of agents.

use std::path::PathBuf;
use std::time::Instant;

use kennel_core::Event;
use kennel_core::report::{ReportCredentials, judge};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::KeeperRequest;
use kennel_types::SessionId;
use kennel_types::api::ReportRequest;

use super::Owner;
use crate::error::ApiError;
use crate::readiness::Watch;
use crate::worktree::tasks;

impl Owner {
    /// Watches for the condition that makes a session ready, within the rest of its timeout.
    pub(super) fn await_ready(&mut self, id: &SessionId) {
        let (Some(session), Some(runtime)) = (self.world.get(id), self.launches.get_mut(id)) else {
            return;
        };
        let opened = *runtime.opened.get_or_insert_with(Instant::now);
        let watch = Watch {
            session: id.clone(),
            readiness: session.spec.ready.clone(),
            timeout: session.spec.ready_timeout,
            opened,
            cwd: PathBuf::from(&session.spec.cwd),
            worktree: tasks::planned(&session.spec),
            folder: self.home.session(id),
            owner: self.bus.sender(|owner, (id, event)| owner.apply(&id, &event)),
        };
        runtime.watching = Some(watch.begin());
    }

    pub(super) fn stop_awaiting(&mut self, id: &SessionId) {
        self.launches.update(id, |runtime| runtime.watching = None);
    }

    /// Applies the report of an agent, if its token is that of a live launch. A refused report
    /// changes nothing. `from` names the process, for the event log.
    pub(crate) fn agent_reported(
        &mut self,
        request: &ReportRequest,
        from: &str,
    ) -> Result<(), ApiError> {
        point("daemon.report.received");
        let token = request.token.as_ref().map(kennel_types::LaunchToken::secret);
        let presented = ReportCredentials { session: &request.session, token };
        let judged = match judge(&self.world, presented) {
            Ok(session) => {
                self.apply(&session, &Event::Reported(request.report.clone()));
                self.touch(&session);
                self.metrics.reports_taken.inc();
                Ok(())
            }
            Err(why) => {
                let named = SessionId::parse(&request.session).ok();
                let named = named.filter(|id| self.world.get(id).is_some());
                self.note(named, "report_refused", format!("{why}; it came from {from}"));
                let refused = ApiError::from(why);
                self.metrics.reports_refused.inc(refused.code());
                Err(refused)
            }
        };
        point("daemon.report.judged");
        judged
    }

    /// An agent that reports is not idle: its keeper restarts the idle time.
    fn touch(&self, id: &SessionId) {
        if let Some(link) = self.launches.link(id) {
            link.send(KeeperRequest::Touch);
        }
    }
}
