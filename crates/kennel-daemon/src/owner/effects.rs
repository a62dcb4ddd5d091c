//! From an effect to those who carry it out.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kennel_core::{Effect, Event};
use kennel_keeper::KeeperClient;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{Request, YardRequest};
use kennel_pen::wire::Channel;
use kennel_sys::identity::Identity;
use kennel_types::{OwedKind, PenKind, SessionId};
use rustix::fd::OwnedFd;
use tokio::task::spawn_blocking;

use super::Owner;
use super::spares::Spare;
use super::step::News;
use crate::clock;
use crate::convert::TimeLimits;
use crate::deadline::Deadline;
use crate::effects::clean_up::clean_up;
use crate::effects::end_pen::{Ending, KnownCgroup};
use crate::effects::judge;
use crate::effects::launch::{BEFORE_SOCKET, Preparation, Prepared};
use crate::effects::probe::{self, Found, Search};
use crate::effects::yard_proof::{KeeperFate, YardProof};
use crate::keeper_link::{Descent, KeeperLink};
use crate::message::Message;
use crate::metrics::note_output;
use crate::ready;
use crate::yard_link::YardOrder;

/// How long a stop waits to know whether a prompt has told its result.
const LOOK: Duration = Duration::from_secs(1);

impl Owner {
    pub(super) fn carry_out(&mut self, id: &SessionId, effect: Effect, news: &mut News) {
        match effect {
            Effect::Record { durable } => {
                let events = news.remove(id).unwrap_or_default();
                self.save(id, events, durable);
            }
            Effect::StartKeeper => self.start_keeper(id),
            Effect::Go => {
                point("daemon.launch.go");
                self.tell_keeper(id, Request::Go, Deadline::Born);
                point("daemon.launch.going");
            }
            Effect::Grant => {
                point("daemon.launch.grant");
                self.tell_keeper(id, Request::Open, Deadline::Opened);
                point("daemon.launch.granted");
            }
            Effect::Dismiss => {
                point("daemon.stop.dismiss");
                self.tell_keeper(id, Request::Dismiss, Deadline::Dismissed);
                point("daemon.stop.dismissed");
            }
            // What a former launch has left is found there, and taken as it is.
            Effect::Make { what, again: _ } => self.make_worktree(id, what),
            Effect::AwaitReady => self.await_ready(id),
            Effect::StopAwaiting => self.stop_awaiting(id),
            Effect::Stop { grace } if self.is_terminal(id) => self.end_process(id, grace),
            Effect::Stop { grace } => self.stop_politely(id, grace),
            Effect::EndPen => self.end_pen(id),
            Effect::Probe if self.is_terminal(id) => self.look_for(id),
            Effect::Probe => self.probe(id),
            Effect::CleanUp { what: what @ OwedKind::Worktree { .. } } => {
                self.remove_worktree(id, what);
            }
            Effect::CleanUp { what } => self.clean_up(id, what),
            Effect::Release => self.release(id),
            Effect::RetryLater => self.retry_later(id),
        }
    }

    /// Says something to a session's keeper, and waits for the answer. Without a keeper to tell, it is lost.
    fn tell_keeper(&mut self, id: &SessionId, request: Request, owed: Deadline) {
        let link = self.runtimes.get(id).and_then(|runtime| runtime.link.as_ref());
        match link {
            Some(link) => {
                link.send(request);
                self.arm(id, owed, Duration::ZERO);
            }
            None => {
                let (session, event) = (id.clone(), Event::KeeperLost);
                self.tell_self(Message::Happened { session, event });
            }
        }
    }

    // Launch.

    fn start_keeper(&mut self, id: &SessionId) {
        if let Err(why) = self.prepare_keeper(id) {
            let (session, why) = (id.clone(), why.to_string());
            let event = Event::KeeperNotStarted { why };
            self.tell_self(Message::Happened { session, event });
        }
    }

    /// The link exists from now on: what is said over it waits for the keeper to come.
    fn prepare_keeper(&mut self, id: &SessionId) -> io::Result<()> {
        let (number, key) = (self.number(), self.number());
        let missing = || io::Error::other("there is nothing to launch");
        let session = self.world.get(id).ok_or_else(missing)?;
        let name = self.home.pen_name(id).ok_or_else(missing)?;
        let runtime = self.runtimes.get_mut(id).ok_or_else(missing)?;
        let launch = runtime.launch.take().ok_or_else(missing)?;
        let folder = self.home.session(id);
        let token = &session.launch.token;
        let (order, stdin) = launch.order(name, token, &self.home.folder, folder.clone());
        let socket = match self.spares.take(id, number) {
            Some(Spare { pid, link, .. }) => {
                runtime.link = Some(link);
                runtime.keeper_pid = Some(pid);
                self.keepers.insert(pid, id.clone());
                None
            }
            None => Some(self.expect_keeper(id, number, key)?),
        };
        let yard = self.yard.clone();
        let preparation = Preparation { key, folder, order, socket, stdin, yard };
        let (bus, session) = (self.bus.clone(), id.clone());
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.preparing = true;
        }
        spawn_blocking(move || {
            let prepared = preparation.prepare();
            bus.send(Message::Prepared { session, prepared }).ok();
        });
        self.arm(id, Deadline::Ready, Duration::ZERO);
        Ok(())
    }

    /// Makes the link to a keeper that the yard is asked for by this key; gives the keeper's end.
    fn expect_keeper(&mut self, id: &SessionId, number: u64, key: u64) -> io::Result<OwnedFd> {
        let (ours, theirs) = Channel::pair()?;
        let socket = ready::watch(KeeperClient::over(ours))?;
        let bus = self.bus.clone();
        let link = KeeperLink::attend(id.clone(), number, Descent::Ours, socket, bus);
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.link = Some(link);
            // What became of one that died before it knew of the launch says nothing about this one.
            runtime.fate.send_replace(KeeperFate::Untold);
        }
        self.forks.insert(key, id.clone());
        Ok(theirs)
    }

    /// Asks the yard for the keeper, or a spare one, unless nobody wants it any more.
    pub(super) fn prepared(&mut self, id: &SessionId, prepared: io::Result<Prepared>) {
        let (mut has_link, mut put_off) = (false, false);
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.preparing = false;
            let connected = |link: &KeeperLink| link.socket.get_ref().is_connected();
            has_link = runtime.link.as_ref().is_some_and(connected);
            put_off = runtime.ending_pen;
        }
        let wanted = self.world.get(id).is_some_and(|s| !s.has_ended() && !s.is_stop_wanted())
            && self.runtimes.get(id).is_some_and(|runtime| !runtime.ending_pen);
        let prepared = match prepared {
            Ok(Prepared::Spare(descriptors)) if wanted && !has_link => {
                self.prepare_another(id, descriptors)
            }
            prepared => prepared,
        };
        let why = match (prepared, &self.yard_sender) {
            (Err(error), _) => error.to_string(),
            (Ok(_), None) => "the yard is gone".to_owned(),
            (Ok(_), Some(_)) if !wanted => "it was called off".to_owned(),
            (Ok(Prepared::New(order)), Some(yard)) => {
                // What can't be sent is answered as not forked.
                yard.send(order).ok();
                return;
            }
            (Ok(Prepared::Spare(descriptors)), Some(_)) => {
                // One that has gone meanwhile is told of as the end of its link.
                if let Some(link) = self.runtimes.get(id).and_then(|runtime| runtime.link.as_ref())
                {
                    link.send_with(Request::Keep, descriptors);
                }
                return;
            }
        };
        self.forks.retain(|_, other| other != id);
        self.not_forked(id, why);
        if put_off {
            self.end_pen(id);
        }
    }

    /// The spare keeper has died before it knew of the launch: the yard is asked for another.
    fn prepare_another(
        &mut self,
        id: &SessionId,
        mut descriptors: Vec<OwnedFd>,
    ) -> io::Result<Prepared> {
        self.forget_keeper(id);
        let (number, key) = (self.number(), self.number());
        let socket = self.expect_keeper(id, number, key)?;
        descriptors.insert(BEFORE_SOCKET, socket);
        self.arm(id, Deadline::Ready, Duration::ZERO);
        Ok(Prepared::New(YardOrder { request: YardRequest::Fork { key }, descriptors }))
    }

    /// No keeper exists or will.
    pub(super) fn not_forked(&mut self, id: &SessionId, why: String) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.link = None;
            runtime.clear_deadlines();
            runtime.fate.send_replace(KeeperFate::NotForked);
        }
        self.happen(id, &Event::KeeperNotStarted { why });
    }

    // Stop.

    /// An agent that may begin anew when it is asked to end, once it has told its result, is not asked then but killed.
    fn stop_politely(&mut self, id: &SessionId, grace: Duration) {
        let asked = self.world.get(id).filter(|session| {
            !grace.is_zero() && session.launch.granted && judge::is_killed_once_told(session)
        });
        let Some(session) = asked.cloned() else { return self.stop_keeper(id, grace) };
        let (bus, id, folder) = (self.bus.clone(), id.clone(), self.home.session(id));
        if let Some(runtime) = self.runtimes.get_mut(&id) {
            runtime.grace = grace;
        }
        let look = spawn_blocking(move || judge::is_done_talking(&session, &folder));
        tokio::spawn(async move {
            // A stop does not wait for a disk.
            let told = tokio::time::timeout(LOOK, look).await;
            let grace = if matches!(told, Ok(Ok(true))) { Duration::ZERO } else { grace };
            bus.send(Message::StopSettled { session: id, grace }).ok();
        });
    }

    /// How it is to be stopped is known, unless somebody wants it sooner by now, or it has ended.
    pub(super) fn stop_settled(&mut self, id: &SessionId, grace: Duration) {
        let sooner = self.runtimes.get(id).is_none_or(|runtime| runtime.grace < grace);
        if !sooner && self.world.get(id).is_some_and(|session| !session.has_ended()) {
            self.stop_keeper(id, grace);
        }
    }

    fn stop_keeper(&mut self, id: &SessionId, grace: Duration) {
        point("daemon.stop.tell");
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.grace = grace;
        }
        let request =
            if grace.is_zero() { Request::Kill } else { Request::Stop { grace: Some(grace) } };
        self.tell_keeper(id, request, Deadline::Ending);
        point("daemon.stop.told");
    }

    fn end_pen(&mut self, id: &SessionId) {
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.clear_deadlines();
            runtime.ending_pen = true;
            if runtime.preparing {
                return; // what is just being made would be made after its clean-up: `prepared` comes back to this
            }
        }
        let Some(ending) = self.ending(id) else { return };
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            for event in ending.run().await {
                bus.send(Message::Happened { session: session.clone(), event }).ok();
            }
        });
    }

    fn ending(&self, id: &SessionId) -> Option<Ending> {
        let session = self.world.get(id)?;
        let runtime = self.runtimes.get(id)?;
        let launch = &session.launch;
        // What was not UTF-8 was not recorded as it is.
        let whole = launch.pen.as_ref().filter(|path| !path.contains(char::REPLACEMENT_CHARACTER));
        let cgroup = match (whole, &launch.identity, session.spec.pen) {
            (_, _, PenKind::Subtree | PenKind::Pidns) => KnownCgroup::None,
            (Some(path), ..) => KnownCgroup::At(PathBuf::from(path)),
            (None, Some(_), _) if launch.pen.is_none() => KnownCgroup::None,
            (None, ..) => KnownCgroup::Somewhere,
        };
        // The connection of a keeper in a namespace is that of the yard's grandchild.
        let socket = runtime.link.as_ref().map(|link| link.socket.clone());
        let keeper = runtime.keeper_pid.zip(socket).filter(|_| session.spec.pen != PenKind::Pidns);
        let proof = YardProof {
            session: id.clone(),
            yard: self.yard.pid,
            fate: runtime.fate.subscribe(),
            bus: self.bus.clone(),
        };
        Some(Ending {
            name: self.home.pen_name(id)?,
            folder: self.home.session(id),
            cgroup,
            agent: runtime.agent.clone(),
            identity: launch.identity.as_deref().and_then(Identity::parse),
            opened: runtime.times.started_ms.is_some(),
            keeper,
            yard: self.yard.clone(),
            yard_lives: self.yard_sender.is_some(),
            proof,
            limits: TimeLimits::from(&session.spec),
        })
    }

    // Adoption.

    fn probe(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let search = Search {
            folder: self.home.session(id),
            token: session.launch.token.secret().to_owned(),
            stop_wanted: session.is_stop_wanted(),
            in_namespace: session.spec.pen == PenKind::Pidns,
            rebooted: self.rebooted,
            patience: probe::PATIENCE,
            limits: TimeLimits::from(&session.spec),
        };
        let (bus, session, places) = (self.bus.clone(), id.clone(), self.probes.clone());
        tokio::spawn(async move {
            // Never closed: without a place it goes on all the same.
            let _place = places.acquire().await;
            let found = Box::new(search.run().await);
            bus.send(Message::Probed { session, found }).ok();
        });
    }

    pub(super) fn probed(&mut self, id: &SessionId, found: Found) {
        let Found { probe, keeper, ended_ms, owes, opened } = found;
        if let Some(keeper) = keeper {
            let number = self.number();
            let bus = self.bus.clone();
            if let Some(runtime) = self.runtimes.get_mut(id) {
                let link =
                    KeeperLink::attend(id.clone(), number, Descent::Found, keeper.socket, bus);
                runtime.link = Some(link);
                runtime.greeted = true;
                runtime.keeper_pid = Some(keeper.pid);
                runtime.agent = keeper.agent.map(Into::into).or(runtime.agent.take());
                self.keepers.insert(keeper.pid, id.clone());
            }
        }
        if let Some(runtime) = self.runtimes.get_mut(id) {
            runtime.ended_ms = ended_ms.or(runtime.ended_ms);
            runtime.opened = opened.or(runtime.opened);
            // What was not written when the former daemon went is known by its keeper.
            if let Some(opened) = opened {
                let ago = u64::try_from(opened.elapsed().as_millis()).unwrap_or(0);
                runtime.times.note_start(clock::now_ms().saturating_sub(ago));
            }
        }
        if let Some(what) = owes {
            self.happen(id, &Event::Owes { what });
        }
        self.happen(id, &Event::Probed(probe));
        point("daemon.adopt.adopted");
        self.unprobed.remove(id);
        self.adopted_if_done();
    }

    // The end.

    fn clean_up(&mut self, id: &SessionId, what: OwedKind) {
        let Some(name) = self.home.pen_name(id) else { return };
        let (bus, session, folder) = (self.bus.clone(), id.clone(), self.home.session(id));
        let tally = Arc::clone(&self.tally);
        spawn_blocking(move || {
            let event = clean_up(what, &folder, &name);
            let is_last_look =
                matches!(&event, Event::CleanedUp { what } if *what == OwedKind::RuntimeFiles);
            bus.send(Message::Happened { session, event }).ok();
            // Nobody waits for this.
            if is_last_look {
                note_output(&tally, &folder);
            }
        });
    }

    /// The outcome is on record: its keeper may go, and is seen to.
    fn release(&mut self, id: &SessionId) {
        point("daemon.release.due");
        if self.runtimes.get(id).is_some_and(|runtime| runtime.link.is_some()) {
            self.tell_keeper(id, Request::Release, Deadline::Departed);
        }
        point("daemon.release.sent");
    }

    /// A handle on the agent has come.
    pub(super) fn keep_agent(&mut self, id: &SessionId, descriptors: Vec<OwnedFd>) {
        if let (Some(runtime), Some(agent)) =
            (self.runtimes.get_mut(id), descriptors.into_iter().next())
        {
            runtime.agent = Some(agent.into());
        }
    }
}
