//! The agents of a plan: asked, stopped, and found again.

use std::collections::BTreeMap;
use std::time::Duration;

use kennel_core::Session;
use kennel_core::plan::{Answer as PlanAnswer, Heard, PlanEvent};
use kennel_keeper::fault::point;
use kennel_types::plan::{Place, Who, WorktreeWish};
use kennel_types::{
    AgentSpec, Permissions, PlanSeat, Reason, Seat, SessionId, SessionSpec, Wish, WorktreeSpec,
};
use tokio::sync::oneshot;

use super::{PlanNews, What};
use crate::effects::{apart::apart, judge};
use crate::message::Message;
use crate::owner::Owner;
use crate::prompt;
use crate::refused::Refused;
use crate::waiters::Waiter;
use kennel_register::PlanRecord;

/// How soon an agent that the machine has no room for is asked again.
const NO_ROOM: Duration = Duration::from_secs(5);
/// How soon it is tried again to put on record that an agent is asked.
const UNRECORDED: Duration = Duration::from_secs(1);
/// How often an agent of a plan is tried again by itself, if the plan does not say.
const RETRIES: u32 = 3;
/// No further try begins after this long.
const RETRY_WITHIN_MS: u64 = 10 * 60 * 1000;
/// How much of an agent's output is kept.
const OUTPUT: u64 = 64 << 20;

impl Owner {
    pub(super) fn begin_ask(&mut self, id: &SessionId, place: &Place, ask: u32) {
        let Some(run) = self.plans.0.get_mut(id) else { return };
        let event = PlanEvent::Asking { place: place.clone(), ask };
        if run.happened(&event) != Heard::Taken {
            return;
        }
        // Nobody is asked before it is on record that somebody may be.
        let (bus, record) = (self.bus.clone(), run.noted());
        let (plan, place) = (id.clone(), place.clone());
        self.register.save_plan(record, move |result| {
            let what = What::Announced(result.map_err(|why| why.to_string()));
            bus.send(Message::PlanNews(Box::new(PlanNews { plan, place, ask, what }))).ok();
        });
    }

    fn announced(&mut self, plan: SessionId, place: Place, ask: u32, result: Result<(), String>) {
        let Err(why) = result else {
            point("daemon.plan.asking");
            return self.write_prompt(&plan, &place, ask);
        };
        tracing::error!(%plan, %place, why, "that an agent is asked can't be put on record");
        let bus = self.bus.clone();
        tokio::spawn(async move {
            tokio::time::sleep(UNRECORDED).await;
            let news = PlanNews { plan, place, ask, what: What::NotNow };
            bus.send(Message::PlanNews(Box::new(news))).ok();
        });
    }

    /// The answers so far are in the output of earlier sessions: they are read apart from us.
    fn write_prompt(&mut self, id: &SessionId, place: &Place, ask: u32) {
        let Some(run) = self.plans.0.get(id) else { return };
        let (spec, inputs) = (run.record.spec.clone(), run.record.inputs.clone());
        let states = run.record.state.agents.clone();
        let session = |session: &SessionId| {
            let newest = self.world.newest(session)?;
            Some((newest.clone(), self.home.session(&newest.id)))
        };
        let sessions: Vec<_> = states
            .iter()
            .filter(|agent| agent.phase.has_succeeded())
            .filter_map(|agent| Some((agent.place.clone(), session(agent.phase.session()?)?)))
            .collect();
        let (bus, plan, place) = (self.bus.clone(), id.clone(), place.clone());
        let of = place.clone();
        let write = move || {
            let answers: BTreeMap<Place, String> = sessions
                .into_iter()
                .filter_map(|(place, (session, folder))| {
                    Some((place, judge::answer(&session, &folder)?))
                })
                .collect();
            let answer = |of: &Place| match answers.get(of) {
                Some(text) => PlanAnswer::Given(text.as_str().into()),
                None => {
                    let state = states.iter().find(|agent| agent.place == *of);
                    let why =
                        state.map_or("it is not there", |agent| match agent.phase.verdict() {
                            Some(verdict) => verdict.name(),
                            None => "it was not asked",
                        });
                    PlanAnswer::Missing(why.into())
                }
            };
            kennel_core::plan::prompt(&spec, &of, &inputs, &answer)
                .map_err(|error| error.to_string())
        };
        let failed = |why: String| Err(format!("Kennel failed to write its prompt: {why}"));
        apart("a prompt", write, failed, move |prompt| {
            let what = What::Prompt(prompt);
            bus.send(Message::PlanNews(Box::new(PlanNews { plan, place, ask, what }))).ok();
        });
    }

    pub(in crate::owner) fn plan_news(&mut self, news: PlanNews) {
        let PlanNews { plan, place, ask, what } = news;
        match what {
            What::Announced(result) => self.announced(plan, place, ask, result),
            What::Prompt(Ok(prompt)) => self.ask_agent(&plan, place, ask, &prompt),
            What::Asked(Ok(session)) => {
                self.plan_event(&plan, &PlanEvent::Asked { place: place.clone(), ask, session });
                // It may have been over before we heard that it was there.
                self.tell_plan_of(&plan, &place, ask);
            }
            What::NotNow => self.plan_event(&plan, &PlanEvent::NotAsked { place, ask }),
            What::Prompt(Err(why)) | What::Asked(Err(why)) => {
                self.plan_event(&plan, &PlanEvent::Refused { place, ask, why });
            }
        }
    }

    fn ask_agent(&mut self, id: &SessionId, place: Place, ask: u32, prompt: &str) {
        let refuse = |why: &str| What::Asked(Err(why.to_owned()));
        let news = |what| PlanNews { plan: id.clone(), place: place.clone(), ask, what };
        let Some(run) = self.plans.0.get(id) else { return };
        // A cancel came first: there is no session, and there will be none.
        if run.record.state.is_unwanted(&run.record.spec, &place) {
            let why = refuse("the plan was cancelled before");
            return self.plan_news(news(why));
        }
        let Some(launch) = &run.launch else {
            let why = refuse("its environment went with the former daemon; resume the plan");
            return self.plan_news(news(why));
        };
        let Some(spec) = session_spec(&run.record, &place, ask, prompt) else { return };
        let mut launch = launch.asking(spec, prompt);
        launch.set_folder(&launch.spec.cwd.clone());
        let (answer, answered) = oneshot::channel();
        let (bus, plan) = (self.bus.clone(), id.clone());
        let place_told = place.clone();
        tokio::spawn(async move {
            let what = match answered.await {
                Ok(Ok(view)) => {
                    let view: kennel_types::SessionView = view;
                    SessionId::parse(&view.session).map_err(|error| error.to_string())
                }
                Ok(Err(refused)) => {
                    let refused: Refused = refused;
                    match refused.problem().code.as_str() {
                        // The daemon leaves: the next one looks for the session, and finds none.
                        "refused" | "gone" => return,
                        // The machine has no room for now.
                        "busy" => {
                            tokio::time::sleep(NO_ROOM).await;
                            let news =
                                PlanNews { plan, place: place_told, ask, what: What::NotNow };
                            bus.send(Message::PlanNews(Box::new(news))).ok();
                            return;
                        }
                        _ => Err(refused.problem().detail),
                    }
                }
                // The daemon leaves: the next one looks for the session.
                Err(_) => return,
            };
            let what = What::Asked(what);
            let news = PlanNews { plan, place: place_told, ask, what };
            bus.send(Message::PlanNews(Box::new(news))).ok();
        });
        point("daemon.plan.asked");
        self.create(Box::new(launch), None, Waiter::Accepted(answer));
    }

    /// Ends the session of an agent, if there is one by now; else it is ended when there is.
    pub(super) fn stop_agent(&mut self, id: &SessionId, place: &Place, ask: u32) {
        let Some(session) = self.session_of(id, place, ask) else { return };
        if session.is_asking() && !session.is_stop_wanted() {
            let session = session.id.clone();
            let by = format!("plan {id}");
            self.call_off(&session, Reason::Stopped { by });
        }
    }

    /// The newest launch of an agent's session.
    pub(super) fn session_of(&self, plan: &SessionId, place: &Place, ask: u32) -> Option<&Session> {
        let (plan, name) = (plan.as_str(), place.to_string());
        let ours = |session: &&Session| {
            let seat = session.spec.agent.as_ref().and_then(|agent| agent.plan.as_ref());
            seat.is_some_and(|seat| seat.plan == plan && seat.name == name && seat.ask == ask)
        };
        self.world.sessions().rev().find(ours)
    }
}

/// What the daemon is asked for, for one agent.
fn session_spec(record: &PlanRecord, place: &Place, ask: u32, prompt: &str) -> Option<SessionSpec> {
    let agent = record.spec.agent(place)?;
    let (name, member, wish) = match &agent.who {
        Who::Agent(name) => (name.clone(), None, Wish::Fresh),
        // What is said here goes before what its own seat says.
        Who::Member(name) => (String::new(), Some(name.clone()), Wish::Continue),
    };
    let seat = Seat {
        agent: name,
        description: None,
        model: agent.model.clone(),
        turns: agent.turns,
        permissions: agent.permissions.unwrap_or(Permissions::Default),
        args: agent.args.clone(),
    };
    let cwd = match &agent.cwd {
        Some(cwd) => std::path::Path::new(&record.cwd).join(cwd).to_str()?.to_owned(),
        None => record.cwd.clone(),
    };
    let spec = AgentSpec {
        seat,
        member,
        wish,
        prompt_sum: prompt::sum(prompt),
        retries: agent.retries.unwrap_or(RETRIES),
        retry_within_ms: Some(RETRY_WITHIN_MS),
        plan: Some(PlanSeat { plan: record.id.to_string(), name: place.to_string(), ask }),
        ..AgentSpec::default()
    };
    Some(SessionSpec {
        cwd,
        pen: record.pen,
        linger: Duration::from_secs(2),
        lease: Some(Duration::from_secs(15 * 60)),
        output_limit: OUTPUT,
        asked_by: format!("plan {} ({place})", record.id),
        key: Some(place.ask_key(record.id.as_str(), ask)),
        timeout: agent.timeout,
        worktree: agent.worktree.as_ref().map(|wish| match wish {
            WorktreeWish::Own => WorktreeSpec::asked(None),
            WorktreeWish::Branch(branch) => WorktreeSpec::asked(Some(branch.clone())),
        }),
        agent: Some(Box::new(spec)),
        ..SessionSpec::default()
    })
}
