//! Launching a session again: because somebody asks, or because the restart policy wants it.

use std::time::{Duration, Instant};

use kennel_core::restart::Decision;
use kennel_core::{
    Effect, Event, Relaunch, RelaunchBy, RelaunchRefusal, Relaunched, Session, StopWish,
};
use kennel_keeper::fault::point;
use kennel_types::{LaunchToken, Owed, OwedKind, Phase, Reason, RelaunchState, SessionId};

use super::Owner;
use super::admission::Room;
use super::ask::random;
use super::runtime::Runtime;
use super::step::{News, phase_name};
use crate::clock;
use crate::message::{Command, Message, Resume, Until};
use crate::order::NewLaunch;
use crate::refused::Refused;
use crate::waiters::{Standing, Waiter};
use kennel_register::{NewEvent, SessionTimes};

/// How soon a restart that the machine has no room for is tried again.
const NO_ROOM: Duration = Duration::from_secs(10);
/// Why a former daemon's wish for a launch comes to nothing.
const LOST_ENVIRONMENT: &str = "its environment went with the former daemon";

/// A session for which a keeper of the future may need what the client has sent.
fn repeats(session: &Session) -> bool {
    // One that is tied to a client has nobody to be tied to any more.
    session.spec.repeats() && !session.spec.tethered
}

/// What every launch owes.
pub(super) fn owed() -> Vec<Owed> {
    vec![Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }]
}

impl Waiter {
    pub(super) fn until(
        until: Until,
        answer: crate::message::Answer<kennel_types::SessionView>,
    ) -> Self {
        match until {
            Until::Accepted => Self::Accepted(answer),
            Until::Started => Self::Started(answer),
            Until::Ready => Self::Ready(answer),
            Until::Over => Self::Settled(answer),
        }
    }
}

impl Owner {
    /// A launch was taken in: what the daemon has of it begins here.
    pub(super) fn begin(
        &mut self,
        id: &SessionId,
        launch: Box<NewLaunch>,
        effects: Vec<(SessionId, Effect)>,
        cause: &str,
    ) {
        let Some(session) = self.world.get(id) else { return };
        let (phase, is_child, repeats) =
            (session.phase, session.spec.parent.is_some(), repeats(session));
        let by = Some(session.spec.asked_by.clone()).filter(|by| !by.is_empty());
        let created_ms = clock::now_ms();
        let mut runtime = Runtime::new(SessionTimes { created_ms, ..SessionTimes::default() });
        runtime.again = repeats.then(|| Box::new(launch.once_more()));
        runtime.launch = Some(launch);
        runtime.accepted = Some(Instant::now());
        self.tally.launches.one_more();
        self.runtimes.insert(id.clone(), runtime);
        self.live += 1;
        self.queued += usize::from(phase == Phase::Queued);
        if is_child {
            self.children.insert(id.clone());
        }
        if id.attempt() == 1 {
            self.expect_tie(id);
        }
        self.keep(id);
        let mut news = News::new();
        news.entry(id.clone()).or_default().push(NewEvent {
            time_ms: created_ms,
            session: Some(id.clone()),
            kind: phase_name(phase).to_owned(),
            cause: cause.to_owned(),
            by,
        });
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
    }

    // Somebody asks.

    /// Another launch, after the one that whoever asks has seen last.
    pub(super) fn resume(&mut self, resume: Resume) {
        // Who has gone before it could begin does not want it any more.
        if resume.answer.is_closed() {
            return;
        }
        match self.resume_after(&resume) {
            Ok(after) => self.relaunch_for(&after, resume),
            Err(refused) => drop(resume.answer.send(Err(refused))),
        }
    }

    fn resume_after(&self, resume: &Resume) -> Result<SessionId, Refused> {
        let found = self.find(&resume.reference)?;
        if self.is_terminal(&found) {
            return Err(RelaunchRefusal::NotLaunched(found).into());
        }
        match &resume.request.after {
            None => Ok(found),
            Some(after) if after.is_kin_of(&found) => Ok(after.clone()),
            Some(after) => {
                let text = format!("{after} is no launch of session {}", found.base());
                Err(Refused::invalid(text))
            }
        }
    }

    fn relaunch_for(&mut self, after: &SessionId, resume: Resume) {
        let Resume { reference, request, given, until, tether, answer } = resume;
        let ready = self
            .world
            .newest(after)
            .is_some_and(|newest| newest.id == *after && newest.phase == Phase::Cleaned);
        let prepared = if ready {
            match self.prepare_relaunch(after, request.clone(), given) {
                Ok(prepared) => Ok(Some(prepared)),
                Err(refused) => return drop(answer.send(Err(refused))),
            }
        } else {
            Err(given)
        };
        let queued = matches!(prepared, Ok(Some((_, Room::InLine))));
        let token = match token() {
            Ok(token) => token,
            Err(refused) => return drop(answer.send(Err(refused))),
        };
        let by = RelaunchBy::Person {
            who: request.by.clone(),
            parent: request.parent.clone(),
            tethered: request.tethered,
        };
        let how = Relaunch { token, owed: owed(), queued, by, changes: None };
        match (self.world.relaunch(after, how), prepared) {
            (Relaunched::Admitted { id, effects }, Ok(Some((launch, _)))) => {
                point("daemon.again.resumed");
                self.begin(&id, launch, effects, "somebody wants it to go on");
                self.hand_on(after, &id);
                if let Some(tether) = tether {
                    self.tie(&id, tether);
                }
                self.wait(&id, Waiter::until(until, answer));
            }
            (Relaunched::Already { id }, prepared) => {
                let given = prepared.err().flatten();
                let resume = Resume { reference, request, given, until, tether, answer };
                self.rejoin_resumed(&id, resume);
            }
            (Relaunched::Wait { id }, prepared) => {
                let given = prepared.err().flatten();
                let request =
                    kennel_types::api::ResumeRequest { after: Some(after.clone()), ..request };
                let resume = Resume { reference, request, given, until, tether, answer };
                if let Some(runtime) = self.runtimes.get_mut(&id) {
                    runtime.resumers.push(resume);
                }
            }
            (Relaunched::Refused(refusal), _) => drop(answer.send(Err(refusal.into()))),
            // It is admitted only if its former launch is cleaned up, and then it was prepared.
            (Relaunched::Admitted { id, .. }, _) => {
                let text = format!("there is nothing to launch for {id}");
                drop(answer.send(Err(Refused::internal(text))));
            }
        }
    }

    fn prepare_relaunch(
        &mut self,
        former: &SessionId,
        request: kennel_types::api::ResumeRequest,
        given: Option<rustix::fd::OwnedFd>,
    ) -> Result<(Box<NewLaunch>, Room), Refused> {
        let gone = || Refused::internal(format!("session {former} has gone"));
        let session = self.world.get(former).ok_or_else(gone)?;
        if session.spec.agent.is_some() {
            return Err(RelaunchRefusal::of_agent(session).into());
        }
        let spec = session.spec.clone();
        if self.runtimes.get(former).is_none_or(|runtime| runtime.removing) {
            return Err(Refused::conflict(format!("session {former} is being removed")));
        }
        let launch = Box::new(NewLaunch::resumed(spec, request, given)?);
        let room = self.room_for(&launch)?;
        Ok((launch, room))
    }

    /// Those who wanted another launch when this one was about to end ask again.
    pub(super) fn tell_resumers(&mut self, id: &SessionId, standing: Standing) {
        let lost = self.world.get(id).is_some_and(|session| session.phase == Phase::Lost);
        if !lost && !matches!(standing, Standing::Over | Standing::Resting) {
            return;
        }
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        for resume in std::mem::take(&mut runtime.resumers) {
            self.tell_self(Message::Command(Command::Resume(resume)));
        }
    }

    // The policy.

    /// Takes up what a former daemon left: the line, and pauses before further launches.
    pub(super) fn take_up(&mut self) {
        let queued = self.world.sessions().filter(|s| s.phase == Phase::Queued);
        let queued: Vec<_> = queued.map(|session| session.id.clone()).collect();
        self.queued = queued.len();
        for id in &queued {
            if self.world.get(id).is_some_and(|session| self.is_awaited(session)) {
                self.await_client(id);
            } else if !self.has_launch(id) {
                let why = LOST_ENVIRONMENT.to_owned();
                self.call_off(id, Reason::Failed { code: 207, why });
            }
        }
        let ended = self.world.sessions().filter(|s| s.phase == Phase::Cleaned && repeats(s));
        let ended: Vec<_> = ended.map(|session| session.id.clone()).collect();
        for id in &ended {
            self.consider_restart(id);
        }
        self.take_up_prompts();
        self.take_up_plans();
        for id in &ended {
            self.settle_again(id);
        }
        self.line_may_move();
    }

    fn has_launch(&self, id: &SessionId) -> bool {
        self.runtimes.get(id).is_some_and(|runtime| runtime.launch.is_some())
    }

    pub(super) fn call_off(&mut self, id: &SessionId, reason: Reason) {
        self.happen(id, &Event::StopAsked(StopWish { grace: None, reason }));
    }

    /// A launch was cleaned up: whether another one follows by itself, and when.
    pub(super) fn consider_restart(&mut self, id: &SessionId) {
        let decided = |session: &Session| {
            !matches!(session.relaunch, RelaunchState::Undecided | RelaunchState::Pending)
        };
        let Some(session) = self.world.get(id) else { return };
        if session.phase != Phase::Cleaned || !repeats(session) || decided(session) {
            return;
        }
        // What follows a prompt is decided by what became of it.
        if session.spec.agent.is_some() {
            return;
        }
        let ran = self.ran(id);
        let (decision, effects) = self.world.consider_restart(id, ran);
        let mut news = News::new();
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        let Decision::Relaunch { after } = decision else { return };
        point("daemon.again.pending");
        if !self.has_again(id) {
            return self.give_up_again(id);
        }
        self.note(
            Some(id.clone()),
            "restart_pending",
            format!("it is launched again in {after:?}"),
        );
        self.arm_restart(id, after);
    }

    /// Whether there is all that another launch needs.
    pub(super) fn has_again(&self, id: &SessionId) -> bool {
        self.runtimes.get(id).is_some_and(|runtime| runtime.again.is_some())
    }

    /// There is not: a former daemon had it.
    pub(super) fn give_up_again(&mut self, id: &SessionId) {
        let by = format!("the daemon: {LOST_ENVIRONMENT}");
        self.note(Some(id.clone()), "not_restarted", LOST_ENVIRONMENT.to_owned());
        self.call_off(id, Reason::Stopped { by });
    }

    /// How long its program ran.
    fn ran(&self, id: &SessionId) -> Duration {
        let times = self.runtimes.get(id).map(|runtime| runtime.times).unwrap_or_default();
        let (Some(started), Some(ended)) = (times.started_ms, times.ended_ms) else {
            return Duration::ZERO;
        };
        Duration::from_millis(ended.saturating_sub(started))
    }

    /// Time asleep does not count.
    pub(super) fn arm_restart(&mut self, id: &SessionId, after: Duration) {
        let (bus, session) = (self.bus.clone(), id.clone());
        let timer = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            bus.send(Message::RestartDue { session }).ok();
        });
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        if let Some(former) = runtime.restart.replace(timer.abort_handle()) {
            former.abort();
        }
    }

    /// The pause is over.
    pub(super) fn restart_due(&mut self, id: &SessionId) {
        let pending = self.world.get(id).is_some_and(|it| it.relaunch == RelaunchState::Pending);
        // While we leave it is the next daemon's.
        if !pending || self.leaving.is_some() {
            return;
        }
        let again = self.runtimes.get(id).and_then(|runtime| runtime.again.as_ref());
        let Some(mut launch) = again.map(|launch| Box::new(launch.once_more())) else { return };
        // Nobody is there to be refused: it waits for its turn.
        launch.queue = true;
        let (room, token) = match (self.room_for_again(&launch), token()) {
            (Ok(room), Ok(token)) => (room, token),
            (Err(refused), _) | (_, Err(refused)) => {
                self.note(Some(id.clone()), "restart_put_off", refused.problem().detail);
                return self.arm_restart(id, NO_ROOM);
            }
        };
        let changes = match self.next_attempt(id, &mut launch) {
            Ok(changes) => changes,
            Err(refused) => {
                let why = refused.problem().detail;
                self.note(Some(id.clone()), "not_restarted", why.clone());
                return self.call_off(id, Reason::Stopped { by: format!("the daemon: {why}") });
            }
        };
        let by = RelaunchBy::Policy { ran: self.ran(id) };
        let how = Relaunch { token, owed: owed(), queued: room == Room::InLine, by, changes };
        match self.world.relaunch(id, how) {
            Relaunched::Admitted { id: next, effects } => {
                point("daemon.again.restarted");
                let tally = &self.tally;
                let asks = launch.spec.agent.is_some();
                if asks {
                    tally.retries.one_more()
                } else {
                    tally.restarts.one_more()
                }
                self.begin(&next, launch, effects, "it has failed, and is to be launched again");
                self.hand_on(id, &next);
            }
            Relaunched::Already { .. } | Relaunched::Wait { .. } => {}
            Relaunched::Refused(RelaunchRefusal::CalledOff(_)) => {}
            Relaunched::Refused(refusal) => {
                self.note(Some(id.clone()), "not_restarted", refusal.to_string());
                self.call_off(id, Reason::Stopped { by: format!("the daemon: {refusal}") });
            }
        }
    }

    /// Who waits for the end of a session waits for that of its next launch; all else of the former one is over.
    fn hand_on(&mut self, from: &SessionId, to: &SessionId) {
        let former = self.runtimes.get_mut(from);
        let waiters = former.map(|runtime| std::mem::take(&mut runtime.waiters));
        if let Some(runtime) = self.runtimes.get_mut(to) {
            runtime.waiters.extend(waiters.into_iter().flatten());
        }
        self.settle_again(from);
    }

    /// Lets go of what no further launch needs.
    pub(super) fn settle_again(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let pending = session.relaunch == RelaunchState::Pending || session.awaits_verdict();
        if session.phase != Phase::Cleaned || pending {
            return;
        }
        let Some(runtime) = self.runtimes.get_mut(id) else { return };
        runtime.again = None;
        if let Some(timer) = runtime.restart.take() {
            timer.abort();
        }
        self.forget_kept(id);
    }
}

fn token() -> Result<LaunchToken, Refused> {
    let random = random().map_err(|error| Refused::internal(format!("no random: {error}")))?;
    Ok(LaunchToken::new(random[1]))
}
