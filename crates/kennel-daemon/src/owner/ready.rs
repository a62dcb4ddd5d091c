//! Whether sessions are up, and what agents tell of themselves.

use std::path::PathBuf;
use std::time::Instant;

use kennel_core::Event;
use kennel_core::report::{Presented, Verdict, judge};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::Request;
use kennel_types::SessionId;
use kennel_types::api::ReportRequest;

use super::Owner;
use crate::effects::worktree;
use crate::message::Answer;
use crate::readiness::Watch;
use crate::refused::Refused;

impl Owner {
    /// Looks for the sign that a session is up, with what is left of its time.
    pub(super) fn await_ready(&mut self, id: &SessionId) {
        let (Some(session), Some(runtime)) = (self.world.get(id), self.runtimes.get_mut(id)) else {
            return;
        };
        let opened = *runtime.opened.get_or_insert_with(Instant::now);
        let watch = Watch {
            session: id.clone(),
            readiness: session.spec.ready.clone(),
            timeout: session.spec.ready_timeout,
            opened,
            cwd: PathBuf::from(&session.spec.cwd),
            worktree: worktree::planned(&session.spec),
            folder: self.home.session(id),
            bus: self.bus.clone(),
        };
        runtime.watching = Some(watch.begin());
    }

    /// Nobody needs that any more.
    pub(super) fn stop_awaiting(&mut self, id: &SessionId) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.watching = None;
        }
    }

    /// An agent tells something, or somebody says that he is one. What is refused changes nothing.
    pub(super) fn hear_report(&mut self, request: &ReportRequest, from: &str, answer: Answer<()>) {
        point("daemon.report.heard");
        let token = request.token.as_ref().map(kennel_types::LaunchToken::secret);
        let presented = Presented { session: &request.session, token };
        let judged = match judge(&self.world, presented) {
            Verdict::Believed { session } => {
                self.happen(&session, &Event::Reported(request.report.clone()));
                self.touch(&session);
                self.tally.reports_taken.one_more();
                Ok(())
            }
            Verdict::Refused(why) => {
                let named = SessionId::parse(&request.session).ok();
                let named = named.filter(|id| self.world.get(id).is_some());
                self.note(named, "report_refused", format!("{why}; it came from {from}"));
                let refused = Refused::from(why);
                self.tally.reports_refused.one_more(refused.code());
                Err(refused)
            }
        };
        point("daemon.report.judged");
        // Whoever has gone does not want to know.
        answer.send(judged).ok();
    }

    /// Who reports is not idle; only its keeper minds that. One of an older version refuses it, and has no such
    /// limit.
    fn touch(&self, id: &SessionId) {
        if let Some(link) = self.runtimes.get(id).and_then(|runtime| runtime.link.as_ref()) {
            link.send(Request::Touch);
        }
    }
}
