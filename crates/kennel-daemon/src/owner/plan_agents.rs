//! The owner's part in the agents of a plan: it asks them and stops them.

use std::time::Duration;

use kennel_core::plan::{EventOutcome, PlanEvent};
use kennel_keeper::fault::point;
use kennel_types::plan::AgentPath;
use kennel_types::{Reason, SessionId, SessionView};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::os::blocking::apart;
use crate::owner::Owner;
use crate::owner::message::sender;
use crate::owner::waiters::Waiter;
use crate::plan::agents::{AgentProgress, AgentReport, PromptSources, session_of, session_spec};

/// How soon an agent that the machine has no room for is asked again.
const NO_ROOM: Duration = Duration::from_secs(5);
/// How soon the record that an agent is asked is tried again.
const UNRECORDED: Duration = Duration::from_secs(1);

impl Owner {
    /// Begins to ask an agent: first the plan's record says so.
    pub(super) fn begin_ask(&mut self, id: &SessionId, place: &AgentPath, ask: u32) {
        let Some(run) = self.plans.get_mut(id) else { return };
        let event = PlanEvent::Asking { place: place.clone(), ask };
        if run.happened(&event) != EventOutcome::Taken {
            return;
        }
        let (owner, record) = (sender(&self.bus), run.current_record());
        let (plan, place) = (id.clone(), place.clone());
        self.register.save_plan(record, move |result| {
            let what = AgentProgress::Announced(result.map_err(|why| why.to_string()));
            owner.send(AgentReport { plan, place, ask, what }).ok();
        });
    }

    pub(super) fn agent_report(&mut self, report: AgentReport) {
        let AgentReport { plan, place, ask, what } = report;
        match what {
            AgentProgress::Announced(result) => self.announced(plan, place, ask, result),
            AgentProgress::Prompt(Ok(prompt)) => self.ask_agent(&plan, place, ask, &prompt),
            AgentProgress::Asked(Ok(session)) => {
                self.plan_event(&plan, &PlanEvent::Asked { place: place.clone(), ask, session });
                // The session may have ended before this report came.
                self.tell_plan_of(&plan, &place, ask);
            }
            AgentProgress::NotNow => self.plan_event(&plan, &PlanEvent::NotAsked { place, ask }),
            AgentProgress::Prompt(Err(why)) | AgentProgress::Asked(Err(why)) => {
                self.plan_event(&plan, &PlanEvent::Refused { place, ask, why });
            }
        }
    }

    fn announced(
        &mut self,
        plan: SessionId,
        place: AgentPath,
        ask: u32,
        result: Result<(), String>,
    ) {
        let Err(why) = result else {
            point("daemon.plan.asking");
            return self.write_prompt(plan, &place, ask);
        };
        tracing::error!(%plan, %place, why, "can't record that an agent is asked");
        let report = AgentReport { plan, place, ask, what: AgentProgress::NotNow };
        self.send_later(UNRECORDED, report);
    }

    /// The prompt contains answers of earlier sessions, which are read from disk.
    fn write_prompt(&mut self, plan: SessionId, place: &AgentPath, ask: u32) {
        let Some(run) = self.plans.get(&plan) else { return };
        let sources = PromptSources::new(run, place, &self.world, |id| self.home.session(id));
        let (owner, place) = (sender(&self.bus), place.clone());
        let failed = |why: String| Err(format!("internal error while writing its prompt: {why}"));
        apart(
            "a prompt",
            move || sources.write(),
            failed,
            move |prompt| {
                let what = AgentProgress::Prompt(prompt);
                owner.send(AgentReport { plan, place, ask, what }).ok();
            },
        );
    }

    fn ask_agent(&mut self, id: &SessionId, place: AgentPath, ask: u32, prompt: &str) {
        let Some(run) = self.plans.get(id) else { return };
        let refused = |why: &str| {
            let what = AgentProgress::Asked(Err(why.to_owned()));
            AgentReport { plan: id.clone(), place: place.clone(), ask, what }
        };
        // A cancel came first: there is no session, and there will be none.
        if run.record.state.is_unwanted(&run.record.spec, &place) {
            let report = refused("the plan was cancelled before");
            return self.agent_report(report);
        }
        let Some(launch) = &run.launch else {
            let report =
                refused("its environment was lost with the former daemon; resume the plan");
            return self.agent_report(report);
        };
        let Some(spec) = session_spec(&run.record, &place, ask, prompt) else { return };
        let mut launch = launch.asking(spec, prompt);
        launch.set_folder(&launch.spec.cwd.clone());
        let (answer, answered) = oneshot::channel();
        let (owner, plan) = (sender(&self.bus), id.clone());
        tokio::spawn(async move {
            if let Some(what) = await_session(answered).await {
                owner.send(AgentReport { plan, place, ask, what }).ok();
            }
        });
        point("daemon.plan.asked");
        self.create(Box::new(launch), None, Waiter::Accepted(answer));
    }

    /// Stops the session of an agent if it exists by now; otherwise it is stopped when it does.
    pub(super) fn stop_agent(&mut self, id: &SessionId, place: &AgentPath, ask: u32) {
        let Some(session) = session_of(&self.world, id, place, ask) else { return };
        if session.is_asking() && !session.is_stop_wanted() {
            let session = session.id.clone();
            let by = format!("plan {id}");
            self.call_off(&session, Reason::Stopped { by });
        }
    }
}

/// Waits for the session of an agent. Returns none if the daemon is shutting down: the next daemon looks for the
/// session.
async fn await_session(
    answered: oneshot::Receiver<Result<SessionView, ApiError>>,
) -> Option<AgentProgress> {
    match answered.await.ok()? {
        Ok(view) => {
            let id = SessionId::parse(&view.session).map_err(|error| error.to_string());
            Some(AgentProgress::Asked(id))
        }
        Err(refused) => match refused.problem().code.as_str() {
            "refused" | "gone" => None,
            // The machine has no room for now.
            "busy" => {
                tokio::time::sleep(NO_ROOM).await;
                Some(AgentProgress::NotNow)
            }
            _ => Some(AgentProgress::Asked(Err(refused.problem().detail))),
        },
    }
}
