//! The owner's part in the agents of a plan: it asks them and stops them.

use std::time::Duration;

use kennel_core::plan::PlanEvent;
use kennel_keeper::fault::point;
use kennel_types::api::Until;
use kennel_types::plan::AgentPath;
use kennel_types::{Reason, SessionId, SessionView};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::os::blocking::run_blocking;
use crate::owner::Owner;
use crate::owner::waiters::Waiter;
use crate::plan::agents::{PromptSources, session_of, session_spec};

/// The pause before an agent is asked again for which the machine had no room.
const NO_ROOM: Duration = Duration::from_secs(5);
/// The pause before another try to record that an agent is asked.
const UNRECORDED: Duration = Duration::from_secs(1);

impl Owner {
    /// Records that an agent is asked, and then creates its session.
    pub(super) fn begin_ask(&mut self, id: &SessionId, place: AgentPath, ask: u32) {
        let Some(run) = self.plans.get_mut(id) else { return };
        let event = PlanEvent::Asking { place: place.clone(), ask };
        if run.happened(&event).is_err() {
            return;
        }
        let (bus, record, plan) = (self.bus.clone(), run.current_record(), id.clone());
        self.register.save_plan(record, move |result| {
            bus.call(move |owner| match result {
                Ok(()) => {
                    point("daemon.plan.asking");
                    owner.write_prompt(plan, place, ask);
                }
                Err(why) => {
                    tracing::error!(%plan, %place, %why, "can't record that an agent is asked");
                    let again = PlanEvent::NotAsked { place, ask };
                    owner.bus.call_later(UNRECORDED, move |owner| owner.plan_event(&plan, &again));
                }
            });
        });
    }

    /// The prompt contains answers of earlier sessions, which are read from disk.
    fn write_prompt(&mut self, plan: SessionId, place: AgentPath, ask: u32) {
        let Some(run) = self.plans.get(&plan) else { return };
        let sources = PromptSources::new(run, &place, &self.world, |id| self.home.session(id));
        let bus = self.bus.clone();
        let failed = |why: String| Err(format!("internal error while writing its prompt: {why}"));
        run_blocking(
            "a prompt",
            move || sources.write(),
            failed,
            move |prompt| {
                bus.call(move |owner| match prompt {
                    Ok(prompt) => owner.ask_agent(&plan, place, ask, &prompt),
                    Err(why) => owner.plan_event(&plan, &PlanEvent::Refused { place, ask, why }),
                });
            },
        );
    }

    fn ask_agent(&mut self, id: &SessionId, place: AgentPath, ask: u32, prompt: &str) {
        let Some(run) = self.plans.get(id) else { return };
        // There is no session, and none will be created.
        let state = &run.record.state;
        let refused = if state.is_unwanted(&run.record.spec, &place) {
            Some(state.skip_reason().to_string())
        } else if run.launch.is_none() {
            Some("its environment was lost with the former daemon; resume the plan".to_owned())
        } else {
            None
        };
        if let Some(why) = refused {
            return self.plan_event(id, &PlanEvent::Refused { place, ask, why });
        }
        let Some(launch) = &run.launch else { return };
        let Some(spec) = session_spec(&run.record, &place, ask, prompt) else { return };
        let mut launch = launch.with_prompt(spec, prompt);
        launch.set_folder(&launch.spec.cwd.clone());
        let (answer, answered) = oneshot::channel();
        let (bus, plan) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            if let Some(event) = await_session(answered, place.clone(), ask).await {
                bus.call(move |owner| {
                    owner.plan_event(&plan, &event);
                    // The session may have ended before this event came.
                    if matches!(event, PlanEvent::Asked { .. }) {
                        owner.report_agent(&plan, &place, ask);
                    }
                });
            }
        });
        point("daemon.plan.asked");
        self.create(Box::new(launch), None, Waiter::Until(Until::Accepted, answer));
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

/// Waits for the session of an agent. Returns none if the daemon is shutting down: the next daemon
/// looks for the session.
async fn await_session(
    answered: oneshot::Receiver<Result<SessionView, ApiError>>,
    place: AgentPath,
    ask: u32,
) -> Option<PlanEvent> {
    let refused = match answered.await.ok()? {
        Ok(view) => match SessionId::parse(&view.session) {
            Ok(session) => return Some(PlanEvent::Asked { place, ask, session }),
            Err(error) => ApiError::internal(error),
        },
        Err(refused) => refused,
    };
    match refused.code() {
        "refused" | "gone" => None,
        // The machine has no room for now.
        "busy" => {
            tokio::time::sleep(NO_ROOM).await;
            Some(PlanEvent::NotAsked { place, ask })
        }
        _ => Some(PlanEvent::Refused { place, ask, why: refused.problem().detail }),
    }
}
