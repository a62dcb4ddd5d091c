//! What clients want.

use std::time::{Duration, Instant};

use kennel_core::api::{DaemonView, StopAnswer, StopRequest, StopResult};
use kennel_core::{
    Admitted, Event, LaunchToken, Owed, OwedKind, Phase, Reason, Session, SessionId, SessionView,
    StopWish,
};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::YardRequest;
use tokio::sync::oneshot;

use super::Owner;
use super::runtime::{Before, Runtime};
use super::step::phase_name;
use crate::clock;
use crate::message::{Answer, Census, Command, Inspected, Keepers, Message, Pack, Until};
use crate::order::NewLaunch;
use crate::refused::Refused;
use crate::register::{NewEvent, Times};
use crate::view;
use crate::waiters::{Waiter, stop_answer};

/// How long somebody who asks for a stop waits beyond the grace.
const BEYOND_GRACE: Duration = Duration::from_secs(30);
/// How long they wait if it is known already that somebody can't be ended.
const KNOWN_SURVIVORS: Duration = Duration::from_secs(5);

impl Owner {
    pub(super) fn obey(&mut self, command: Command) {
        match command {
            Command::Create { launch, tether, until, answer } => {
                let waiter = match until {
                    Until::Started => Waiter::Started(answer),
                    Until::Ready => Waiter::Ready(answer),
                    Until::Over => Waiter::Settled(answer),
                };
                self.create(launch, tether, waiter);
            }
            Command::List { all, answer } => {
                let wanted = self.world.sessions().filter(|session| all || session.is_live());
                let views = wanted.filter_map(|session| self.view(&session.id)).collect();
                answer.send(Ok(views)).ok();
            }
            Command::Show { reference, answer } => {
                let shown = self.find(&reference).and_then(|id| self.show(&id));
                answer.send(shown).ok();
            }
            Command::Inspect { reference, answer } => {
                let inspected = self.find(&reference).and_then(|id| self.inspected(id));
                answer.send(inspected).ok();
            }
            Command::Wait { reference, answer } => match self.find(&reference) {
                Ok(id) => self.wait(&id, Waiter::Settled(answer)),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Stop { reference, wish, answer } => match self.find(&reference) {
                Ok(id) => self.stop(&id, wish, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Forget { reference, by, answer } => {
                let forgotten = self.find(&reference).and_then(|id| self.forget(&id, by));
                answer.send(forgotten).ok();
            }
            Command::Remove { reference, answer } => match self.find(&reference) {
                Ok(id) => self.remove(id, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Prune { before_ms, answer } => self.prune(before_ms, answer),
            Command::Daemon { answer } => drop(answer.send(Ok(self.daemon_view()))),
            Command::Census { answer } => drop(answer.send(self.census())),
            Command::Keepers { answer } => self.list_keepers(answer),
            Command::Report { request, from, answer } => self.hear_report(&request, &from, answer),
            Command::Note { session, kind, cause } => self.note(session, kind, cause),
            Command::Leave(leave) => self.leave(leave),
        }
    }

    fn find(&self, reference: &str) -> Result<SessionId, Refused> {
        Ok(self.world.find(reference)?.clone())
    }

    fn show(&self, id: &SessionId) -> Result<SessionView, Refused> {
        self.view(id).ok_or_else(|| Refused::internal(format!("session {id} has gone")))
    }

    // A new session.

    fn create(
        &mut self,
        launch: Box<NewLaunch>,
        tether: Option<oneshot::Receiver<()>>,
        waiter: Waiter,
    ) {
        match self.admit(launch) {
            Ok(id) => {
                if let Some(tether) = tether {
                    self.tie(&id, tether);
                }
                self.wait(&id, waiter);
            }
            Err(refused) => waiter.refuse(refused),
        }
    }

    fn admit(&mut self, launch: Box<NewLaunch>) -> Result<SessionId, Refused> {
        if self.leaving.is_some() {
            return Err(Refused::leaving());
        }
        if self.yard_sender.is_none() {
            return Err(Refused::busy("the yard is gone, a new one is on its way"));
        }
        if self.live >= self.live_most {
            return Err(Refused::busy(format!("{} sessions live already", self.live))
                .hint("stop some, or allow the daemon more descriptors (ulimit -n)"));
        }
        let random = random().map_err(|error| Refused::internal(format!("no random: {error}")))?;
        let created_ms = clock::now_ms();
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of many")]
        let id = self.ids.next(created_ms, random[0] as u32);
        let token = LaunchToken::new(random[1]);
        let owed = vec![Owed { what: OwedKind::RuntimeFiles, failures: 0, why: None }];
        let spec = launch.spec.clone();
        let (by, is_child) = (spec.asked_by.clone(), spec.parent.is_some());
        let session = Session::new(id.clone(), spec, token, owed);
        let before = Before::from(&session);
        let effects = match self.world.admit(session) {
            Admitted::Refused(refusal) => return Err(refusal.into()),
            Admitted::Admitted { effects } => effects,
        };
        point("daemon.launch.admitted");
        let mut runtime = Runtime::new(Times { created_ms, ..Times::default() });
        runtime.launch = Some(launch);
        self.runtimes.insert(id.clone(), runtime);
        self.live += 1;
        if is_child {
            self.children.insert(id.clone());
        }
        let mut news = super::step::News::new();
        news.entry(id.clone()).or_default().push(NewEvent {
            time_ms: created_ms,
            session: Some(id.clone()),
            kind: phase_name(before.phase).to_owned(),
            cause: "somebody asked for it".to_owned(),
            by: Some(by).filter(|by| !by.is_empty()),
        });
        for (id, effect) in effects {
            self.carry_out(&id, effect, &mut news);
        }
        Ok(id)
    }

    /// Ends the session if its client goes before it has its answer.
    fn tie(&self, id: &SessionId, tether: oneshot::Receiver<()>) {
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            if tether.await.is_err() {
                bus.send(Message::ClientGone { session }).ok();
            }
        });
    }

    pub(super) fn client_gone(&mut self, id: &SessionId) {
        self.ask_stop(id, None, Reason::ClientGone);
    }

    // Waiting and stopping.

    fn wait(&mut self, id: &SessionId, waiter: Waiter) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.waiters.push(waiter);
        }
        self.tell_waiters(id, None);
    }

    fn ask_stop(&mut self, id: &SessionId, grace: Option<Duration>, reason: Reason) {
        point("daemon.stop.asked");
        self.happen(id, &Event::StopAsked(StopWish { grace, reason }));
        self.retry_now(id);
    }

    fn stop(&mut self, id: &SessionId, wish: StopRequest, answer: Answer<StopAnswer>) {
        let since = Instant::now();
        let Some(session) = self.world.get(id) else { return };
        if session.has_ended() {
            let gone = self.show(id).map(|v| stop_answer(StopResult::AlreadyGone, v, since));
            return drop(answer.send(gone));
        }
        let grace =
            if wish.now { Some(Duration::ZERO) } else { wish.grace_ms.map(Duration::from_millis) };
        let patience = if session.survivors.is_empty() {
            grace.unwrap_or(session.spec.grace).saturating_add(BEYOND_GRACE)
        } else {
            KNOWN_SURVIVORS
        };
        // A clock that can't reach so far means for ever, or as good as that.
        let until = since.checked_add(patience).unwrap_or(since + BEYOND_GRACE);
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.waiters.push(Waiter::Stopped { answer, since, until });
        }
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            bus.send(Message::StopOverdue { session }).ok();
        });
        self.ask_stop(id, grace, Reason::Stopped { by: wish.by });
    }

    fn forget(&mut self, id: &SessionId, by: String) -> Result<SessionView, Refused> {
        if self.world.get(id).is_none_or(|session| session.phase != Phase::Lost) {
            return Err(Refused::conflict(format!("session {id} is not lost"))
                .hint("only what nobody can see any more can be given up; stop it instead"));
        }
        self.happen(id, &Event::Forgotten { by });
        self.show(id)
    }

    // Looking.

    fn inspected(&self, id: SessionId) -> Result<Inspected, Refused> {
        let view = self.show(&id)?;
        let gone = || Refused::internal(format!("session {id} has gone"));
        let launch = view::launch(self.world.get(&id).ok_or_else(gone)?);
        let keeper_pid = self.runtimes.get(&id).and_then(|runtime| runtime.keeper_pid);
        Ok(Inspected { view, launch, keeper_pid, id })
    }

    fn daemon_view(&self) -> DaemonView {
        DaemonView {
            pid: rustix::process::getpid().as_raw_pid(),
            yard_pid: self.yard_sender.is_some().then_some(self.yard.pid),
            version: self.version.clone(),
            home: self.home.folder.display().to_string(),
            home_id: self.home.id.to_string(),
            started_at: clock::rfc3339(self.started_ms),
            live: self.live as u64,
            total: self.world.sessions().len() as u64,
        }
    }

    fn census(&self) -> Census {
        let mut census = Census::default();
        census.own.extend([rustix::process::getpid().as_raw_pid(), self.yard.pid]);
        census.own.extend(self.keepers.keys());
        for session in self.world.sessions() {
            census.known.insert(session.id.clone());
            if session.is_live() {
                let runtime = self.runtimes.get(&session.id);
                let keeper = runtime.and_then(|runtime| runtime.keeper_pid);
                let lost = session.phase == Phase::Lost;
                census.live.insert(session.id.to_string(), Pack { keeper, lost });
            }
        }
        census
    }

    fn list_keepers(&mut self, answer: oneshot::Sender<Keepers>) {
        // Without a yard nobody can tell: the answer is dropped.
        if let Some(yard) = &self.yard_sender
            && yard.send(YardRequest::Status.into()).is_ok()
        {
            self.keeper_lists.push_back(answer);
        }
    }
}

fn random() -> std::io::Result<[u128; 2]> {
    let mut bytes = [0_u8; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    let mut halves = [0; 2];
    for (half, bytes) in halves.iter_mut().zip(bytes.as_chunks::<16>().0) {
        *half = u128::from_le_bytes(*bytes);
    }
    Ok(halves)
}
