//! Prompts: whom they go to, what became of them, and whether they are tried again.
//!
//! ```text
//! create ── whose seat, which conversation ──> a session ── Cleaned ──> judged ──┬──> over
//!                        ^                                                       │
//!                        └────── another launch, after a pause ──────────────────┘
//! ```

use std::time::Duration;

use kennel_agents::{Agent, UsageOf};
use kennel_core::retry::{self, Again};
use kennel_core::{Changes, Event, Judgement, Keyed, Session};
use kennel_keeper::fault::point;
use kennel_types::{
    AgentSpec, Judged, Permissions, Reason, RelaunchState, SessionId, SessionSpec, UsageScope,
};
use tokio::sync::oneshot;

use super::Owner;
use super::step::News;
use crate::clock;
use crate::effects::{apart::apart, judge};
use crate::message::Message;
use crate::order::NewLaunch;
use crate::prompt;
use crate::refused::Refused;
use crate::waiters::Waiter;
use kennel_register::NewEvent;

/// How long whoever asked may take to come and wait for it: also after a restart of the daemon.
const TIE: Duration = Duration::from_secs(15);

/// Whether it is tried again, and what is to be done for that.
type Decided = (retry::Decision, Vec<(SessionId, kennel_core::Effect)>);

impl Owner {
    /// Decides on the command of a new prompt: whose seat it is, and which conversation goes on. Nothing for anything
    /// else.
    pub(super) fn settle_prompt(&self, launch: &mut NewLaunch) -> Result<(), Refused> {
        let Some(agent) = launch.spec.agent.as_deref() else { return Ok(()) };
        let mut agent = agent.clone();
        let mut folder = None;
        let mut last = None;
        if let Some(name) = &agent.member {
            let member = self.world.member(name).ok_or_else(|| self.no_member(name))?;
            agent.seat = seat_of(&member.seat, &agent.seat);
            folder = Some(member.cwd.clone());
            last = member.conversation.as_deref();
        }
        agent.conversation = prompt::conversation(&agent.wish, last);
        let asking = prompt::asking(&agent)?;
        launch.spec.stop_signal = launch.spec.stop_signal.or(asking.stop_signal);
        launch.spec.agent = Some(Box::new(agent));
        launch.set_command(asking.argv, asking.env);
        if let Some(folder) = folder.filter(|_| !launch.has_worktree()) {
            launch.set_folder(&folder);
        }
        Ok(())
    }

    /// What the key of a request stands for, as it was `asked` and as it is `settled` now. A member may be gone since it was
    /// asked first, or be another by now: then it is settled as it was at that time.
    pub(super) fn keyed_prompt(&self, settled: &SessionSpec, asked: &SessionSpec) -> Keyed {
        let keyed = self.keyed(settled);
        let Keyed::Different { by, .. } = &keyed else { return keyed };
        let first = self.world.launches(by).next();
        match first.and_then(|first| settled_like(&first.spec, asked)) {
            Some(then) => self.keyed(&then),
            None => keyed,
        }
    }

    pub(super) fn no_member(&self, name: &str) -> Refused {
        let refused = Refused::not_found(format!("there is no member {name:?}"));
        refused.hint(match self.world.member_like(name) {
            Some(near) => format!("did you mean {near:?}? `kennel member list` lists all"),
            None => "`kennel member list` lists all, `kennel member add` adds one".to_owned(),
        })
    }

    /// Who keeps a member from taking a prompt, if somebody does.
    pub(super) fn busy(&self, agent: &AgentSpec) -> Option<Refused> {
        let name = agent.member.as_deref()?;
        let by = self.world.busy_with(name).or_else(|| self.world.waits_for(name).next())?;
        let since = self
            .runtimes
            .get(&by.id)
            .map_or(0, |runtime| runtime.times.started_ms.unwrap_or(runtime.times.created_ms));
        let message = format!(
            "member {name:?} is busy with session {} since {}",
            by.id,
            clock::rfc3339(since)
        );
        Some(Refused::busy(message).hint("wait in line with --queue, or stop that session"))
    }

    /// The turn of a prompt in line has come: the conversation is that of now, not that of when it was asked.
    pub(super) fn resettle_prompt(&mut self, id: &SessionId) -> Result<(), Refused> {
        let asks = self.world.get(id).is_some_and(|session| session.spec.agent.is_some());
        let Some(runtime) = self.runtimes.get_mut(id).filter(|_| asks) else { return Ok(()) };
        let Some(mut launch) = runtime.launch.take() else { return Ok(()) };
        let settled = self.settle_prompt(&mut launch);
        if let Some(agent) = &launch.spec.agent {
            let conversation = agent.conversation.clone();
            self.world.resettle(id, Changes { argv: launch.spec.argv.clone(), conversation });
        }
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.again = Some(Box::new(launch.once_more()));
            runtime.launch = Some(launch);
        }
        settled
    }

    // Whoever waits for it.

    /// Who asked for it is expected to wait for it; it is ended if nobody does.
    pub(super) fn expect_tie(&self, id: &SessionId) {
        let tied = |session: &Session| session.spec.agent.as_ref().is_some_and(|it| it.tied);
        if !self.world.get(id).is_some_and(tied) {
            return;
        }
        let (bus, session) = (self.bus.clone(), id.base());
        tokio::spawn(async move {
            tokio::time::sleep(TIE).await;
            bus.send(Message::TieOverdue { session }).ok();
        });
    }

    /// Somebody waits for it, and it ends with them.
    pub(super) fn tie_prompt(&mut self, id: &SessionId, tether: oneshot::Receiver<()>) {
        // One that is over, or is none, needs no note.
        if self.world.newest(id).is_some_and(|it| it.spec.is_prompt() && it.is_asking()) {
            self.seats.tied.insert(id.base());
        }
        self.tie(id, tether);
    }

    pub(super) fn tie_overdue(&mut self, session: &SessionId) {
        if self.seats.tied.contains(session) {
            return;
        }
        // Whoever asked for it may not have heard yet that it has begun: git takes its time.
        let newest = self.world.newest(session).map(|newest| &newest.id);
        let runtime = newest.and_then(|id| self.runtimes.get(id));
        if runtime.is_some_and(|it| it.waiters.iter().any(Waiter::awaits_begin)) {
            return self.expect_tie(session);
        }
        self.client_gone(session);
    }

    // The verdict.

    /// A prompt has ended: what became of it is in its output.
    pub(super) fn judge(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id).filter(|session| session.awaits_verdict()) else {
            return;
        };
        point("daemon.judge.begun");
        let (session, folder) = (session.clone(), self.home.session(id));
        let bus = self.bus.clone();
        let id = id.clone();
        let failed = |why: String| judge::unjudged(&format!("Kennel failed to judge it: {why}"));
        apart(
            "a verdict",
            move || judge::judge(&session, &folder),
            failed,
            move |judged| {
                bus.send(Message::Judged { session: id, judged: Box::new(judged) }).ok();
            },
        );
    }

    /// It is known.
    pub(super) fn judged(&mut self, id: &SessionId, judged: Judged) {
        let kind = judged.verdict.kind;
        let spec = self.world.get(id).and_then(|session| session.spec.agent.as_deref());
        let scope = spec.map_or(UsageScope::Attempt, |spec| usage_scope(&spec.seat));
        let runtimes = &self.runtimes;
        let unrecorded = |id: &SessionId| runtimes.get(id).is_some_and(|runtime| runtime.unsaved);
        let judgement = self.world.judge(id, judged, scope, clock::now_ms(), unrecorded);
        let Judgement::News { effects, learnt } = judgement else {
            return;
        };
        // The member first: if we die in between, it knows whose verdict it has learnt already.
        if let Some(member) = learnt {
            self.save_member(*member);
        }
        point("daemon.judge.learnt");
        tracing::info!(session = %id, verdict = kind.name(), "judged");
        self.tally.judged(kind);
        // One record of both: a daemon that finds the verdict need not decide again.
        let decided = self.decide_retry(id);
        let mut news = News::new();
        news.entry(id.clone()).or_default().push(NewEvent {
            time_ms: clock::now_ms(),
            session: Some(id.clone()),
            kind: "judged".to_owned(),
            cause: kind.to_string(),
            by: None,
        });
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        for event in news.into_values().flatten() {
            self.register.log(event);
        }
        point("daemon.judge.judged");
        self.follow_retry(id, decided);
        if !self.world.get(id).is_some_and(Session::is_asking) {
            self.seats.tied.remove(&id.base());
        }
        self.settle_again(id);
        self.tell_waiters(id, None);
        self.tell_plan(id);
        self.line_may_move();
        self.leave_if_done();
    }

    /// A former daemon has decided that it is tried again.
    pub(super) fn consider_retry(&mut self, id: &SessionId) {
        let decided = self.decide_retry(id);
        self.follow_retry(id, decided);
    }

    fn follow_retry(&mut self, id: &SessionId, decided: Option<Decided>) {
        let Some((decision, effects)) = decided else { return };
        let mut news = News::new();
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        let after = match decision {
            retry::Decision::Again { after, .. } => after,
            retry::Decision::Done(why) => {
                self.note(Some(id.clone()), "not_retried", why.to_string());
                // What a former daemon was to do comes to nothing: so nobody shall wait for it.
                let pending = |session: &Session| session.relaunch == RelaunchState::Pending;
                if self.world.get(id).is_some_and(pending) {
                    self.call_off(id, Reason::Stopped { by: format!("the daemon: {why}") });
                }
                return;
            }
        };
        point("daemon.again.pending");
        if !self.has_again(id) {
            return self.give_up_again(id);
        }
        self.note(Some(id.clone()), "retry_pending", format!("it is asked again in {after:?}"));
        self.arm_restart(id, after);
    }

    /// Whether a prompt that was judged is tried again, and when.
    fn decide_retry(&mut self, id: &SessionId) -> Option<Decided> {
        let jitter = super::ask::random().map_or(0, |random| random[0] as u16);
        let first = self.world.launches(id).next()?.id.clone();
        let begun = self.runtimes.get(&first)?.times.created_ms;
        let since_first = Duration::from_millis(clock::now_ms().saturating_sub(begun));
        self.world.consider_retry(id, since_first, jitter)
    }

    /// What the next attempt at a prompt is told: the command may be another one.
    pub(super) fn next_attempt(
        &self,
        former: &SessionId,
        launch: &mut NewLaunch,
    ) -> Result<Option<Changes>, Refused> {
        let Some(session) = self.world.get(former) else { return Ok(None) };
        let Some(agent) = session.spec.agent.as_deref() else { return Ok(None) };
        let mut agent = agent.clone();
        if again_of(session) == Again::Fresh {
            agent.conversation = None;
        }
        let asking = prompt::asking(&agent)?;
        let changes =
            Changes { argv: asking.argv.clone(), conversation: agent.conversation.clone() };
        launch.spec.agent = Some(Box::new(agent));
        launch.set_command(asking.argv, asking.env);
        Ok(Some(changes))
    }

    /// Judges what a former daemon left, and goes on with its retries.
    pub(super) fn take_up_prompts(&mut self) {
        let ids: Vec<_> =
            self.world.sessions().filter(|it| it.is_asking()).map(|it| it.id.clone()).collect();
        for id in ids {
            self.expect_tie(&id);
            let Some(session) = self.world.get(&id) else { continue };
            if session.awaits_verdict() {
                self.judge(&id);
            } else if session.relaunch == RelaunchState::Pending {
                self.consider_retry(&id);
            }
        }
    }

    /// Ends a prompt whose turn came and which can't be asked any more.
    pub(super) fn turn_down(&mut self, id: &SessionId, refused: &Refused) {
        let why = refused.problem().detail;
        let reason = kennel_types::Reason::Failed { code: 202, why };
        self.happen(id, &Event::StopAsked(kennel_core::StopWish { grace: None, reason }));
    }
}

/// Whether an agent is one that Kennel can ask.
pub(super) fn check_seat(seat: &kennel_types::Seat) -> Result<(), Refused> {
    let agent = Agent::of(seat).map_err(Refused::invalid)?;
    agent.one_shot(seat, None).map_err(Refused::invalid).map(drop)
}

/// What the usage is of that an agent tells.
fn usage_scope(seat: &kennel_types::Seat) -> UsageScope {
    match Agent::of(seat).map(|agent| agent.usage_of()) {
        Ok(UsageOf::Conversation) => UsageScope::Conversation,
        Ok(UsageOf::Attempt) | Err(_) => UsageScope::Attempt,
    }
}

/// A member's seat, with what a plan says otherwise.
fn seat_of(member: &kennel_types::Seat, said: &kennel_types::Seat) -> kennel_types::Seat {
    let mut seat = member.clone();
    seat.model = said.model.clone().or(seat.model);
    seat.turns = said.turns.or(seat.turns);
    if said.permissions != Permissions::Default {
        seat.permissions = said.permissions;
    }
    if !said.args.is_empty() {
        seat.args.clone_from(&said.args);
    }
    seat
}

/// A request settled as another one was that went to the same member; none if it did not.
fn settled_like(first: &SessionSpec, asked: &SessionSpec) -> Option<SessionSpec> {
    let (then, now) = (first.agent.as_deref()?, asked.agent.as_deref()?);
    if now.member.is_none() || now.member != then.member {
        return None;
    }
    let mut spec = asked.clone();
    spec.agent = Some(Box::new(AgentSpec { seat: seat_of(&then.seat, &now.seat), ..now.clone() }));
    spec.stop_signal = asked.stop_signal.or(first.stop_signal);
    if asked.worktree.is_none() {
        spec.cwd.clone_from(&first.cwd);
    }
    Some(spec)
}

/// With which conversation the next attempt begins.
fn again_of(session: &Session) -> Again {
    match &session.judged {
        Some(judged) if judged.verdict.kind == kennel_types::VerdictKind::StaleConversation => {
            Again::Fresh
        }
        _ => Again::Same,
    }
}
