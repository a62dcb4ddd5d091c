//! Carrying out the effects that the core decides on.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kennel_core::{Effect, Event};
use kennel_keeper::KeeperClient;
use kennel_keeper::fault::point;
use kennel_keeper::protocol::{KeeperRequest, YardRequest};
use kennel_pen::wire::Channel;
use kennel_sys::identity::ProcessIdentity;
use kennel_types::{OwedKind, PenKind, SessionId};
use rustix::fd::OwnedFd;
use tokio::task::spawn_blocking;

use super::Owner;
use super::step::NewEvents;
use crate::keeper::deadline::Deadline;
use crate::keeper::link::{KeeperLink, KeeperOrigin};
use crate::keeper::spares::SpareKeeper;
use crate::keeper::translate::TimeLimits;
use crate::keeper::yard::YardOrder;
use crate::launch::prepare::{BEFORE_SOCKET, Preparation, Prepared};
use crate::metrics::count_output;
use crate::os::async_fd;
use crate::os::clock;
use crate::prompt::judge;
use crate::recover::clean_up::clean_up;
use crate::recover::end_pen::{Ending, KnownCgroup};
use crate::recover::probe::{self, LaunchProbe, ProbeResult};
use crate::recover::yard_proof::{KeeperFate, YardProof};

/// How long a stop waits to find out whether a prompt has written its result.
const RESULT_TIMEOUT: Duration = Duration::from_secs(1);

impl Owner {
    pub(super) fn carry_out(&mut self, id: &SessionId, effect: Effect, news: &mut NewEvents) {
        match effect {
            Effect::Record { durable } => {
                let events = news.remove(id).unwrap_or_default();
                self.save(id, events, durable);
            }
            Effect::StartKeeper => self.start_keeper(id),
            Effect::Go => {
                point("daemon.launch.go");
                self.ask_keeper(id, KeeperRequest::Go, Deadline::Born);
                point("daemon.launch.going");
            }
            Effect::Grant => {
                point("daemon.launch.grant");
                self.ask_keeper(id, KeeperRequest::Open, Deadline::Opened);
                point("daemon.launch.granted");
            }
            Effect::Dismiss => {
                point("daemon.stop.dismiss");
                self.ask_keeper(id, KeeperRequest::Dismiss, Deadline::Dismissed);
                point("daemon.stop.dismissed");
            }
            // A worktree that a former launch has left is found and reused.
            Effect::Make { what, again: _ } => self.make_worktree(id, what),
            Effect::AwaitReady => self.await_ready(id),
            Effect::StopAwaiting => self.stop_awaiting(id),
            Effect::Stop { grace } if self.is_adopted(id) => self.end_process(id, grace),
            Effect::Stop { grace } => self.stop_or_kill(id, grace),
            Effect::EndPen => self.end_pen(id),
            Effect::Probe if self.is_adopted(id) => self.probe_process(id),
            Effect::Probe => self.probe(id),
            Effect::CleanUp { what: what @ OwedKind::Worktree { .. } } => {
                self.clean_up_worktree(id, what);
            }
            Effect::CleanUp { what } => self.clean_up(id, what),
            Effect::Release => self.release(id),
            Effect::RetryLater => self.retry_later(id),
        }
    }

    /// Sends a request to a session's keeper and starts the deadline of the answer. Without a link
    /// the keeper is lost.
    fn ask_keeper(&mut self, id: &SessionId, request: KeeperRequest, owed: Deadline) {
        let link = self.launches.link(id);
        match link {
            Some(link) => {
                link.send(request);
                self.arm(id, owed, Duration::ZERO);
            }
            None => self.bus.apply(id, Event::KeeperLost),
        }
    }

    // Launch.

    fn start_keeper(&mut self, id: &SessionId) {
        if let Err(why) = self.prepare_keeper(id) {
            self.bus.apply(id, Event::KeeperNotStarted { why: why.to_string() });
        }
    }

    /// Creates the link to the keeper; requests over the link wait until the keeper connects.
    fn prepare_keeper(&mut self, id: &SessionId) -> io::Result<()> {
        let (number, key) = (self.keepers.next_number(), self.keepers.next_number());
        let missing = || io::Error::other("there is nothing to launch");
        let session = self.world.get(id).ok_or_else(missing)?;
        let name = self.home.pen_name(id).ok_or_else(missing)?;
        let runtime = self.launches.get_mut(id).ok_or_else(missing)?;
        let launch = runtime.launch.take().ok_or_else(missing)?;
        let folder = self.home.session(id);
        let token = &session.launch.token;
        let (order, stdin) = launch.order(name, token, &self.home.folder, folder.clone());
        let socket = match self.keepers.spares.take(id, number) {
            Some(SpareKeeper { pid, link, .. }) => {
                runtime.link = Some(link);
                runtime.keeper_pid = Some(pid);
                self.keepers.by_pid.insert(pid, id.clone());
                None
            }
            None => Some(self.expect_keeper(id, number, key)?),
        };
        let yard = self.keepers.yard().clone();
        let preparation = Preparation { key, folder, order, socket, stdin, yard };
        let (bus, session) = (self.bus.clone(), id.clone());
        self.launches.update(id, |runtime| runtime.preparing = true);
        spawn_blocking(move || {
            let prepared = preparation.prepare();
            bus.call(move |owner| owner.prepared(&session, prepared));
        });
        self.arm(id, Deadline::Ready, Duration::ZERO);
        Ok(())
    }

    /// Creates the link to a keeper that is requested with this key; returns the keeper's end of
    /// the socket.
    fn expect_keeper(&mut self, id: &SessionId, number: u64, key: u64) -> io::Result<OwnedFd> {
        let (ours, theirs) = Channel::pair()?;
        let socket = async_fd::watch(KeeperClient::over(ours))?;
        let owner = self.bus.sender(Self::keeper_event);
        let link = KeeperLink::spawn(id.clone(), number, KeeperOrigin::Ours, socket, owner);
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.link = Some(link);
            // The end of a spare keeper that never received the launch does not count for this
            // keeper.
            runtime.fate.send_replace(KeeperFate::Unknown);
        }
        self.keepers.forks.insert(key, id.clone());
        Ok(theirs)
    }

    /// Requests the keeper from the yard, or hands the launch to a spare keeper, unless the launch
    /// was cancelled.
    pub(super) fn prepared(&mut self, id: &SessionId, prepared: io::Result<Prepared>) {
        let (mut has_link, mut put_off) = (false, false);
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.preparing = false;
            let connected = |link: &KeeperLink| link.socket.get_ref().is_connected();
            has_link = runtime.link.as_ref().is_some_and(connected);
            put_off = runtime.ending_pen;
        }
        let wanted = self.world.get(id).is_some_and(|s| !s.has_ended() && !s.is_stop_wanted())
            && self.launches.get(id).is_some_and(|runtime| !runtime.ending_pen);
        let prepared = match prepared {
            Ok(Prepared::Spare(descriptors)) if wanted && !has_link => {
                self.prepare_another(id, descriptors)
            }
            prepared => prepared,
        };
        let why = match prepared {
            Err(error) => error.to_string(),
            Ok(_) if !self.keepers.has_yard() => "the yard is gone".to_owned(),
            Ok(_) if !wanted => "it was cancelled".to_owned(),
            Ok(Prepared::New(order)) => {
                // A request that can't be sent is answered as not forked.
                self.keepers.send(order);
                return;
            }
            Ok(Prepared::Spare(descriptors)) => {
                // If it has gone in the meantime, the end of its link is reported.
                if let Some(link) = self.launches.link(id) {
                    link.send_with(KeeperRequest::Keep, descriptors);
                }
                return;
            }
        };
        self.keepers.cancel_forks(id);
        self.not_forked(id, why);
        if put_off {
            self.end_pen(id);
        }
    }

    /// The spare keeper has died before it received the launch: requests a new one from the yard.
    fn prepare_another(
        &mut self,
        id: &SessionId,
        mut descriptors: Vec<OwnedFd>,
    ) -> io::Result<Prepared> {
        self.forget_keeper(id);
        let (number, key) = (self.keepers.next_number(), self.keepers.next_number());
        let socket = self.expect_keeper(id, number, key)?;
        descriptors.insert(BEFORE_SOCKET, socket);
        self.arm(id, Deadline::Ready, Duration::ZERO);
        Ok(Prepared::New(YardOrder { request: YardRequest::Fork { key }, descriptors }))
    }

    pub(super) fn not_forked(&mut self, id: &SessionId, why: String) {
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.link = None;
            runtime.deadlines.clear();
            runtime.fate.send_replace(KeeperFate::NotForked);
        }
        self.apply(id, &Event::KeeperNotStarted { why });
    }

    // Stop.

    /// Stops a session. Kills an agent that has written its result and that might start over when
    /// it gets a signal.
    fn stop_or_kill(&mut self, id: &SessionId, grace: Duration) {
        let asked = self.world.get(id).filter(|session| {
            !grace.is_zero() && session.launch.granted && judge::is_killed_after_result(session)
        });
        let Some(session) = asked.cloned() else { return self.stop_keeper(id, grace) };
        let (bus, id, folder) = (self.bus.clone(), id.clone(), self.home.session(id));
        self.launches.update(&id, |runtime| runtime.grace = grace);
        let look = spawn_blocking(move || judge::has_result(&session, &folder));
        tokio::spawn(async move {
            // A stop does not wait for a slow disk.
            let has_result = tokio::time::timeout(RESULT_TIMEOUT, look).await;
            let grace = if matches!(has_result, Ok(Ok(true))) { Duration::ZERO } else { grace };
            bus.call(move |owner| owner.stop_with_grace(&id, grace));
        });
    }

    /// Stops a session with the grace that was decided on. A later stop with less grace wins.
    pub(super) fn stop_with_grace(&mut self, id: &SessionId, grace: Duration) {
        let sooner = self.launches.get(id).is_none_or(|runtime| runtime.grace < grace);
        if !sooner && !self.has_ended(id) {
            self.stop_keeper(id, grace);
        }
    }

    fn stop_keeper(&mut self, id: &SessionId, grace: Duration) {
        point("daemon.stop.send");
        self.launches.update(id, |runtime| runtime.grace = grace);
        let request = if grace.is_zero() {
            KeeperRequest::Kill
        } else {
            KeeperRequest::Stop { grace: Some(grace) }
        };
        self.ask_keeper(id, request, Deadline::Ending);
        point("daemon.stop.sent");
    }

    fn end_pen(&mut self, id: &SessionId) {
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.deadlines.clear();
            runtime.ending_pen = true;
            if runtime.preparing {
                return; // a folder being made would outlive the cleanup: `prepared` ends the pen
            }
        }
        let Some(ending) = self.ending(id) else { return };
        let (bus, session) = (self.bus.clone(), id.clone());
        tokio::spawn(async move {
            for event in ending.run().await {
                bus.apply(&session, event);
            }
        });
    }

    fn ending(&self, id: &SessionId) -> Option<Ending> {
        let session = self.world.get(id)?;
        let runtime = self.launches.get(id)?;
        let launch = &session.launch;
        // A path that is not UTF-8 was not recorded exactly.
        let whole = launch.pen.as_ref().filter(|path| !path.contains(char::REPLACEMENT_CHARACTER));
        let cgroup = match (whole, &launch.identity, session.spec.pen) {
            (_, _, PenKind::Subtree | PenKind::Pidns) => KnownCgroup::None,
            (Some(path), ..) => KnownCgroup::At(PathBuf::from(path)),
            (None, Some(_), _) if launch.pen.is_none() => KnownCgroup::None,
            (None, ..) => KnownCgroup::Somewhere,
        };
        // A keeper in a pid namespace is the yard's grandchild: its connection is not that of the
        // yard's child.
        let socket = runtime.link.as_ref().map(|link| link.socket.clone());
        let keeper = runtime.keeper_pid.zip(socket).filter(|_| session.spec.pen != PenKind::Pidns);
        let proof = YardProof {
            session: id.clone(),
            yard: self.keepers.yard().pid,
            fate: runtime.fate.subscribe(),
            owner: self.bus.sender(Self::recovery_request),
        };
        Some(Ending {
            name: self.home.pen_name(id)?,
            folder: self.home.session(id),
            cgroup,
            agent: runtime.agent.clone(),
            identity: launch.identity.as_deref().and_then(ProcessIdentity::parse),
            opened: runtime.times.started_ms.is_some(),
            keeper,
            yard: self.keepers.yard().clone(),
            yard_lives: self.keepers.has_yard(),
            proof,
            limits: TimeLimits::from(&session.spec),
        })
    }

    // Adoption.

    fn probe(&mut self, id: &SessionId) {
        let Some(session) = self.world.get(id) else { return };
        let search = LaunchProbe {
            folder: self.home.session(id),
            token: session.launch.token.secret().to_owned(),
            stop_wanted: session.is_stop_wanted(),
            in_namespace: session.spec.pen == PenKind::Pidns,
            rebooted: self.adoption.rebooted,
            timeout: probe::PROBE_TIMEOUT,
            limits: TimeLimits::from(&session.spec),
        };
        self.spawn_probe(id, search.run(), Self::probed);
    }

    /// Runs a probe, of which only so many run at once, and passes its result to `done`.
    pub(super) fn spawn_probe<T: Send + 'static>(
        &self,
        id: &SessionId,
        probe: impl Future<Output = T> + Send + 'static,
        done: fn(&mut Self, &SessionId, T),
    ) {
        let (bus, id, permits) = (self.bus.clone(), id.clone(), self.adoption.permits.clone());
        tokio::spawn(async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await;
            let result = probe.await;
            bus.call(move |owner| done(owner, &id, result));
        });
    }

    fn probed(&mut self, id: &SessionId, found: ProbeResult) {
        let ProbeResult { probe, keeper, ended_ms, owes, opened } = found;
        if let Some(keeper) = keeper {
            let number = self.keepers.next_number();
            let owner = self.bus.sender(Self::keeper_event);
            if let Some(runtime) = self.launches.get_mut(id) {
                let (session, socket) = (id.clone(), keeper.socket);
                let link = KeeperLink::spawn(session, number, KeeperOrigin::Found, socket, owner);
                runtime.link = Some(link);
                runtime.greeted = true;
                runtime.keeper_pid = Some(keeper.pid);
                runtime.agent = keeper.agent.map(Into::into).or(runtime.agent.take());
                self.keepers.by_pid.insert(keeper.pid, id.clone());
            }
        }
        if let Some(runtime) = self.launches.get_mut(id) {
            runtime.ended_ms = ended_ms.or(runtime.ended_ms);
            runtime.opened = opened.or(runtime.opened);
            // The former daemon may not have recorded the start; the keeper knows it.
            if let Some(opened) = opened {
                let ago = u64::try_from(opened.elapsed().as_millis()).unwrap_or(0);
                runtime.times.note_start(clock::now_ms().saturating_sub(ago));
            }
        }
        if let Some(what) = owes {
            self.apply(id, &Event::Owes { what });
        }
        self.apply(id, &Event::Probed(probe));
        point("daemon.adopt.adopted");
        self.adoption.probed(id);
    }

    // The end.

    fn clean_up(&mut self, id: &SessionId, what: OwedKind) {
        let Some(name) = self.home.pen_name(id) else { return };
        let (bus, session, folder) = (self.bus.clone(), id.clone(), self.home.session(id));
        let metrics = Arc::clone(&self.metrics);
        spawn_blocking(move || {
            let event = clean_up(what, &folder, &name);
            let is_last =
                matches!(&event, Event::CleanedUp { what } if *what == OwedKind::RuntimeFiles);
            bus.apply(&session, event);
            if is_last {
                count_output(&metrics, &folder);
            }
        });
    }

    /// The outcome is on record: the keeper may exit, within its deadline.
    fn release(&mut self, id: &SessionId) {
        point("daemon.release.due");
        if self.launches.link(id).is_some() {
            self.ask_keeper(id, KeeperRequest::Release, Deadline::Departed);
        }
        point("daemon.release.sent");
    }

    pub(super) fn keep_agent(&mut self, id: &SessionId, descriptors: Vec<OwnedFd>) {
        if let (Some(runtime), Some(agent)) =
            (self.launches.get_mut(id), descriptors.into_iter().next())
        {
            runtime.agent = Some(agent.into());
        }
    }
}
