//! What clients want.

use std::time::{Duration, Instant};

use kennel_core::{Admitted, Event, Keyed, Session, StopWish};
use kennel_keeper::fault::point;
use kennel_keeper::protocol::YardRequest;
use kennel_types::api::{DaemonView, SettingsView, StopAnswer, StopRequest, StopResult};
use kennel_types::{LaunchToken, Phase, Reason, RelaunchState, SessionId, SessionView};
use tokio::sync::oneshot;

use super::Owner;
use super::admission::{Room, different};
use super::again::owed;
use super::worktrees::Asker;
use crate::clock;
use crate::message::{Answer, Census, Command, Inspected, Keepers, Message, Pack};
use crate::order::NewLaunch;
use crate::refused::Refused;
use crate::terms::Terms;
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
                self.create(launch, tether, Waiter::until(until, answer));
            }
            Command::Adopt { adoptee, answer } => self.adopt(*adoptee, answer),
            Command::Handle { reference, answer } => {
                drop(answer.send(self.handle_of(&reference)));
            }
            Command::AskAgain { session, launch, tether, until, answer } => {
                self.ask_again(&session, launch, tether, Waiter::until(until, answer));
            }
            Command::Resume(resume) => self.resume(resume),
            Command::List { wish, answer } => drop(answer.send(self.list(&wish))),
            Command::Show { reference, answer } => {
                let shown = self.find(&reference).and_then(|id| self.show(&id));
                answer.send(shown).ok();
            }
            Command::Inspect { reference, answer } => {
                let inspected = self.find(&reference).and_then(|id| self.inspected(id));
                answer.send(inspected).ok();
            }
            Command::Wait { reference, tether, answer } => match self.find(&reference) {
                Ok(id) => {
                    if let Some(tether) = tether {
                        self.tie_prompt(&id, tether);
                    }
                    self.wait(&id, Waiter::Settled(answer));
                }
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Stop { reference, wish, answer } => match self.find(&reference) {
                Ok(id) => self.stop(&id, wish, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Forget { reference, by, answer } => match self.find(&reference) {
                Ok(id) if self.is_terminal(&id) => self.let_go_of(&id, by, answer),
                found => drop(answer.send(found.and_then(|id| self.forget(&id, by)))),
            },
            Command::Remove { reference, answer } => match self.find(&reference) {
                Ok(id) => self.remove(id, answer),
                Err(refused) => drop(answer.send(Err(refused))),
            },
            Command::Prune { before_ms, pruning, answer } => {
                self.prune(before_ms, pruning, answer);
            }
            Command::Daemon { answer } => drop(answer.send(Ok(self.daemon_view()))),
            Command::Census { answer } => drop(answer.send(self.census())),
            Command::Keepers { answer } => self.list_keepers(answer),
            Command::Report { request, from, answer } => self.hear_report(&request, &from, answer),
            Command::Note { session, kind, cause } => self.note(session, kind, cause),
            Command::Worktree(command) => self.worktree_command(command),
            Command::Plan(command) => self.plan_command(command),
            Command::Look(command) => self.look_command(command),
            Command::Member(command) => self.member_command(command),
            Command::Leave(leave) => self.leave(leave),
        }
    }

    pub(super) fn find(&self, reference: &str) -> Result<SessionId, Refused> {
        Ok(self.world.find(reference)?.clone())
    }

    fn show(&self, id: &SessionId) -> Result<SessionView, Refused> {
        self.view(id).ok_or_else(|| Refused::internal(format!("session {id} has gone")))
    }

    // A new session.

    pub(super) fn create(
        &mut self,
        launch: Box<NewLaunch>,
        tether: Option<oneshot::Receiver<()>>,
        waiter: Waiter,
    ) {
        let mut launch = launch;
        let asked = launch.spec.clone();
        let settled = self.settle_prompt(&mut launch);
        // The key goes first: who asks again has the answer, even if nobody could be asked that any more.
        match self.keyed_prompt(&launch.spec, &asked) {
            Keyed::Free => {
                if let Err(refused) = settled {
                    return waiter.refuse(refused);
                }
            }
            // Whoever asks again gets the answer of whoever asked first, and is not tied to it, unless that is
            // the same who has lost a daemon.
            Keyed::Same(id) => {
                self.rejoin(&id, launch, tether);
                return self.wait(&id, waiter);
            }
            Keyed::Different { by, fields } => return waiter.refuse(different(&by, &fields)),
        }
        if launch.wants_plan() {
            // Who is refused in any case need not wait for git.
            return match self.room_for(&launch) {
                Ok(_) => self.plan_worktree(launch, Asker { tether, waiter }),
                Err(refused) => waiter.refuse(refused),
            };
        }
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

    fn admit(&mut self, mut launch: Box<NewLaunch>) -> Result<SessionId, Refused> {
        self.check_name(launch.spec.name.as_deref())?;
        let room = self.room_for(&launch)?;
        let random = random().map_err(|error| Refused::internal(format!("no random: {error}")))?;
        #[expect(clippy::cast_possible_truncation, reason = "some random bits of many")]
        let new = || self.ids.next(clock::now_ms(), random[0] as u32);
        let id = launch.id.take().unwrap_or_else(new);
        let session =
            Session::new(id.clone(), launch.spec.clone(), LaunchToken::new(random[1]), owed());
        let session = if room == Room::InLine { session.queued() } else { session };
        let effects = match self.world.admit(session) {
            Admitted::Refused(refusal) => return Err(refusal.into()),
            Admitted::Admitted { effects } => effects,
        };
        point("daemon.launch.admitted");
        self.begin(&id, launch, effects, "somebody asked for it");
        Ok(id)
    }

    /// A name goes before the beginning of an id: whoever types one and means the other would end the wrong session.
    pub(super) fn check_name(&self, name: Option<&str>) -> Result<(), Refused> {
        let mistaken = name.and_then(|name| Some((name, self.world.mistaken_for(name)?)));
        mistaken.map_or(Ok(()), |(name, id)| {
            let text = format!("{name:?} is no name for a session: the id {id} begins so");
            Err(Refused::conflict(text).hint("choose a name that people can tell from an id"))
        })
    }

    /// Ends the session if its client goes before it has its answer.
    pub(super) fn tie(&self, id: &SessionId, tether: oneshot::Receiver<()>) {
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            if tether.await.is_err() {
                bus.send(Message::ClientGone { session }).ok();
            }
        });
    }

    pub(super) fn client_gone(&mut self, id: &SessionId) {
        // A prompt may have been tried again meanwhile.
        let Some(id) = self.world.newest(id).map(|session| session.id.clone()) else { return };
        self.ask_stop(&id, None, Reason::ClientGone);
    }

    // Waiting and stopping.

    pub(super) fn wait(&mut self, id: &SessionId, waiter: Waiter) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.await_with(waiter);
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
        if session.has_ended() && !may_follow(session) {
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
        let patience =
            wish.wait_ms.map_or(patience, |wait| patience.min(Duration::from_millis(wait)));
        // A clock that can't reach so far means for ever, or as good as that.
        let until = since.checked_add(patience).unwrap_or(since + BEYOND_GRACE);
        self.await_stopped(id, since, until, answer);
        self.ask_stop(id, grace, Reason::Stopped { by: wish.by });
    }

    /// Answers when it is over, or can't be ended for now, or the time is over.
    pub(super) fn await_stopped(
        &mut self,
        id: &SessionId,
        since: Instant,
        until: Instant,
        answer: Answer<StopAnswer>,
    ) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.await_with(Waiter::Stopped { answer, since, until });
        }
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep_until(until.into()).await;
            bus.send(Message::StopOverdue { session }).ok();
        });
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
        let launches = self.world.launches(&id).filter_map(|it| self.view(&it.id)).collect();
        let launch = view::launch(self.world.get(&id).ok_or_else(gone)?);
        let keeper_pid = self.runtimes.get(&id).and_then(|runtime| runtime.keeper_pid);
        Ok(Inspected { view, launch, launches, keeper_pid, id })
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
            settings: Some(self.settings_view()),
            // Known to those who listen there.
            listen: None,
            environment: [].into(),
        }
    }

    fn settings_view(&self) -> SettingsView {
        let Terms { caps, minima, key_retention } = &self.terms;
        let names = caps.names.iter().map(|cap| (cap.pattern.to_string(), cap.most));
        SettingsView {
            max_live: caps.live,
            max_launching: caps.launching,
            max_live_by_name: names.collect(),
            key_retention_ms: u64::try_from(key_retention.as_millis()).unwrap_or(u64::MAX),
            ended_kept: self.ended_kept as u64,
            min_free_disk: minima.disk,
            min_free_memory: minima.memory,
            worktrees: self.ground.place().display().to_string(),
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

pub(super) fn random() -> std::io::Result<[u128; 2]> {
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

/// Whether another launch may follow one that has ended. That is decided when it is cleaned up.
fn may_follow(session: &Session) -> bool {
    match session.relaunch {
        RelaunchState::Pending => true,
        RelaunchState::Undecided => {
            session.spec.repeats() && session.phase != Phase::Cleaned || session.awaits_verdict()
        }
        RelaunchState::Launched | RelaunchState::CalledOff { .. } => false,
    }
}
